# SPDX-License-Identifier: MIT
"""Vela in this process: a compilation takes milliseconds, while a process start takes a second.

Vela can crash and prints a lot, so use it in a child process (see isolated.py).
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path


class _CurrentOutput(io.TextIOBase):
    """Forwards to the current sys.stdout at the time of each write."""

    def write(self, text: str) -> int:
        """Forward the text."""
        return sys.stdout.write(text)


# Vela binds sys.stdout as a default argument when it is imported.
with redirect_stdout(_CurrentOutput()):
    from ethosu.vela import vela


def run(arguments: list[str], log: Path) -> int:
    """Run Vela in this process; its output goes to `log`."""
    with _printing_to(log):
        return int(vela.main(arguments))


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
