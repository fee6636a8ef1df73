# SPDX-License-Identifier: MIT
"""Vela in this process: a compilation takes milliseconds, while a process start takes a second.

Vela can crash and prints a lot, so use it in a child process (see isolated.py).
"""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from .case import Case


class _CurrentOutput(io.TextIOBase):
    """Forwards to the current sys.stdout at the time of each write."""

    def write(self, text: str) -> int:
        """Forward the text."""
        return sys.stdout.write(text)


# Vela binds sys.stdout as a default argument when it is imported.
with redirect_stdout(_CurrentOutput()):
    from ethosu.vela import vela

CONFIG_FILE = "Arm/vela.ini"


class RefusedError(Exception):
    """Vela does not compile the model."""


@dataclass(frozen=True)
class Compiled:
    """A compiled model, and Vela's messages about it."""

    model: bytes
    log: str


def run(arguments: list[str], log: Path) -> int:
    """Run Vela in this process; what it prints goes to `log`."""
    with _printing_to(log):
        return int(vela.main(arguments))


def compile_case(case: Case) -> Compiled:
    """Compile the model of a case with the case's options."""
    with tempfile.TemporaryDirectory(prefix="generator-") as folder:
        work = Path(folder)
        source = work / "case.tflite"
        source.write_bytes(case.model)
        arguments = [
            *("--accelerator-config", case.npu, "--config", CONFIG_FILE),
            *("--output-dir", folder, "--show-cpu-operations"),
            *case.options,
            str(source),
        ]
        log = work / "log.txt"
        product = work / "case_vela.tflite"
        try:
            run(arguments, log)
        except (Exception, SystemExit) as error:
            # Vela 5.2 fails on some operators in its report, after the model has been written.
            if not product.is_file():
                raise RefusedError(f"{type(error).__name__}: {_first_line(str(error))}") from error
        text = log.read_text(errors="replace")
        if not product.is_file():
            raise RefusedError(_first_line(text))
        return Compiled(product.read_bytes(), text)


def cpu_reason(log: str) -> str:
    """Why an operator stays on the CPU, in Vela's words without names and numbers."""
    for line in log.splitlines():
        if re.search(r"CPU|not supported|unsupported", line) and "CPU operators" not in line:
            return re.sub(r"\s+", " ", re.sub(r"'[^']*'|\d+", "#", line)).strip()[:160]
    return "Vela gives no reason"


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0][:160] if lines else "without a word"


@contextmanager
def _printing_to(path: Path) -> Iterator[None]:
    """Redirect output of Python and C++ to a file."""
    with path.open("w", encoding="utf-8") as file:
        saved = [os.dup(1), os.dup(2)]
        try:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
            with redirect_stdout(file), redirect_stderr(file):
                yield
        finally:
            for number, copy in enumerate(saved, start=1):
                os.dup2(copy, number)
                os.close(copy)
