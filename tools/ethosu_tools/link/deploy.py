# SPDX-License-Identifier: MIT
"""Adds files to a board's ROM file system, and checks them.

The project's firmware keeps the old image until the new one is complete (its storage/romfs.c), so
an interrupted deploy leaves one of the two. With other firmware, or if the partition is too small
for both, the new image overwrites the old one.

Parts of the new image that an interrupted deploy has already written are not sent again.
"""

import errno
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NoReturn

from ..base.errors import BoardError, InputError, RemoteError, UsageError
from ..base.ui import Update
from ..model import romfs
from ..model.romfs import Tree
from ..sim.fit import Room
from .board import Board

_LARGEST_UNIT = 4096
# Unit of a resumed deploy; a multiple of the erase size of any flash.
_PART_BYTES = 64 * 1024
_HASH_TIMEOUT_S = 120.0
_ERASE_TIMEOUT_S = 10.0
_SLOWEST_ERASED_PER_S = 10_000.0
# Limit for an image, which is built in memory; no board reserves as much for files.
_LARGEST_ROOM = 256 << 20
_LONGEST_PATH = 512

_FREE = """\
import gc
try:
    import ethosu
    _npus = ethosu.npus()
except ImportError:
    _npus = None
try:
    import vfs
    _rom = len(memoryview(vfs.rom_ioctl(2, 0)))
except (AttributeError, ImportError, OSError, TypeError):
    _rom = None
gc.collect()
_answer = _npus, gc.mem_free(), _rom
"""
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
_ROOM = """\
_rom = vfs.rom_ioctl(2, 0)
_answer = _rom if isinstance(_rom, int) else len(_rom)
"""
_HASH = "_answer = _hashlib.sha256(memoryview(_rom.open({path!r}, 'rb'))).digest()"
_COPY = "_answer = vfs.rom_ioctl(4, 0, {at}, memoryview(_rom.open({path!r}, 'rb'))[{start}:{end}])"
# 1 if the old image is kept until one of this size is complete (ROM_IOCTL_KEEPS_OLD).
_KEEP = "_answer = vfs.rom_ioctl(258, 0, {at}, {size})"
_SEND = "lambda data: b'%d' % vfs.rom_ioctl(4, 0, {at}, data)"
# Finds where an image of this size will be, if the firmware reports it (ROM_IOCTL_TARGET), and
# hashes the present content there.
_FIND = """\
_place = vfs.rom_ioctl(257, 0, {size})
_memory = memoryview(vfs.rom_ioctl(2, 0))
_answer = [] if _place < 0 else [
    _hashlib.sha256(_memory[_place + at:_place + min(at + {part}, {size})]).digest()
    for at in range(0, {size}, {part})]
"""


def free_room(board: Board) -> Room | None:
    """Return a connected board's free resources; None if its firmware has no module `ethosu`."""
    answer = board.ask(_FREE)
    try:
        npus, free, rom = answer
        valid = all(isinstance(npu, str) for npu in npus or ()) and isinstance(free, int)
        valid = valid and (rom is None or isinstance(rom, int))
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise BoardError(f"the board reported invalid NPUs or memory sizes: {answer!r:.100}")
    return None if npus is None else Room(f"the board at {board.port}", tuple(npus), free, rom)


@dataclass(frozen=True)
class Deployed:
    """The result of a deploy: paths of files, and the size of the image."""

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
    check: Callable[[Board], None] = lambda board: None,
    progress: Update = lambda done, total: None,
) -> Deployed:
    """Add files to the board's ROM; other files are kept, unless `replace`.

    Raises UsageError if `force` is needed because an interrupted deploy would leave no file system.
    `check` may reject the board before anything is written. A fresh interpreter sees the files.
    """
    new = dict(romfs.files(tree))
    with Board(port) as board:
        board.soft_reset()  # no program or model may use files that will change
        check(board)
        room = _room(board)
        old = _list(board, room)
        kept = {} if replace else _kept(old, new)
        sizes = {path: len(data) for path, data in new.items()}
        content = new | {path: bytes(size) for path, size in kept.items()}
        offsets: dict[str, int] = {}
        image = romfs.build(romfs.tree_of(content), offsets)
        alone = len(romfs.build(tree)) if kept else len(image)
        _check_size(board, len(image), alone, room, sizes, kept)
        keeps_old = _check_room(board, len(image), force=force, old=old)
        hashes = {path: hashlib.sha256(data).digest() for path, data in new.items()}
        hashes |= {path: _hash(board, path) for path in kept}
        copied = {path: (offsets[path], size) for path, size in kept.items()}
        if not keeps_old:  # old files would be erased before the board copies them
            fetched = {path: board.read_file(path, opener="_rom.open") for path in kept}
            image, copied = romfs.build(romfs.tree_of(new | fetched)), {}
        try:
            _write(board, image, copied, progress)
        except BoardError as error:
            state = _state_of_rom(board, error, hashes, keeps_old)
            raise BoardError(f"{error}; {state}") from None
    _check(port, hashes)
    removed = sorted(set(old) - set(content))
    return Deployed(sorted(new), sorted(kept), removed, len(image))


def _list(board: Board, room: int) -> dict[str, int]:
    """List paths and sizes of the files on the board; raises BoardError if impossible."""
    answer = board.ask(_OPEN)
    try:
        sizes = dict(answer)
        possible = (
            all(map(_is_file, sizes.items()))
            and sum(sizes.values()) <= room
            and sizes.keys().isdisjoint(parent for path in sizes for parent in _parents(path))
        )
    except (TypeError, ValueError):
        possible = False
    if not possible:
        raise BoardError(f"the board reported an invalid list of files: {answer!r:.100}")
    return sizes


def _is_file(entry: tuple[object, object]) -> bool:
    path, size = entry
    if not isinstance(path, str) or not isinstance(size, int):
        return False
    return len(path) <= _LONGEST_PATH and all(path.split("/")) and size >= 0


def _room(board: Board) -> int:
    """Return the space for an image in the board's ROM, in bytes."""
    if not board.ask("import vfs\n_answer = hasattr(vfs, 'rom_ioctl')"):
        raise BoardError(f"the firmware at {board.port} has no ROM file system that can be written")
    room = board.ask(_ROOM)
    if room == -errno.ENODEV:
        raise BoardError(
            f"the board at {board.port} has no ROM file system: the memory cannot be read, or the "
            "last image could not be moved to its place because writing failed. Power-cycle the "
            "board, then deploy again; if that fails again, discard the image: "
            'mpremote exec "import vfs; vfs.rom_ioctl(3, 0, 1)"'
        )
    if not isinstance(room, int) or not 0 <= room <= _LARGEST_ROOM:
        raise BoardError(f"the board at {board.port} reported an invalid ROM size: {room!r:.100}")
    return room


def _kept(old: dict[str, int], new: dict[str, bytes]) -> dict[str, int]:
    """Return old files to keep; a new file replaces a folder of the same name, and vice versa."""
    folders = {parent for path in new for parent in _parents(path)}
    return {
        path: size
        for path, size in old.items()
        if path not in new and path not in folders and not new.keys() & set(_parents(path))
    }


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _check_size(
    board: Board, size: int, alone: int, room: int, new: dict[str, int], kept: dict[str, int]
) -> None:
    """Reject an image that does not fit; `alone` is its size without the kept files."""
    if alone > room:
        raise InputError(
            f"the files need {alone:,} bytes, but /rom of the board at {board.port} has {room:,}: "
            f"{romfs.largest(new)}"
        )
    if size > room:
        raise InputError(
            f"together with the existing files, {size:,} bytes are needed, but /rom of the board "
            f"at {board.port} has {room:,}; --replace removes {romfs.largest(kept)}"
        )


def _check_room(board: Board, size: int, *, force: bool, old: dict[str, int]) -> bool:
    """Whether the old image is kept until the new one is complete; else `force` is required."""
    keeps = _keeps_old(board, size)
    if old and not force and not keeps:
        raise UsageError(
            f"/rom of the board at {board.port} has no room for both the old files and the new "
            f"ones ({size:,} bytes). The new files would overwrite the old ones, and an "
            "interrupted deploy would leave /rom empty. To deploy anyway, add --force"
        )
    return keeps


def _state_of_rom(board: Board, error: BoardError, hashes: dict[str, bytes], keeps: bool) -> str:
    """Describe the state of /rom after a failed deploy, and what to do."""
    if not isinstance(error, RemoteError):  # the board no longer answers
        content = "the old files or the new ones" if keeps else "no files, or the new ones"
        return f"/rom has {content}; deploy again"
    try:
        board.soft_reset()  # the board completes an image if it can
        present = _hashes(board)
    except BoardError as second:
        return str(second)
    if present == hashes:
        return "/rom has the new files nevertheless"
    return f"/rom {'still has the old files' if present else 'is empty'}; deploy again"


def _keeps_old(board: Board, size: int) -> bool:
    return bool(board.ask(f"_answer = vfs.rom_ioctl(256, 0, {size})") == 1)


def _write(
    board: Board, image: bytes, copied: dict[str, tuple[int, int]], progress: Update
) -> None:
    """Write an image; the board itself copies the files that are kept.

    Flash memory takes long to erase, and is written in units, the last of which is padded. Raises
    BoardTimeoutError if a step takes too long for its size.
    """
    present = _find_parts(board, image)
    unit = board.ask(
        f"_answer = vfs.rom_ioctl(3, 0, {len(image)})",
        timeout=_ERASE_TIMEOUT_S + len(image) / _SLOWEST_ERASED_PER_S,
    )
    if not isinstance(unit, int) or not 0 < unit <= _LARGEST_UNIT:
        raise BoardError(
            f"the board at {board.port} rejects an image of {len(image):,} bytes: {unit!r:.100}"
        )
    largest = board.piece_bytes() // _LARGEST_UNIT * _LARGEST_UNIT or _LARGEST_UNIT
    # Parts are written in order, because flash can be written only once.
    for part in range(0, len(image), _PART_BYTES):
        end = min(part + _PART_BYTES, len(image))
        if part not in present or board.ask(_KEEP.format(at=part, size=end - part)) != 0:
            for start, stop, source in _parts(len(image), copied):
                _write_part(board, image, (max(start, part), min(stop, end)), source, unit, largest)
        progress(end, len(image))
    _ask_zero(board, "_answer = vfs.rom_ioctl(5, 0)")


def _find_parts(board: Board, image: bytes) -> set[int]:
    """Find parts that need not be sent; the first part is always written again."""
    code = _FIND.format(size=len(image), part=_PART_BYTES)
    digests = board.ask(code, timeout=_HASH_TIMEOUT_S, kind=list)
    starts = range(0, len(image), _PART_BYTES)
    return {
        at
        for at, digest in zip(starts, digests, strict=False)
        if at and hashlib.sha256(image[at : at + _PART_BYTES]).digest() == digest
    }


def _write_part(
    board: Board,
    image: bytes,
    span: tuple[int, int],
    source: tuple[str, int] | None,
    unit: int,
    largest: int,
) -> None:
    """Write a span of the image, which the board copies from an existing file or receives."""
    start, end = span
    if start >= end:
        return
    if source is not None:
        path, offset = source
        _ask_zero(board, _COPY.format(at=start, path=path, start=start - offset, end=end - offset))
        return
    for at in range(start, end, largest):
        piece = image[at : min(at + largest, end)]
        if end == len(image):
            piece += bytes(-len(piece) % unit)
        answer = board.exchange(piece, _SEND.format(at=at), timeout=_HASH_TIMEOUT_S)
        if answer != b"0":
            _fail(board, answer)


def _parts(
    size: int, copied: dict[str, tuple[int, int]]
) -> Iterator[tuple[int, int, tuple[str, int] | None]]:
    """Split the image into spans that the board has in a file, and spans that the host sends."""
    at = 0
    for path, (offset, length) in sorted(copied.items(), key=lambda item: item[1]):
        yield at, offset, None
        yield offset, offset + length, (path, offset)
        at = offset + length
    yield at, size, None


def _check(port: str, hashes: dict[str, bytes]) -> None:
    """Compare the files that a fresh interpreter finds with the expected ones."""
    with Board(port) as board:
        board.soft_reset()
        present = _hashes(board)
    if present != hashes:
        wrong = sorted(path for path in hashes | present if present.get(path) != hashes.get(path))
        raise BoardError(
            f"files in the ROM of {port} differ from those sent; deploy again: {', '.join(wrong)}"
        )


def _hashes(board: Board) -> dict[str, bytes]:
    return {path: _hash(board, path) for path in _list(board, _room(board))}


def _hash(board: Board, path: str) -> bytes:
    digest: bytes = board.ask(_HASH.format(path=path), timeout=_HASH_TIMEOUT_S, kind=bytes)
    return digest


def _ask_zero(board: Board, code: str) -> None:
    answer = board.ask(code, timeout=_HASH_TIMEOUT_S)
    if answer != 0:
        _fail(board, answer)


def _fail(board: Board, answer: object) -> NoReturn:
    raise BoardError(f"the board at {board.port} failed to write its ROM: error {answer!r:.100}")
