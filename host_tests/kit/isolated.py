# SPDX-License-Identifier: MIT
"""Calls a function in a child process, so that a crash or a hang of foreign code is a result."""

from __future__ import annotations

import faulthandler
import os
import pickle
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn


class DiedError(Exception):
    """The child ended without an answer."""


def call(function: Callable[..., Any], *arguments: Any, timeout_s: float = 120) -> Any:
    """The function's result, or its exception; DiedError after a crash or `timeout_s`."""
    sys.stdout.flush()
    sys.stderr.flush()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        _answer(write, function, arguments)
    os.close(write)
    answer = _receive(read, time.monotonic() + timeout_s)
    os.close(read)
    if answer is None:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if answer is None:
        raise DiedError(f"no answer within {timeout_s} s")
    if status or not answer:
        raise DiedError(
            signal.Signals(status & 0x7F).name if status & 0x7F else f"exit {status >> 8}"
        )
    failed, result = pickle.loads(answer)
    if failed:
        raise result
    return result


def _answer(pipe: int, function: Callable[..., Any], arguments: tuple[Any, ...]) -> NoReturn:
    """In the child: call, send the result, and exit without the parent's clean-up."""
    status = 1
    faulthandler.disable()
    try:
        try:
            answer = pickle.dumps((False, function(*arguments)))
        except Exception as error:
            answer = pickle.dumps((True, error))
        with os.fdopen(pipe, "wb") as file:
            file.write(answer)
        status = 0
    finally:
        os._exit(status)


def _receive(pipe: int, deadline: float) -> bytes | None:
    """Everything that the child sends, or None if it takes too long."""
    parts: list[bytes] = []
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([pipe], [], [], left)[0]:
            return None
        part = os.read(pipe, 1 << 20)
        if not part:
            return b"".join(parts)
        parts.append(part)
