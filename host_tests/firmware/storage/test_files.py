# SPDX-License-Identifier: MIT
"""Tests the disk of / and the ROM file system."""

import errno
import hashlib
import random

import pytest
from ethosu_tools.base.errors import RemoteError

from host_tests.kit import firmware_image, ram_disk
from host_tests.kit.board_models import raised, restart

# The device that / is on.
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
    restart(board)
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


def test_a_corrupt_disk_is_reformatted(board):
    board.write_file("lost", b"soon")
    board.exec(
        DISK
        + """
disk.writeblocks(0, b"\\xa5" * 4096)
disk.writeblocks(1, b"\\x5a" * 4096)
"""
    )
    board.soft_reset()
    assert "lost" not in board.eval("__import__('os').listdir('/')")
    board.exec("open('works', 'w').write('yes')")


def test_a_full_disk_is_reported(board):
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
def test_accesses_beyond_the_disk_are_rejected(board, access):
    """A file system gets a negative errno for an access beyond the disk."""
    board.exec(DISK + "count, size = disk.ioctl(4, 0), disk.ioctl(5, 0)")
    assert board.eval(access) == -errno.EINVAL


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("1", 1),
        ("2, 1", -22),
        ("3, 0, 1 << 30", "an image of 1073741824 bytes, expected 1 to "),
        ("3, 0", "an image of 0 bytes, expected 1 to "),
        ("4, 0, 0, b'x'", "no image is being written"),
        ("4, 0, 0", "no image is being written"),
        ("5, 0", "no image is being written"),
        ("258, 0, 4096, 4096", "no image is being written"),
        ("9, 0", -22),
        ("3, 1, 4", -22),
    ],
)
def test_rom_ioctl_refuses_what_it_cannot_do(board, arguments, expected):
    """rom_ioctl returns errors for wrong requests; a read-only ROM is reported first."""
    call = f"__import__('vfs').rom_ioctl({arguments})"
    if isinstance(expected, int):
        assert board.eval(call) == expected
        return
    writes = firmware_image.of().writes_rom
    said = rf"Errno {errno.EINVAL}\] .*{expected}" if writes else rf"Errno {errno.EROFS}\]"
    with pytest.raises(RemoteError, match=said):
        board.eval(call)


@pytest.fixture
def rom(board, writable_rom):
    """Return the board, with functions that deploy an image of one file and read the file back."""
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


def test_an_interrupted_deploy_leaves_the_old_image(rom):
    assert rom.eval("ioctl(256, 0, 12)") == 1
    assert rom.eval("(ioctl(3, 0, 12), found())") == (4, b"an")
    assert rom.eval("(ioctl(4, 0, 0, image(b'us')), found())") == (0, b"an")
    assert rom.eval("(ioctl(5, 0), found())") == (0, b"us")
    assert raised(rom, "ioctl(4, 0, 0, b'late')").startswith("OSError 22 no image")
    assert rom.eval("found()") == b"us"


def test_a_deploy_must_be_sequential(rom):
    """A deploy with a gap or a repeated write raises, because flash can be written only once;
    mpremote ignores the return value."""
    assert rom.eval("(ioctl(3, 0, 600), ioctl(4, 0, 0, bytes(400)))") == (4, 0)
    for offset in (399, 401):
        said = f"OSError 22 image data for byte {offset}, expected byte 400"
        assert raised(rom, f"ioctl(4, 0, {offset}, b'no')") == said
    assert rom.eval("ioctl(4, 0, 400, bytes(196))") == 0
    said = "OSError 22 received 596 bytes of the image, expected 600"
    assert raised(rom, "ioctl(5, 0)") == said
    assert rom.eval("found()") == b"an"
    assert rom.eval("(ioctl(4, 0, 596, b'over the end'), ioctl(5, 0))") == (0, 0)


@pytest.mark.parametrize(
    ("offset", "size"),
    [("0", "unit"), ("100", "unit"), ("unit", "unit - 4"), ("unit", "3 * unit"), ("unit", "-unit"),
     ("unit", "1 << 31")],
)  # fmt: skip
def test_kept_parts_of_an_image_are_whole_units(rom, offset, size):
    rom.exec("unit = 65536\nioctl(3, 0, 2 * unit + 8)")
    rom.exec(f"ioctl(4, 0, 0, bytes({offset}))")
    assert raised(rom, f"ioctl(258, 0, {offset}, {size})").startswith(("OSError 22", "Overflow"))
    rom.exec("ioctl(3, 0, 2 * unit + 8)\nioctl(4, 0, 0, bytes(unit))")
    assert rom.eval("(ioctl(258, 0, unit, unit), ioctl(258, 0, 2 * unit, 8))") == (0, 0)


def test_a_soft_reset_ends_a_deploy(rom):
    rom.exec("ioctl(3, 0, 12), ioctl(4, 0, 0, image(b'us')[:6])")
    rom.soft_reset()
    rom.exec("import vfs")
    for late in ("5, 0", "4, 0, 6, b'late'"):
        assert raised(rom, f"vfs.rom_ioctl({late})").startswith("OSError 22 no image")
    assert rom.eval("open('/rom/f', 'rb').read()") == b"an"


def test_data_at_the_end_of_the_largest_image_is_not_taken_for_a_journal(rom):
    """Image data that looks like the record of an interrupted deploy must not move the image."""
    assert raised(rom, "ioctl(3, 0, len(ioctl(2, 0)) + 1)").startswith("OSError 22 an image")
    rom.exec("""
import binascii, struct
size = len(ioctl(2, 0))
place, magic = size // 2 & -256, 0x45564F4D
record = struct.pack("<3I", magic, place, 64)
record += struct.pack("<I", binascii.crc32(record))
ioctl(3, 0, size)
parts = (0, image(b"us")), (place, image(b"no")), (size - 16, record), (size, b"")
for (at, part), (end, _) in zip(parts, parts[1:]):
    ioctl(4, 0, at, part)
    for gap in range(at + len(part), end, 4096):
        ioctl(4, 0, gap, bytes(min(4096, end - gap)))
ioctl(5, 0)
""")
    assert rom.eval("(bytes(ioctl(2, 0)[-16:]) == record, found())") == (True, b"us")


def test_an_interrupted_deploy_without_room_for_both_leaves_none(rom):
    size = rom.eval("len(ioctl(2, 0))") * 9 // 16
    assert rom.eval(f"ioctl(256, 0, {size})") == 0
    assert rom.eval(f"(ioctl(3, 0, {size}), found())") == (4, None)
    assert rom.eval("(ioctl(4, 0, 0, image(b'us')[:6]), found())") == (0, None)
    assert rom.eval("(ioctl(4, 0, 6, image(b'us')[6:] + bytes(8180)), found())") == (0, None)
    assert rom.eval(f"(ioctl(258, 0, 8192, {size} - 8192), found())") == (0, None)
    assert rom.eval("(ioctl(5, 0), found())") == (0, b"us")
