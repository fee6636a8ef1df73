# SPDX-License-Identifier: MIT
"""A process that has imported Vela, and runs it in a fork for each request.

The import takes three times as long as to compile a small model. Requests and answers are lines of
JSON.
"""

import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path

# Not the process of the tests: a fork would copy the locks that its threads hold.
_COMMAND = [sys.executable, "-P", __file__]
_LOCK = threading.Lock()


@functools.cache
def _server(user: int) -> "subprocess.Popen[str]":
    """The server of this process."""
    pipe = subprocess.PIPE
    return subprocess.Popen(_COMMAND, stdin=pipe, stdout=pipe, text=True)


def run(arguments: Sequence[str], seconds: int) -> "subprocess.CompletedProcess[str]":
    """Run Vela like `python -m ethosu.vela`; SIGALRM ends it after `seconds`."""
    request = json.dumps([list(arguments), str(Path.cwd()), seconds])
    with _LOCK:
        server = _server(os.getpid())
        assert server.stdin and server.stdout
        print(request, file=server.stdin, flush=True)
        code, out, err = json.loads(server.stdout.readline())
    return subprocess.CompletedProcess(list(arguments), code, out, err)


def close() -> None:
    """End the server of this process, if any."""
    if _server.cache_info().currsize:
        server = _server(os.getpid())
        server.communicate()
        _server.cache_clear()


def _compile(arguments: list[str]) -> int:
    """The exit code of Vela."""
    from ethosu.vela.vela import main

    try:
        sys.exit(main(arguments))
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    return 1


def _answer(arguments: list[str], folder: str, seconds: int) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of Vela in a fork."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            os.chdir(folder)
            signal.alarm(seconds)
            code = _compile(arguments)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        _, status = os.waitpid(child, 0)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read())
        return os.waitstatus_to_exitcode(status), texts[0], texts[1]


def main() -> None:
    """Answer requests until the end of stdin."""
    import ethosu.vela.vela  # noqa: F401  (what the forks need)

    for request in sys.stdin:
        print(json.dumps(_answer(*json.loads(request))), flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal, for pytest
    main()
