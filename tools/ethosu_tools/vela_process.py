# SPDX-License-Identifier: MIT
"""Vela for several compilations: loading it takes longer than compiling a small model.

Each compilation runs in a fork of the process that has loaded it, because Vela's native core can
crash on a damaged model.
"""

import contextlib
import os
import runpy
import sys
import tempfile
import traceback
from typing import NamedTuple, NoReturn

from .helper_process import HelperProcess, serve


class Answer(NamedTuple):
    """How a run ended: exit code, or the negative number of a signal; and what it printed."""

    code: int
    stdout: str
    stderr: str


class VelaProcess(HelperProcess):
    """Vela, loaded."""

    MODULE = __name__

    def run(self, options: list[str], timeout_s: float) -> Answer:
        """Run Vela in the current folder, as the command `vela` would."""
        return Answer(*self.ask((os.getcwd(), options), timeout_s))  # noqa: PTH109


def _respond(request: tuple[str, list[str]]) -> tuple[int, str, str]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            _run(*request, out.fileno(), err.fileno())
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        said, complaint = (file.read().decode(errors="replace") for file in (out, err))
        return code, said, complaint


def _run(folder: str, options: list[str], out: int, err: int) -> NoReturn:
    """In the child: end as the command would."""
    code = 1
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.close(int(sys.argv[1]))  # else the other end would not see the end of the parent
    try:
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
    with contextlib.suppress(ImportError):  # the fork fails in the same way, and says so
        import ethosu.vela.vela  # noqa: F401
    serve(_respond)
