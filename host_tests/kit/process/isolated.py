# SPDX-License-Identifier: MIT
"""Calls a function in a child process, so that third-party code may crash or hang."""

from __future__ import annotations

import contextlib
import faulthandler
import multiprocessing
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any


class DiedError(Exception):
    """The child ended without an answer."""


def call(function: Callable[..., Any], *arguments: Any, timeout_s: float = 120) -> Any:
    """Return the function's result or raise its exception; DiedError after a crash or time-out."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_answer, args=(theirs, function, arguments))
    child.start()
    theirs.close()
    answer = None
    with ours:
        if not ours.poll(timeout_s):
            child.kill()
            child.join()
            raise DiedError(f"no answer within {timeout_s} s")
        with contextlib.suppress(EOFError):
            answer = ours.recv()
    child.join()
    code = child.exitcode or 0
    if code or answer is None:
        raise DiedError(signal.Signals(-code).name if code < 0 else f"exit {code}")
    failed, result = answer
    if failed:
        raise result
    return result


def _answer(pipe: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Call the function in the child, and send the result."""
    faulthandler.disable()
    try:
        pipe.send((False, function(*arguments)))
    except Exception as error:
        pipe.send((True, error))
