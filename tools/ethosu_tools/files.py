# SPDX-License-Identifier: MIT
"""Files that commands read and write: whole or not at all, with one sentence when it can't be."""

import errno
import os
import secrets
import stat
from pathlib import Path

from .errors import InputError

# No model, image or array of inputs comes near this; what does is not meant, or has no end.
LARGEST = 1 << 30


def read_whole(path: Path) -> bytes:
    """Contents of a file; InputError for what is none, such as a device or a pipe, or too large."""
    try:
        # A pipe that nobody writes to would hold up a plain open().
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise InputError(f"{path} cannot be read: it is {_kind(found.st_mode)}, not a file")
            if found.st_size > LARGEST:
                raise InputError(
                    f"{path} cannot be read: it has {found.st_size:,} bytes, more than {LARGEST:,}"
                )
            with open(descriptor, "rb", closefd=False) as file:
                data = file.read(LARGEST)
            if data is None:  # as of /proc/kmsg, which says that it is a file
                raise InputError(f"{path} cannot be read: it is no file that has an end")
            return data
        finally:
            os.close(descriptor)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
    return next((name for matches, name in kinds if matches(mode)), "a device")


def write_whole(path: Path, data: bytes) -> None:
    """Write a file and the folder that it lies in; a failure leaves what was there before.

    A symbolic link stays: the file that it names is written.
    """
    try:
        target = _target(path)
        if target.exists() and not target.is_file():
            raise InputError(f"{path} cannot be written: it is {_kind(target.stat().st_mode)}")
        # Another command may write the same file at the same time.
        part = target.with_name(f".{secrets.token_hex(8)}.part")
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            part.write_bytes(data)
            part.replace(target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error


def _target(path: Path) -> Path:
    """What a path names at the end of all links."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():  # only a link that leads to itself is left
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return target
