# SPDX-License-Identifier: MIT
"""A process that loads Vela once, as that takes longer than compiling a small model.

Each compilation runs in a fork of that process, because Vela's native core can crash on a damaged
model.
"""

from __future__ import annotations

import contextlib
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import traceback
from functools import partial
from multiprocessing.connection import wait
from typing import Any, NamedTuple, NoReturn

from ..base.helper_process import Connection, HelperProcess, requests, serve

# Elsewhere each compilation loads Vela.
FORKS = sys.platform == "linux"


class Answer(NamedTuple):
    """The end of a run: its exit code or the negative number of a signal, and its output."""

    code: int
    stdout: str
    stderr: str


class VelaProcess(HelperProcess):
    """The process that has loaded Vela."""

    MODULE = __name__

    def run(self, options: list[str], timeout_s: float) -> Answer:
        """Run Vela in the current folder, as the command `vela` would."""
        if not FORKS:
            return _run_alone(options, timeout_s)
        folder = None
        with contextlib.suppress(FileNotFoundError):  # the current folder was deleted
            folder = os.getcwd()  # noqa: PTH109
        return Answer(*self.ask((folder, options), timeout_s))


def _run_alone(options: list[str], timeout_s: float) -> Answer:
    words = [sys.executable, "-P", "-m", "ethosu.vela", *options]
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s
        )
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(f"no answer within {timeout_s} s") from error
    said, complaint = (each.decode(errors="replace") for each in (done.stdout, done.stderr))
    return Answer(done.returncode, said, complaint)


def _respond(
    line: Connection[Any, Any], request: tuple[str | None, list[str]]
) -> tuple[int, str, str]:
    if sys.platform != "linux":
        raise NotImplementedError
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            line.close()  # else the other end would not see the end of the parent
            _run(*request, out.fileno(), err.fileno())
        # The other end is readable when it has answered, or has ended.
        ended = os.pidfd_open(child)
        if line in wait([ended, line]):
            os.kill(child, signal.SIGKILL)
        os.close(ended)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        said, complaint = (file.read().decode(errors="replace") for file in (out, err))
        return code, said, complaint


def _run(folder: str | None, options: list[str], out: int, err: int) -> NoReturn:
    """Run Vela in the child, and end as the command would."""
    code = 1
    os.dup2(out, 1)
    os.dup2(err, 2)
    try:
        if folder is not None:
            os.chdir(folder)
        sys.argv = ["vela", *options]
        runpy.run_module("ethosu.vela", run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    other_end = requests()
    with contextlib.suppress(Exception):  # a fork fails in the same way and reports it
        import ethosu.vela.vela  # noqa: F401
    serve(other_end, partial(_respond, other_end))
