# SPDX-License-Identifier: MIT
"""Keeps tests off a real board's flash by putting their files on a RAM disk."""

from ethosu_tools.link.board import Board

BLOCK_BYTES = 512
BLOCKS = 4096  # fewer if they exceed a third of the heap

# This project's firmware has its root on machine.Flash if the board has one, else on
# machine.RAMDisk. Over flash, and elsewhere, a RAM disk becomes the root until the next soft reset.
_MOUNT = f"""
import machine, vfs
try: flash = bool(machine.Flash())
except (AttributeError, OSError): flash = not hasattr(machine, "RAMDisk")
if {{anyway}} or flash:
    import gc
    gc.collect()
    class RamDisk:
        def __init__(self):
            self.data = bytearray({BLOCK_BYTES} * min({BLOCKS}, gc.mem_free() // {3 * BLOCK_BYTES}))
        def readblocks(self, number, buffer, offset=0):
            start = number * {BLOCK_BYTES} + offset
            buffer[:] = memoryview(self.data)[start:start + len(buffer)]
        def writeblocks(self, number, buffer, offset=0):
            start = number * {BLOCK_BYTES} + offset
            self.data[start:start + len(buffer)] = buffer
        def ioctl(self, operation, argument):
            if operation == 4: return len(self.data) // {BLOCK_BYTES}
            if operation == 5: return {BLOCK_BYTES}
            if operation == 6: return 0
    disk = RamDisk()
    vfs.VfsLfs2.mkfs(disk)
    try: vfs.umount("/")
    except OSError: pass
    vfs.mount(vfs.VfsLfs2(disk), "/")
    del disk, RamDisk
del machine, vfs, flash
"""

# Files of earlier tests would fill up a small root; folders stay, because /rom is one.
_MAKE_ROOM = """
import os
state = os.statvfs("/")
if state[3] * 10 < state[2] * 9:
    for name, kind, *_ in os.ilistdir("/"):
        if kind == 0x8000: os.remove("/" + name)
    del name, kind, _
del os, state
"""


def make_room(board: Board) -> None:
    """Remove the files in the root if they take more than a tenth of it."""
    board.exec(_MAKE_ROOM)


def use(board: Board, *, anyway: bool = False) -> None:
    """Mount a RAM disk as root until the board's next soft reset, unless the root is in RAM."""
    board.exec(_MOUNT.format(anyway=anyway))
