# SPDX-License-Identifier: MIT
"""Puts files into a board's ROM file system, next to those that are there, and checks them.

A firmware of this project keeps the old image until the new one is whole (firmware/romfs.c), so
that a deploy that is cut off leaves one of the two. Elsewhere, and where the partition is too small
for both, the new image is written over the old one.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from . import romfs
from .board import Board, encoded
from .errors import BoardError, InputError, UsageError
from .romfs import Tree
from .ui import Update

_CHUNK_BYTES = 4096
_HASH_TIMEOUT_S = 120.0
_ERASE_TIMEOUT_S = 10.0
_SLOWEST_ERASED_PER_S = 10_000.0
# No processor of this family sets so much memory aside for files; an image is built in ours.
_LARGEST_ROOM = 256 << 20
_LONGEST_PATH = 512

# `keeps` is 1 when the old image stays until one of that size is whole (ROM_IOCTL_KEEPS_OLD).
_OPEN = """\
import vfs
_rom = None
try:
    _rom = vfs.VfsRom(memoryview(vfs.rom_ioctl(2, 0)))
except OSError:
    pass
def _walk(folder):
    for name, kind, _, size in _rom.ilistdir(folder):
        if kind & 0x4000:
            yield from _walk(folder + name + '/')
        else:
            yield folder + name, size
_answer = list(_walk('')) if _rom else []
"""
_HASH = "_answer = _hashlib.sha256(memoryview(_rom.open({path!r}, 'rb'))).digest()"
_COPY = "_answer = vfs.rom_ioctl(4, 0, {place}, memoryview(_rom.open({path!r}, 'rb')))"


@dataclass(frozen=True)
class Deployed:
    """What became of the files: all by their paths."""

    sent: list[str]
    kept: list[str]
    removed: list[str]
    size: int


def deploy(
    port: str,
    tree: Tree,
    *,
    replace: bool = False,
    force: bool = False,
    progress: Update = lambda done, total: None,
) -> Deployed:
    """Put these files into the board's ROM; those of other names stay, unless `replace`.

    UsageError when that needs `force`: when a deploy that is cut off would leave no file system.
    A fresh interpreter sees the files.
    """
    new = dict(romfs.files(tree))
    with Board(port) as board:
        board.soft_reset()  # no program and no model uses what will change
        room = _room(board)
        old = _list(board, room)
        kept = {} if replace else _kept(old, new)
        content = new | {path: bytes(size) for path, size in kept.items()}
        places: dict[str, int] = {}
        image = romfs.build(romfs.tree_of(content), places)
        whole_at_all_times = _check_room(board, len(image), room, force=force, old=old)
        hashes = {path: hashlib.sha256(data).digest() for path, data in new.items()}
        hashes |= {path: _ask_bytes(board, _HASH.format(path=path)) for path in kept}
        there = {path: (places[path], size) for path, size in kept.items()}
        if not whole_at_all_times:  # what is there is gone when it would be copied
            fetched = {path: board.read_file(path, opener="_rom.open") for path in kept}
            image, there = romfs.build(romfs.tree_of(new | fetched)), {}
        _write(board, image, there, progress)
    _check(port, hashes)
    removed = sorted(set(old) - set(content))
    return Deployed(sorted(new), sorted(kept), removed, len(image))


def _list(board: Board, room: int) -> dict[str, int]:
    """Paths and sizes of the files that are there; BoardError for what no such ROM can have."""
    found = board.ask(_OPEN)
    try:
        sizes = dict(found)
        possible = (
            all(map(_is_file, sizes.items()))
            and sum(sizes.values()) <= room
            and sizes.keys().isdisjoint(parent for path in sizes for parent in _parents(path))
        )
    except (TypeError, ValueError):
        possible = False
    if not possible:
        raise BoardError(f"the board's list of files is none: {found!r:.100}")
    return sizes


def _is_file(found: tuple[object, object]) -> bool:
    path, size = found
    if not isinstance(path, str) or not isinstance(size, int):
        return False
    return len(path) <= _LONGEST_PATH and all(path.split("/")) and size >= 0


def _room(board: Board) -> int:
    """Bytes that the board's ROM has for an image."""
    if not board.ask("import vfs\n_answer = hasattr(vfs, 'rom_ioctl')"):
        raise BoardError(f"the firmware at {board.port} has no ROM file system that can be written")
    room = board.ask("_answer = len(memoryview(vfs.rom_ioctl(2, 0)))")
    if not isinstance(room, int) or not 0 <= room <= _LARGEST_ROOM:
        raise BoardError(f"the size of the ROM of {board.port} is none: {room!r:.100}")
    return room


def _kept(old: dict[str, int], new: dict[str, bytes]) -> dict[str, int]:
    """Old files that stay: a new file takes the place of a folder of its name, and the reverse."""
    folders = {parent for path in new for parent in _parents(path)}
    return {
        path: size
        for path, size in old.items()
        if path not in new and path not in folders and not new.keys() & set(_parents(path))
    }


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _check_room(board: Board, size: int, room: int, *, force: bool, old: dict[str, int]) -> bool:
    """Refuse what does not fit; return whether the old image stays until the new one is whole."""
    if size > room:
        raise InputError(
            f"the image has {size:,} bytes, the ROM of {board.port} {room:,}; --replace leaves out "
            f"what is there: {', '.join(sorted(old)) or 'nothing'}"
        )
    keeps = _keeps_old(board, size)
    if old and not force and not keeps:
        raise UsageError(
            f"the ROM of {board.port} cannot keep the old files until the new ones are there: what "
            "cuts the deploy off would leave none. --force does it nonetheless"
        )
    return keeps


def _keeps_old(board: Board, size: int) -> bool:
    return bool(board.ask(f"_answer = vfs.rom_ioctl(256, 0, {size})") == 1)


def _write(board: Board, image: bytes, kept: dict[str, tuple[int, int]], progress: Update) -> None:
    """Write an image; the board copies what stays.

    A flash memory takes its time to erase what the image needs, and writes in units: the last one
    is filled up. A step that takes longer than its bytes may is a BoardTimeoutError.
    """
    unit = board.ask(
        f"_answer = vfs.rom_ioctl(3, 0, {len(image)})",
        timeout=_ERASE_TIMEOUT_S + len(image) / _SLOWEST_ERASED_PER_S,
    )
    if not isinstance(unit, int) or not 0 < unit <= _CHUNK_BYTES:
        raise BoardError(
            f"the board at {board.port} refuses an image of {len(image):,} bytes: {unit!r:.100}"
        )
    # In order: flash takes each place once.
    for start, end, path in _parts(len(image), kept):
        if path is not None:
            _ask_zero(board, _COPY.format(place=start, path=path))
            continue
        for at in range(start, end, _CHUNK_BYTES):
            piece = image[at : min(at + _CHUNK_BYTES, end)]
            if end == len(image):
                piece += bytes(-len(piece) % unit)
            _ask_zero(board, f"_answer = vfs.rom_ioctl(4, 0, {at}, {encoded(piece)})")
            progress(min(at + len(piece), end), len(image))
    _ask_zero(board, "_answer = vfs.rom_ioctl(5, 0)")


def _parts(size: int, kept: dict[str, tuple[int, int]]) -> Iterator[tuple[int, int, str | None]]:
    """The image from start to end: what the board has under a path, and what the host sends."""
    at = 0
    for place, length, path in sorted(
        (place, length, path) for path, (place, length) in kept.items()
    ):
        yield at, place, None
        yield place, place + length, path
        at = place + length
    yield at, size, None


def _check(port: str, hashes: dict[str, bytes]) -> None:
    """Compare what a fresh interpreter finds with what should be there."""
    with Board(port) as board:
        board.soft_reset()
        listed = _list(board, _room(board))
        found = {path: _ask_bytes(board, _HASH.format(path=path)) for path in listed}
    if found != hashes:
        wrong = sorted(path for path in hashes | found if found.get(path) != hashes.get(path))
        raise BoardError(
            f"what lies in the ROM of {port} is not what was sent; deploy again: {', '.join(wrong)}"
        )


def _ask_bytes(board: Board, code: str) -> bytes:
    found = board.ask(code, timeout=_HASH_TIMEOUT_S)
    if not isinstance(found, bytes):
        raise BoardError(f"the board answered {found!r:.100}, expected bytes")
    return found


def _ask_zero(board: Board, code: str) -> None:
    found = board.ask(code, timeout=_HASH_TIMEOUT_S)
    if found != 0:
        raise BoardError(
            f"the board at {board.port} refuses to write its ROM: error {found!r:.100}"
        )
