# SPDX-License-Identifier: MIT
"""Locks boards for one user at a time: a lock file per port, in a folder that hosts may share.

The folder is ETHOSU_LOCKS, else one that only this user can write to. The lock is the kernel's,
flock(2), which also works between hosts over NFS. It is released when its process ends, however it
ends. The file identifies the holder and is removed with the lock. Other users of this computer
are kept out by the lock on the device itself, see port.py.

A lock file is only written after checking its type: in a shared folder others may plant a link.
"""

import contextlib
import errno
import fcntl
import getpass
import os
import socket
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from . import labgrid_places
from .closeable import Closeable
from .errors import BoardLinkError, SetupError

VARIABLE = "ETHOSU_LOCKS"
# Last line of a lock file whose holder has acquired a labgrid place and will release it.
_ACQUIRED = b"\nacquired"
# The workers of one pytest run wait for each other: the plugin sets the run's name.
_runs: list[str] = []


def begin_run(name: str) -> None:
    """Join a run that has several processes."""
    _runs[:] = [name]


class LockedError(BoardLinkError):
    """Another program is using the board; `same_run`: another worker of this pytest run."""

    def __init__(self, name: str, holder: str) -> None:
        """`holder`: as identified in the lock file."""
        owner, run = [*holder.splitlines(), "", ""][:2]
        self.same_run = run in _runs
        super().__init__(f"{name} is in use by {owner or 'another program'}")


class Lock(Closeable):
    """Holds the lock of a port until it is closed, or until this process ends.

    `port` is what can be opened: the serial line of a labgrid place, or the given port.
    """

    def __init__(self, port: str, title: str = "") -> None:
        """LockedError if it is taken; the message calls it `title` (default: the port)."""
        self._path = _path(port)
        # Whether its last holder was killed after acquiring the place.
        self._is_stale = False
        self._place: labgrid_places.Acquired | None = None
        self._file: int | None = self._take(title or port)
        if labgrid_places.is_place(port):
            self._place = self._acquire(port)
        self.port = self._place.port if self._place else port

    def close(self) -> None:
        """Release the lock; may be called repeatedly."""
        place, self._place = self._place, None
        file, self._file = self._file, None
        try:
            if place is not None:
                place.release()
        finally:
            self._unlock(file)

    def _unlock(self, file: int | None) -> None:
        if file is not None:
            with contextlib.suppress(OSError):  # another host removed it
                self._path.unlink()
            os.close(file)

    @property
    def lends(self) -> bool:
        """Whether another program needs this lock while it has `port` open."""
        return self._place is not None

    def is_awaited(self) -> bool:
        """Whether a worker of the same run is waiting for it."""
        path = _waiting_path(self._path)
        if not path.exists():
            return False
        with _opened(path) as file:
            free = _try_lock(file)
        if free:  # the waiting process has ended
            path.unlink(missing_ok=True)
        return not free

    def _acquire(self, port: str) -> labgrid_places.Acquired:
        """Acquire a labgrid place as well, since its other users do not use lock files."""
        try:
            place = labgrid_places.Acquired(port, self._is_stale)
        except BaseException:
            self.close()
            raise
        if place.holder:
            self.close()
            raise LockedError(port, f"{place.holder}, according to labgrid")
        if place.by_us and self._file is not None:
            os.pwrite(self._file, _ACQUIRED, os.fstat(self._file).st_size)
        return place

    def _take(self, name: str) -> int:
        while True:
            file = _open(self._path)
            if not _try_lock(file):
                holder = os.pread(file, 500, 0).decode(errors="replace")
                os.close(file)
                raise LockedError(name, holder)
            with contextlib.suppress(OSError):
                if os.fstat(file).st_ino == self._path.stat().st_ino:
                    break
            os.close(file)  # its last holder has just removed it
        self._is_stale = _ACQUIRED in os.pread(file, 500, 0)
        os.ftruncate(file, 0)
        os.pwrite(file, _this_process().encode(), 0)
        return file


@contextlib.contextmanager
def waiting(port: str) -> Iterator[None]:
    """Make `is_awaited` of the lock's holder return True during the `with` statement."""
    path = _waiting_path(_path(port))
    with _opened(path) as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        try:
            yield
        finally:
            if _try_lock(file):  # no other worker is waiting
                path.unlink(missing_ok=True)


def _this_process() -> str:
    program = Path(sys.argv[0]).name or "python"
    since = time.strftime("%H:%M")
    user = f"{getpass.getuser()}@{socket.gethostname()}"
    return f"{user} ({program}, process {os.getpid()}, since {since})\n{''.join(_runs)}"


def _path(port: str) -> Path:
    """The lock file of a port; devices are local to a host and may have several names."""
    device = f"{socket.gethostname()}:{os.path.realpath(port)}"
    name = port.lower() if "://" in port or labgrid_places.is_place(port) else device
    return _folder() / f"{quote(name, safe=':')}.lock"


def _waiting_path(path: Path) -> Path:
    return path.with_suffix(".waiting")


def _folder() -> Path:
    given = os.environ.get(VARIABLE)
    try:
        if not given:
            return _own_folder()
        folder = Path(given)
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o1777)
        return folder
    except OSError as error:
        raise SetupError(
            f"the lock folder {error.filename} cannot be created: {error.strerror}; "
            f"set {VARIABLE} to another one"
        ) from None


def _own_folder() -> Path:
    """Folder of this user, in the system's session folder if there is one, else in /tmp."""
    user = os.getuid()
    session = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{user}")
    if _is_private(session):
        folder = session / "ethosu-locks"
    else:
        folder = Path(tempfile.gettempdir()) / f"ethosu-locks-{user}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(0o700)
    if not _is_private(folder):
        raise SetupError(
            f"the lock folder {folder} is not a folder that only this user can write to; "
            f"remove it, or set {VARIABLE} to another one"
        )
    return folder


def _is_private(folder: Path) -> bool:
    """Whether it is a folder, not a link to one, that only this user can write to."""
    try:
        state = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid() and not state.st_mode & 0o022


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        with contextlib.suppress(FileNotFoundError):  # other users' files in a shared folder
            return _checked(os.open(path, flags), path)
        file = _checked(os.open(path, flags | os.O_CREAT, 0o666), path)
        with contextlib.suppress(OSError):
            os.fchmod(file, 0o666)
        return file
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _not_a_lock(path, "a symbolic link") from None
        raise SetupError(f"{path} cannot be opened: {error.strerror}; set {VARIABLE}") from None


def _checked(file: int, path: Path) -> int:
    """The open file, if it is certainly a lock file: it will be truncated and written."""
    state = os.fstat(file)
    if not stat.S_ISREG(state.st_mode):
        kind = "not a regular file"
    elif state.st_nlink > 1:
        kind = "a hard link"
    else:
        return file
    os.close(file)
    raise _not_a_lock(path, kind)


def _not_a_lock(path: Path, kind: str) -> SetupError:
    return SetupError(
        f"{path} is {kind}, not a lock file; remove it, or set {VARIABLE} to another folder"
    )


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    file = _open(path)
    try:
        yield file
    finally:
        os.close(file)


def _try_lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
