# SPDX-License-Identifier: MIT
"""The archive of a board in a release: what is flashed, and where it goes.

`tools/setup/release/release.py` makes it, `ethosu flash BOARD --firmware ARCHIVE` reads it.
`firmware.elf` is the firmware, `rom.img` the ROM file system, and `firmware.bin` both.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from ...base.errors import InputError
from ...base.files import read_whole, unpack
from ...boards.facts import BoardFacts

SUFFIX = ".zip"
CONTENTS, ELF, BIN, ROM = "board.json", "firmware.elf", "firmware.bin", "rom.img"
_ERASED = b"\xff"


def joined(board: BoardFacts, firmware: bytes, rom: bytes) -> bytes:
    """Join a firmware.bin and a ROM file system, which begins at its place in the board's flash.

    If there is one in `firmware` already, the new one replaces it.
    """
    room = board.romfs.start - board.regions["VECTORS"].start
    return firmware[:room].ljust(room, _ERASED) + rom


def pack(board: BoardFacts, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Add the list of these files: checksums, and addresses of what is written as it is."""
    addresses = {ROM: board.romfs.start}
    if BIN in files:
        addresses[BIN] = board.regions["VECTORS"].start
    rows = {
        name: {"sha256": _sha256(data)}
        | ({"address": f"{addresses[name]:#010x}"} if name in addresses else {})
        for name, data in files.items()
    }
    listed = json.dumps({"board": board.name, "files": rows}, indent=2)
    return {**files, CONTENTS: f"{listed}\n".encode()}


def read(path: Path, board: str) -> dict[str, bytes]:
    """Read an archive; raises InputError unless it is this board's and whole."""
    files = dict(unpack(read_whole(path)))
    try:
        contents = json.loads(files[CONTENTS])
        found, sums = contents["board"], {k: v["sha256"] for k, v in contents["files"].items()}
    except (LookupError, ValueError, TypeError, AttributeError):
        raise InputError(f"{path} is not a board's archive of a release") from None
    if found != board:
        raise InputError(f"{path} is for {found}, not for {board}")
    for name, expected in sums.items():
        if _sha256(files.get(name, b"")) != expected:
            raise InputError(f"{path} is damaged: {name} is not the file that was released")
    return files


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
