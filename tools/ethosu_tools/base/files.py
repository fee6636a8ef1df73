# SPDX-License-Identifier: MIT
"""Reads and writes files, whole or not at all, and reports errors in one sentence."""

import errno
import io
import os
import stat
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .errors import InputError, UsageError

# No valid model, image or array of inputs comes near this; larger files are mistakes or endless.
LARGEST = 1 << 30
# Methods that zipfile unpacks in pieces; with others, it unpacks a whole file of any size at once.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 1
_NO_WAIT: int = getattr(os, "O_NONBLOCK", 0)  # Windows has no pipes in folders


def read_whole(path: Path) -> bytes:
    """Read a file; InputError if it is too large, or not a regular file, such as a pipe."""
    try:
        # A plain open() would block on a pipe without a writer.
        descriptor = os.open(path, os.O_RDONLY | _NO_WAIT)
        try:
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode):
                raise InputError(f"{path} cannot be read: it is {_kind(state.st_mode)}, not a file")
            if state.st_size > LARGEST:
                raise InputError(
                    f"{path} cannot be read: it has {state.st_size:,} bytes, more than {LARGEST:,}"
                )
            with open(descriptor, "rb", closefd=False) as file:
                # read() allocates as much as requested; files of /proc have a size of 0.
                data = file.read(state.st_size or LARGEST)
            if data is None:  # such as /proc/kmsg, which claims to be a file
                raise InputError(f"{path} cannot be read: it is an endless stream, not a file")
            return data
        finally:
            os.close(descriptor)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
    return next((name for matches, name in kinds if matches(mode)), "a device")


def unpack(data: bytes, limit: int = LARGEST) -> Iterator[tuple[str, bytes]]:
    """Read name and contents of each file in a ZIP archive.

    InputError: the archive is damaged or encrypted, or unpacks to more than `limit` bytes.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            size = sum(entry.file_size for entry in entries)
            if size > limit:
                raise ValueError(f"it unpacks to {size:,} bytes, more than {limit:,}")
            for entry in entries:
                if entry.compress_type not in _METHODS or entry.flag_bits & _ENCRYPTED:
                    raise ValueError(
                        f"{entry.filename} is encrypted, or neither stored nor deflated"
                    )
                with archive.open(entry) as file:
                    # Without a size, read() unpacks up to 2 GB more than the archive declares.
                    content = file.read(entry.file_size)
                if len(content) != entry.file_size:
                    raise ValueError(f"{entry.filename} is truncated")
                yield entry.filename, content
    # Damaged archives make zipfile and zlib raise exceptions of any kind.
    except Exception as error:
        raise InputError(" ".join(str(error).split()) or type(error).__name__) from error


class Output(type(Path())):  # type: ignore[misc]  # the class of paths of this system
    """Path of a file to be written: the type of such an option, for keep_inputs()."""


def keep_inputs(options: Mapping[str, Any]) -> None:
    """Raise UsageError if an option of type Output names the file of another argument."""
    named = [
        (f"--{name.replace('_', '-')}", value)
        for name, given in options.items()
        for value in (given if isinstance(given, list) else [given])
        if isinstance(value, Path)
    ]
    keep(
        [path for _, path in named if not isinstance(path, Output)],
        [(option, path) for option, path in named if isinstance(path, Output)],
    )


def keep(inputs: Iterable[Path | None], outputs: Iterable[tuple[str, Path | None]]) -> None:
    """Raise UsageError if an output would overwrite an input or another output."""
    known = {os.path.realpath(path): path for path in inputs if path}
    for option, path in outputs:
        if path is None:
            continue
        if os.path.realpath(path) in known:
            raise UsageError(f"{option} would overwrite {path}; choose another name")
        known[os.path.realpath(path)] = path


def write_whole(path: Path, data: bytes) -> None:
    """Write a file and create its folder; on failure the old contents remain.

    A symbolic link is kept; its target is written.
    """
    write_all({path: data})


def write_all(contents: Mapping[Path, bytes]) -> None:
    """Write files as `write_whole` does; all contents are stored before any file is replaced."""
    parts: list[tuple[Path, Path]] = []
    path = Path()
    try:
        for path, data in contents.items():
            target = _target(path)
            if target.exists() and not target.is_file():
                raise InputError(f"{path} cannot be written: it is {_kind(target.stat().st_mode)}")
            target.parent.mkdir(parents=True, exist_ok=True)
            # Another command may write the same file at the same time.
            part = target.with_name(f".{os.urandom(8).hex()}.part")
            parts.append((part, target))
            part.write_bytes(data)
        for part, target in parts:
            part.replace(target)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        for part, _ in parts:
            part.unlink(missing_ok=True)


def _target(path: Path) -> Path:
    """Return the target of a path after all links."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():  # only a circular link remains one
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return target
