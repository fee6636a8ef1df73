# SPDX-License-Identifier: MIT
"""Locks boards for one user at a time: a lock file per port, in a folder that hosts may share.

The folder is ETHOSU_LOCKS, else one that only this user can write to. The lock is flock(2) of the
kernel, which also works between hosts over NFS and releases the lock whenever the process ends.
The file identifies the holder and is removed with the lock. Other users of this computer are kept
out by the lock on the device itself, see port.py.

A lock file is only written after checking its type: in a shared folder others may plant a link.
"""

import contextlib
import errno
import getpass
import os
import re
import socket
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from . import addons
from .closeable import Closeable
from .errors import BoardLinkError, SetupError

try:
    import fcntl as _fcntl
except ImportError:  # Windows opens a port once only, for one process: no lock file is needed
    fcntl: Any = None
else:
    fcntl = _fcntl
_posix: Any = os

VARIABLE = "ETHOSU_LOCKS"
# Last line of a lock file whose holder has acquired a place of an add-on and will release it.
_ACQUIRED = b"\nacquired"
# Schemes of pyserial for devices of this host.
_OF_DEVICES = frozenset(("spy", "alt"))
_LOOPBACK = frozenset(("localhost", "localhost.localdomain", "ip6-localhost", "::1"))
_LOOPBACK_ADDRESS = re.compile(r"127(?:\.\d+){1,3}")
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

    `port` is the port to open: the serial line of a place, or the given port.
    """

    def __init__(self, port: str, title: str = "") -> None:
        """Take the lock; a LockedError calls the board `title` (default: the port)."""
        self._path = _path(port) if fcntl else Path()
        # True if the last holder was killed after acquiring the place.
        self._is_stale = False
        self._place: Any = None
        self._line: Lock | None = None  # locks the place's serial line, too
        self._file: int | None = self._take(title or port)
        if managed(port):
            self._acquire(port)
        self.port = self._place.port if self._place else port

    def close(self) -> None:
        """Release the lock; may be called repeatedly."""
        place, self._place = self._place, None
        line, self._line = self._line, None
        file, self._file = self._file, None
        try:
            if line is not None:
                line.close()
            if place is not None:
                place.release()
        finally:
            if file is not None:
                _remove(self._path, file)
                os.close(file)

    @contextlib.contextmanager
    def lent(self) -> Iterator[str]:
        """Let another program lock and open `port`; a place stays acquired."""
        line = self._line
        (line or self).close()
        try:
            yield self.port
        finally:
            if line is not None:
                self._line = Lock(self.port)
            else:
                self._file = self._take(self.port)

    def move(self, port: str) -> None:
        """Lock a device's new name instead of its old one; a place stays acquired.

        After a LockedError, the old name is still locked.
        """
        if self._line is not None:
            self._line.move(port)
        elif fcntl and _path(port) != self._path:
            new = Lock(port)
            self.close()
            self._path, self._file = new._path, new._file
        self.port = port

    def is_awaited(self) -> bool:
        """Whether a worker of the same run is waiting for this lock."""
        path = _waiting_path(self._path)
        if fcntl is None or not path.exists():
            return False
        with _opened(path) as file:
            free = _try_lock(file, path)
            if free:  # the waiting process has ended
                _remove(path, file)
        return not free

    def _acquire(self, port: str) -> None:
        """Acquire the place as well, since its other users do not use lock files."""
        try:
            place = managed(port).Acquired(port, self._is_stale)
            if place.holder:
                raise LockedError(port, f"{place.holder}, according to {port.partition(':')[0]}")
            self._place = place
            if place.by_us and self._file is not None:
                with _naming(self._path, "written"):
                    _posix.pwrite(self._file, _ACQUIRED, os.fstat(self._file).st_size)
            self._line = Lock(place.port, port)
        except BaseException:
            self.close()
            raise

    def _take(self, name: str) -> int | None:
        while fcntl:
            file = _open(self._path)
            try:
                if not _try_lock(file, self._path):
                    holder = _posix.pread(file, 500, 0).decode(errors="replace")
                    raise LockedError(name, holder)
                if _is_at(self._path, file):  # else the last holder has just removed the file
                    self._begin(file)
                    return file
            except BaseException:
                os.close(file)
                raise
            os.close(file)
        return None

    def _begin(self, file: int) -> None:
        """Name this process in the locked file."""
        try:
            with _naming(self._path, "written"):
                self._is_stale = _ACQUIRED in _posix.pread(file, 500, 0)
                os.ftruncate(file, 0)
                _posix.pwrite(file, _this_process().encode(), 0)
        except SetupError:
            _remove(self._path, file)
            raise


@contextlib.contextmanager
def waiting(port: str) -> Iterator[None]:
    """Make `is_awaited` of the lock's holder return True during the `with` statement."""
    if fcntl is None:
        yield
        return
    path = _waiting_path(_path(port))
    with _opened(path) as file:
        with _naming(path, "locked"):
            fcntl.flock(file, fcntl.LOCK_SH)
        try:
            yield
        finally:
            if _try_lock(file, path):  # no other worker is waiting
                _remove(path, file)


def managed(port: str) -> Any:
    """The add-on that manages this port, as SCHEME:NAME; None for all other ports.

    The add-on has `expand`, and `Acquired`: a place that this process holds until `release`.
    """
    scheme, colon, _ = port.partition(":")
    return addons.load("scheme", scheme) if colon else None


def _this_process() -> str:
    program = Path(sys.argv[0]).name or "python"
    since = time.strftime("%H:%M")
    user = f"{getpass.getuser()}@{socket.gethostname()}"
    return f"{user} ({program}, process {os.getpid()}, since {since})\n{''.join(_runs)}"


def _path(port: str) -> Path:
    """Return the path of a port's lock file."""
    return _folder() / f"{quote(_board_name(port), safe=':')}.lock"


def _board_name(port: str) -> str:
    """Return one name for a board, however its port is written; devices belong to this host.

    Host names are not resolved, so a host's name and its address give two names.
    """
    if managed(port):
        return port.lower()
    scheme, separator, rest = port.partition("://")
    if separator and scheme.lower() not in _OF_DEVICES:
        return _network_name(port)
    try:
        device = rest.partition("?")[0] if separator else port
        return f"{socket.gethostname()}:{os.path.realpath(device)}"
    except ValueError:  # a null character
        raise not_a_port(port) from None


def _network_name(url: str) -> str:
    """Return HOST:PORT of a network port, whatever the protocol and its options."""
    parts = urlsplit(url)
    host = number = None
    with contextlib.suppress(ValueError):
        host, number = parts.hostname, parts.port
    if not host or number is None:
        return url.lower()
    is_here = host in _LOOPBACK or _LOOPBACK_ADDRESS.fullmatch(host)
    return f"{socket.gethostname() if is_here else host}:{number}".lower()


def not_a_port(name: str) -> BoardLinkError:
    """The error for text that names no port."""
    return BoardLinkError(
        f"{name} is not a port: expected a device such as /dev/ttyACM0 or COM3, "
        "socket://HOST:PORT or rfc2217://HOST:PORT"
    )


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
    user = _posix.getuid()
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
    """Whether a path is a folder, not a link to one, that only this user can write to."""
    try:
        state = folder.lstat()
    except OSError:
        return False
    return (
        stat.S_ISDIR(state.st_mode)
        and state.st_uid == _posix.getuid()
        and not state.st_mode & 0o022
    )


def _open(path: Path) -> int:
    flags = os.O_RDWR | _posix.O_CLOEXEC | _posix.O_NOFOLLOW | _posix.O_NONBLOCK
    with _naming(path, "opened"):
        with contextlib.suppress(FileNotFoundError):  # other users' files in a shared folder
            return _checked(os.open(path, flags), path)
        file = _checked(os.open(path, flags | os.O_CREAT, 0o666), path)
        with contextlib.suppress(OSError):
            _posix.fchmod(file, 0o666)
        return file


@contextlib.contextmanager
def _naming(path: Path, what: str) -> Iterator[None]:
    """Name the file and the variable in the system's errors."""
    try:
        yield
    except BlockingIOError:
        raise
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _not_a_lock(path, "a symbolic link") from None
        raise SetupError(
            f"the lock file {path} cannot be {what}: {error.strerror}; set {VARIABLE} to another "
            "folder"
        ) from None


def _is_at(path: Path, file: int) -> bool:
    """Whether this path is still that of the open file."""
    try:
        found, ours = path.lstat(), os.fstat(file)
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino)


def _remove(path: Path, file: int) -> None:
    """Remove a file that this process has locked, unless others have replaced it."""
    if _is_at(path, file):
        with contextlib.suppress(OSError):
            path.unlink()


def _checked(file: int, path: Path) -> int:
    """Return the open file if it is certainly a lock file, because it will be overwritten."""
    state = os.fstat(file)
    is_regular = stat.S_ISREG(state.st_mode)
    if is_regular and state.st_nlink <= 1:
        return file
    os.close(file)
    raise _not_a_lock(path, "a hard link" if is_regular else "not a regular file")


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


def _try_lock(file: int, path: Path) -> bool:
    try:
        with _naming(path, "locked"):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
