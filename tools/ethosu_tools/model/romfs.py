# SPDX-License-Identifier: MIT
"""Images of MicroPython's ROM file system in which every file is aligned for the NPU.

The format is MicroPython's (extmod/vfs_rom.c): records of kind, length and payload. Kind and length
are big-endian numbers with seven bits per byte. Lengths have a fixed number of bytes here, so that
each file's position is known when it is written and its data can be aligned.
"""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..base.errors import InputError
from ..base.files import read_whole

ALIGNMENT = 16
# Files that Python on the PC leaves in program folders, which are useless on a board.
CACHE = "__pycache__"

_MAGIC = b"\xd2\xcd\x31"
_PADDING = 1
_DATA = 2
_DIRECTORY = 4
_FILE = 5
_LENGTH_BYTES = 5
_HEAD_BYTES = 1 + _LENGTH_BYTES
# Maximum number of files listed in a message.
_SHOWN = 3

Tree = Mapping[str, "bytes | Tree"]


def build(tree: Tree, offsets: dict[str, int] | None = None) -> bytes:
    """Build an image of these files and directories; its address must be aligned to 16.

    `offsets` receives the offset of each file's data in the image, by path.
    """
    offsets = {} if offsets is None else offsets
    payload = _entries(tree, len(_MAGIC) + _LENGTH_BYTES, "", offsets)
    if len(payload) % 2:
        payload += _record(_PADDING, b"\0", length_bytes=1)
    return _MAGIC + _number(len(payload), _LENGTH_BYTES) + payload


def files(tree: Tree, folder: str = "") -> Iterator[tuple[str, bytes]]:
    """List paths and contents of the files of a tree."""
    for name, content in tree.items():
        if isinstance(content, Mapping):
            yield from files(content, f"{folder}{name}/")
        else:
            yield folder + name, content


def tree_of(content: Mapping[str, bytes]) -> Tree:
    """Make a tree of files given by path."""
    tree: dict[str, Any] = {}
    for path, data in content.items():
        *folders, name = path.split("/")
        inside = tree
        for folder in folders:
            inside = inside.setdefault(folder, {})
        inside[name] = data
    return tree


def read_tree(path: Path, above: tuple[Path, ...] = ()) -> Tree:
    """Read the files below a directory except Python's caches, or one file, as a tree.

    `above` lists the enclosing directories.
    """
    try:
        if path.is_dir():
            folder = path.resolve()
            if folder in above:  # following a link to a parent would never end
                raise InputError(f"{path} cannot be read: it is a link to one of its parents")
            return {
                entry.name: read_tree(entry, (*above, folder))
                if entry.is_dir()
                else read_whole(entry)
                for entry in sorted(path.iterdir())
                if entry.name != CACHE
            }
    except OSError as error:
        raise InputError(f"{error.filename or path} cannot be read: {error.strerror}") from error
    return {path.name: read_whole(path)}


def sizes(image: bytes) -> dict[str, int]:
    """Return the files' sizes by path; of a damaged image, those before the damage."""
    by_path: dict[str, int] = {}
    with contextlib.suppress(IndexError, RecursionError):
        length, start = _read_number(image, len(_MAGIC))
        _add_sizes(image, start, min(start + length, len(image)), "", by_path)
    return by_path


def _add_sizes(image: bytes, at: int, end: int, folder: str, by_path: dict[str, int]) -> None:
    while at < end:
        kind, at = _read_number(image, at)
        size, at = _read_number(image, at)
        if kind in (_FILE, _DIRECTORY):
            length, name = _read_number(image, at)
            inside = name + length
            path = folder + image[name:inside].decode(errors="replace")
            path += "/" if kind == _DIRECTORY else ""
            _add_sizes(image, inside, min(at + size, end), path, by_path)
        elif kind == _DATA:
            by_path[folder] = size
        elif kind != _PADDING:
            return
        at += size


def largest(sizes: Mapping[str, int]) -> str:
    """List the largest files, enough to account for the size, for a message."""
    names = sorted(sizes, key=lambda path: sizes[path], reverse=True)
    shown = [f"{path} ({sizes[path]:,} bytes)" for path in names[:_SHOWN]]
    others = [f"{len(names) - _SHOWN} smaller ones"] if len(names) > _SHOWN else []
    return ", ".join(shown + others)


def is_image(data: bytes) -> bool:
    """Whether a file is an image, by its first bytes."""
    return data.startswith(_MAGIC)


def load_image(path: Path) -> bytes:
    """Read an image, or build one of the files below a directory."""
    if path.is_dir():
        return build(read_tree(path))
    image = read_whole(path)
    if not is_image(image):
        raise InputError(
            f"{path} is not a ROM file system: expected {_MAGIC!r} at its start, "
            f"found {image[:3]!r}"
        )
    return image


def _entries(tree: Tree, at: int, folder: str, offsets: dict[str, int]) -> bytes:
    """Encode a directory's contents, which will be placed at `at`, as records."""
    out = bytearray()
    for name, content in tree.items():
        try:
            label = name.encode()
        except UnicodeEncodeError:
            raise InputError(
                f"{folder}{name} is not a valid file name on a board: it is not UTF-8"
            ) from None
        label = _number(len(label)) + label
        inside = at + len(out) + _HEAD_BYTES + len(label)
        if isinstance(content, Mapping):
            out += _record(
                _DIRECTORY, label + _entries(content, inside, f"{folder}{name}/", offsets)
            )
        else:
            out += _record(_FILE, label + _aligned_data(content, inside))
            offsets[folder + name] = at + len(out) - len(content)
    return bytes(out)


def _aligned_data(content: bytes, at: int) -> bytes:
    """Return a data record, preceded by a padding record that aligns its payload."""
    missing = -(at + _HEAD_BYTES) % ALIGNMENT
    if missing == 1:
        missing += ALIGNMENT  # the shortest record has two bytes
    padding = _record(_PADDING, bytes(missing - 2), length_bytes=1) if missing else b""
    return padding + _record(_DATA, content)


def _record(kind: int, payload: bytes, length_bytes: int = _LENGTH_BYTES) -> bytes:
    return _number(kind) + _number(len(payload), length_bytes) + payload


def _read_number(image: bytes, at: int) -> tuple[int, int]:
    """Read a number; also returns its end. IndexError if it has more than 32 bits."""
    value = 0
    for end in range(at, at + _LENGTH_BYTES):
        value = value << 7 | image[end] & 0x7F
        if not image[end] & 0x80:
            return value, end + 1
    raise IndexError


def _number(value: int, width: int = 1) -> bytes:
    """Encode a number with seven bits per byte, in at least `width` bytes."""
    out = [value & 0x7F]
    while value := value >> 7:
        out.insert(0, 0x80 | value & 0x7F)
    return bytes([0x80] * (width - len(out)) + out)
