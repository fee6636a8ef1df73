# SPDX-License-Identifier: MIT
"""A process that answers requests of this one: for libraries that load slowly or can crash.

One process serves all requests of a kind, so that its start-up is paid once. If it ends, whatever
it held is lost, and the next request of a new user starts another one. Its memory is limited,
because a damaged model can make a library ask for any amount.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable
from multiprocessing import connection
from multiprocessing.connection import Pipe, wait
from typing import Any, ClassVar, Self

if sys.platform == "win32":
    Connection = connection.PipeConnection
else:
    Connection = connection.Connection

_shared: dict[type, HelperProcess] = {}

MEMORY = "ETHOSU_MEMORY_GB"
"""The environment variable that limits a helper's memory."""
_OUT_OF_MEMORY = re.compile(
    r"MemoryError|bad_alloc|[Uu]nable to allocate|[Cc]annot allocate memory"
)


def memory_limit() -> int:
    """Return a helper's memory: ETHOSU_MEMORY_GB, or half of this machine's, 2 to 8 GB."""
    with contextlib.suppress(KeyError, ValueError, OverflowError):
        if (limit := int(float(os.environ[MEMORY]) * 2**30)) > 0:
            return limit
    if sys.platform == "win32":
        return 8 << 30
    half = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return min(max(half, 2 << 30), 8 << 30)


def limit_memory(process: int) -> None:
    """Let an allocation beyond the limit fail in a process that has just been started."""
    if sys.platform != "linux":
        return
    import resource  # Windows has none

    limit = memory_limit()
    with contextlib.suppress(ProcessLookupError):  # it has ended
        _, most = resource.prlimit(process, resource.RLIMIT_AS)
        if most == resource.RLIM_INFINITY or limit < most:
            resource.prlimit(process, resource.RLIMIT_AS, (limit, most))


def lack_of_memory(text: str) -> str:
    """Return a sentence if a process's output reports a lack of memory; else ""."""
    if not _OUT_OF_MEMORY.search(text):
        return ""
    gigabytes = memory_limit() / 2**30
    return f"it needs more than {gigabytes:.3g} GB of memory, the limit ({MEMORY} sets another one)"


class HelperProcess:
    """A helper process and the connection to it."""

    MODULE: ClassVar[str]
    """The module that the process runs; it calls `serve`."""

    def __init__(self) -> None:
        """Start the process."""
        self._parent = os.getpid()
        self._lock = threading.Lock()
        self._log = tempfile.TemporaryFile(prefix="ethosu-helper-")  # noqa: SIM115
        self._line, theirs = Pipe()
        with theirs:
            # A process in a session of its own does not receive Ctrl-C.
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                [sys.executable, "-P", "-m", self.MODULE, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                **_inheriting(theirs),
            )
        limit_memory(self._process.pid)
        files = self._line, self._log
        self._finalizer = weakref.finalize(self, _stop, self._process, self._parent, *files)

    @classmethod
    def shared(cls) -> Self:
        """Return this process's helper; start one if there is none."""
        helper = _shared.get(cls)
        # After a fork, the helper belongs to the parent process.
        mine = helper and helper._parent == os.getpid() and helper._finalizer.alive
        if helper is None or not mine or _ended(helper._process):
            helper = _shared[cls] = cls()
        assert isinstance(helper, cls)
        return helper

    def ask(self, request: object, timeout_s: float | None = None) -> Any:
        """Return the answer; ValueError if the helper ends, TimeoutError after `timeout_s`."""
        with self._lock:
            if not self._finalizer.alive:
                raise ValueError("its process ended while it served another request")
            try:
                self._line.send(request)
                if not self._line.poll(timeout_s):
                    raise TimeoutError(f"no answer within {timeout_s} s")
                return self._line.recv()
            except TimeoutError:
                self._finalizer()
                raise
            except (EOFError, OSError):
                raise ValueError(self._end()) from None
            except BaseException:
                self._finalizer()
                raise

    def _end(self) -> str:
        """Clean up after a process that ended by itself, and describe its end."""
        _ended(self._process, 10)
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        self._finalizer()
        if lack := lack_of_memory("\n".join(lines)):
            return lack
        code = self._process.returncode
        status = signal.Signals(-code).name if code is not None and code < 0 else f"code {code}"
        return f"its process ended with {status}{f': {lines[-1]}' if lines else ''}"


def _inheriting(line: Connection[Any, Any]) -> dict[str, Any]:
    """Return options of Popen that give a process this end of a connection."""
    if sys.platform != "win32":
        return {"pass_fds": [line.fileno()], "start_new_session": True}
    os.set_handle_inheritable(line.fileno(), True)
    handles = subprocess.STARTUPINFO(lpAttributeList={"handle_list": [line.fileno()]})
    return {"startupinfo": handles, "creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}


def _ended(process: subprocess.Popen[bytes], within_s: float = 0) -> bool:
    """Whether a process ends in time; it is not reaped, so `_stop` signals no reused number."""
    if sys.platform != "linux":  # then it is reaped, and Popen remembers it
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(within_s)
        return process.returncode is not None
    try:
        end = os.pidfd_open(process.pid)
    except ProcessLookupError:  # other code has already waited for the process
        return True
    try:
        return bool(wait([end], within_s))
    finally:
        os.close(end)


def _stop(
    process: subprocess.Popen[bytes], parent: int, line: Connection[Any, Any], log: Any
) -> None:
    line.close()
    log.close()
    if parent != os.getpid():
        return  # a forked process only has copies of the files
    # This kills the processes that the helper has started, too.
    if sys.platform != "win32" and process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    end(process)


def end(process: subprocess.Popen[Any]) -> None:
    """Kill a process, if it has not ended, and wait for it.

    Popen.wait() would wait for ever if an earlier Ctrl-C arrived inside poll(), whose lock then
    stays held.
    """
    process.kill()
    if sys.platform == "win32":
        process.wait()
    elif process.returncode is None:
        with contextlib.suppress(ChildProcessError):
            process.returncode = os.waitstatus_to_exitcode(os.waitpid(process.pid, 0)[1])


def requests() -> Connection[Any, Any]:
    """Return the helper's end of the connection; called in the helper."""
    return Connection(int(sys.argv[1]))


def serve(line: Connection[Any, Any], respond: Callable[[Any], object]) -> None:
    """Answer each request until the other end is closed; called in the helper."""
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            line.send(respond(line.recv()))
