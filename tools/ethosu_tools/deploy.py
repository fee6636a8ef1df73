# SPDX-License-Identifier: MIT
"""Puts a ROM file system on a board, by mpremote, and checks that it arrived."""

import hashlib
import subprocess
import sys

from .board import Board
from .errors import BoardError

TIMEOUT_S = 1800

_READ_BACK = """\
import vfs, hashlib
_h = hashlib.sha256()
_rom = memoryview(vfs.rom_ioctl(2, 0))
for _i in range(0, {size}, 4096):
    _h.update(_rom[_i:min(_i + 4096, {size})])
print(_h.digest().hex())
"""


def deploy_romfs(port: str, image_path: str, image: bytes) -> None:
    """Write an image to the board's first ROM partition and compare what lies there then."""
    command = [sys.executable, "-m", "mpremote", "connect", port, "romfs", "deploy", image_path]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise BoardError(f"mpremote did not finish within {TIMEOUT_S} s") from None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise BoardError(f"mpremote could not deploy to {port}: {lines[-1] if lines else '?'}")
    with Board(port) as board:
        found = board.exec(_READ_BACK.format(size=len(image)), timeout=60).strip()
    if found != hashlib.sha256(image).hexdigest():
        raise BoardError(f"what lies in the ROM of {port} is not what was sent; deploy again")
