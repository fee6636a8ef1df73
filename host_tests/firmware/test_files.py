# SPDX-License-Identifier: MIT
"""The disk of / and the ROM file system."""

import errno
import hashlib
import random

import firmware_image
import pytest
import ram_disk
from ethosu_tools.board import Board
from ethosu_tools.errors import RemoteError

# The device of /.
DISK = """
import machine
try: disk = machine.Flash()
except OSError: disk = machine.RAMDisk()
"""


def test_disk_keeps_bytes_over_resets(board):
    data = random.Random(1).randbytes(100_000)
    digest = hashlib.sha256(data).digest()
    board.write_file("kept.bin", data)
    board.soft_reset()
    assert board.file_hash("kept.bin") == digest
    Board.reset(board)  # by machine.reset(), on an emulated board too
    assert board.file_hash("kept.bin") == digest
    board.exec("import os; os.remove('kept.bin')")


def test_tests_write_to_ram_on_a_board_with_another_root(board):
    board.write_file("kept", b"flash")
    ram_disk.use(board, anyway=True)
    assert "kept" not in board.eval("__import__('os').listdir('/')")
    board.write_file("kept", bytes(100_000))
    assert board.read_file("kept") == bytes(100_000)
    board.soft_reset()
    assert board.read_file("kept") == b"flash"
    board.exec("import os; os.remove('kept')")


def test_disk_is_formatted_anew_when_it_is_garbage(board):
    board.exec(
        DISK
        + """
disk.writeblocks(0, b"\\xa5" * 4096)
disk.writeblocks(1, b"\\x5a" * 4096)
"""
    )
    board.soft_reset()
    assert "rom" not in board.eval("__import__('os').listdir('/')")
    board.exec("open('works', 'w').write('yes')")


def test_full_disk_says_so(board):
    with pytest.raises(RemoteError, match=r"ENOSPC|28"):
        board.exec("""
import os
chunk = bytes(65536)
try:
    with open("big", "wb") as f:
        while True:
            f.write(chunk)
finally:
    os.remove("big")
""")
    board.exec("open('works', 'w').write('yes')")


@pytest.mark.parametrize(
    "access",
    [
        "disk.readblocks(count, bytearray(512))",
        "disk.readblocks(-1, bytearray(512))",
        "disk.readblocks(count - 1, bytearray(512), size - 511)",
        "disk.readblocks(0, bytearray(512), -1)",
        "disk.readblocks(0x100000, bytearray(512))",
        "disk.writeblocks(count - 1, bytes(size + 1))",
    ],
)
def test_disk_keeps_to_its_bounds(board, access):
    with pytest.raises(RemoteError, match=r"EINVAL|OverflowError"):
        board.exec(DISK + f"count, size = disk.ioctl(4, 0), disk.ioctl(5, 0)\n{access}")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("1", 1),
        ("2, 1", -22),
        ("3, 0, 1 << 30", -22),
        ("3, 0", -22),
        ("4, 0, (1 << 24) + 1, b'x'", -22),
        ("4, 0, 0", -22),
        ("9, 0", -22),
        ("3, 1, 4", -22),
    ],
)
def test_rom_ioctl_refuses_what_it_cannot_do(board, arguments, expected):
    """A board that cannot write its ROM says that first of all that would write it."""
    call = f"__import__('vfs').rom_ioctl({arguments})"
    if arguments.startswith(("3, 0", "4, 0")) and not firmware_image.of().writes_rom:
        with pytest.raises(RemoteError, match=rf"\[Errno {errno.EROFS}\]"):
            board.eval(call)
        return
    assert board.eval(call) == expected


@pytest.fixture
def rom(board, writable_rom):
    """The board, with functions that deploy an image of one file, and read that file."""
    board.exec("""
import vfs
ioctl = vfs.rom_ioctl
def image(content):
    return b"\\xd2\\xcd\\x31\\x08\\x05\\x06\\x01f\\x02\\x02" + content
def found():
    try:
        return vfs.VfsRom(ioctl(2, 0)).open("f", "rb").read()
    except OSError:
        return None
ioctl(3, 0, 12), ioctl(4, 0, 0, image(b"an")), ioctl(5, 0)
""")
    assert board.eval("found()") == b"an"
    return board


def test_deploy_that_breaks_off_leaves_the_old_image(rom):
    assert rom.eval("ioctl(256, 0, 12)") == 1
    assert rom.eval("(ioctl(3, 0, 12), found())") == (4, b"an")
    assert rom.eval("(ioctl(4, 0, 0, image(b'us')), found())") == (0, b"an")
    assert rom.eval("(ioctl(5, 0), found())") == (0, b"us")
    assert rom.eval("(ioctl(4, 0, 0, b'late'), found())") == (-22, b"us")


def test_deploy_comes_in_order(rom):
    """Flash takes each place once."""
    assert rom.eval("(ioctl(3, 0, 600), ioctl(4, 0, 300, bytes(100)))") == (4, 0)
    assert rom.eval("(ioctl(4, 0, 399, b'late'), ioctl(4, 0, 400, bytes(200)))") == (-22, 0)


def test_deploy_ends_at_a_soft_reset(rom):
    rom.exec("ioctl(3, 0, 12), ioctl(4, 0, 0, image(b'us')[:6])")
    rom.soft_reset()
    rom.exec("import vfs")
    assert rom.eval("(vfs.rom_ioctl(5, 0), vfs.rom_ioctl(4, 0, 6, b'late'))") == (-22, -22)
    assert rom.eval("open('/rom/f', 'rb').read()") == b"an"


def test_data_at_the_end_of_the_largest_image_is_no_record(rom):
    """It names an image in the middle, as the record of a deploy that was cut off does."""
    assert rom.eval("ioctl(3, 0, len(ioctl(2, 0)) + 1)") == -22
    rom.exec("""
import binascii, struct
size = len(ioctl(2, 0))
place, magic = size // 2 & -256, 0x45564F4D
record = struct.pack("<3I", magic, place, 64)
record += struct.pack("<I", binascii.crc32(record))
ioctl(3, 0, size)
ioctl(4, 0, 0, image(b"us")), ioctl(4, 0, place, image(b"no")), ioctl(4, 0, size - 16, record)
ioctl(5, 0)
""")
    assert rom.eval("(bytes(ioctl(2, 0)[-16:]) == record, found())") == (True, b"us")


def test_deploy_without_room_for_both_that_breaks_off_leaves_none(rom):
    size = rom.eval("len(ioctl(2, 0))") * 9 // 16
    assert rom.eval(f"ioctl(256, 0, {size})") == 0
    assert rom.eval(f"(ioctl(3, 0, {size}), found())") == (4, None)
    assert rom.eval("(ioctl(4, 0, 0, image(b'us')[:6]), found())") == (0, None)
    assert rom.eval("(ioctl(4, 0, 6, image(b'us')[6:]), found())") == (0, None)
    assert rom.eval("(ioctl(5, 0), found())") == (0, b"us")
