# SPDX-License-Identifier: MIT
"""Files that commands write: whole or not at all, with one sentence when it can't be."""

from pathlib import Path

from .errors import InputError


def write_whole(path: Path, data: bytes) -> None:
    """Write a file and the folder that it lies in; a failure leaves what was there before."""
    if path.is_dir():
        raise InputError(f"{path} cannot be written: it is a folder")
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error
