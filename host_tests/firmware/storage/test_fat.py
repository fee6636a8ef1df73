# SPDX-License-Identifier: MIT
"""FAT, as on SD cards, works on a block device in Python and on the board's own devices."""

import pytest
from ethosu_tools.base.errors import RemoteError

# A card in RAM whose blocks can fail.
CARD = """
import errno, os, time, vfs
class Card:
    def __init__(self, blocks, size=512):
        self.data, self.size, self.bad = bytearray(blocks * size), size, None
    def check(self, block, kind):
        if self.bad and self.bad(block, kind): raise OSError(errno.EIO)
    def readblocks(self, block, buffer):
        self.check(block, "r")
        buffer[:] = memoryview(self.data)[block * self.size:][:len(buffer)]
    def writeblocks(self, block, buffer):
        self.check(block, "w")
        self.data[block * self.size:block * self.size + len(buffer)] = buffer
    def ioctl(self, operation, argument):
        if operation == 4: return len(self.data) // self.size
        if operation == 5: return self.size
        return 0
def put(path, content):
    with open(path, "wb") as file: file.write(content)
card = Card(128)
vfs.VfsFat.mkfs(card)
vfs.mount(card, "/sd")
"""
LONG = "/sd/a name that is much longer than eight characters, with spaces.text"


@pytest.fixture
def card(board):
    """Return a board with an empty card at /sd, until the next soft reset."""
    board.soft_reset()
    board.exec(CARD)
    yield board
    board.soft_reset()


def test_files_and_folders(card):
    card.exec(f"os.mkdir('/sd/folder'); put({LONG!r}, b'content')")
    assert card.eval(f"open({LONG!r}).read()") == "content"
    card.exec(f"os.rename({LONG!r}, '/sd/folder/SHORT.TXT')")
    assert card.eval("(os.listdir('/sd'), os.listdir('/sd/folder'))") == (["folder"], ["SHORT.TXT"])
    card.exec("os.chdir('/sd/folder')")
    assert card.eval("(os.getcwd(), os.stat('SHORT.TXT')[6])") == ("/sd/folder", 7)


def test_a_file_has_the_time_of_the_clock(card):
    card.exec("import machine; machine.RTC().datetime((2031, 2, 3, 0, 4, 5, 6, 0))")
    card.exec("open('/sd/now', 'w').close()")
    written = card.eval("time.gmtime(os.stat('/sd/now')[8])[:5]")
    assert written == (2031, 2, 3, 4, 5)
    card.exec("machine.RTC().datetime((1970, 1, 1, 0, 0, 0, 0, 0))")  # as after a start
    card.exec("open('/sd/then', 'w').close()")
    assert card.eval("time.gmtime(os.stat('/sd/then')[8])[:3]") == (1980, 1, 1)


def test_a_card_is_recognised_when_it_is_mounted_again(card):
    card.exec("put('/sd/kept', b'yes')\nvfs.umount('/sd')\nvfs.mount(card, '/again')")
    assert card.eval("open('/again/kept').read()") == "yes"
    assert "VfsFat" in card.eval("str([row for row in vfs.mount() if row[1] == '/again'])")


def test_a_device_of_the_board_can_be_fat(card):
    """FAT works on blocks of 4,096 bytes, as the board's devices have."""
    card.exec("big = Card(64, 4096)\nvfs.VfsFat.mkfs(big)\nvfs.mount(big, '/big')")
    card.exec("put('/big/file', bytes(range(256)) * 100)")
    assert card.eval("open('/big/file', 'rb').read() == bytes(range(256)) * 100")


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("open('/sd/missing')", "ENOENT"),
        ("os.mkdir('/sd/x'); os.mkdir('/sd/x')", "EEXIST"),
        ("put('/sd/full', bytes(100_000))", "ENOSPC"),
        ("vfs.mount(Card(64), '/empty')", "ENODEV"),
        ("vfs.umount('/sd'); card.bad = lambda *_: True; vfs.mount(card, '/sd')", "EIO"),
        ("open('/sd/a:b', 'w')", "EINVAL"),
    ],
    ids=["missing", "exists", "full", "no FAT", "read fails", "bad name"],
)
def test_errors(card, program, said):
    with pytest.raises(RemoteError, match=said):
        card.exec(program)


def test_a_card_works_after_an_error_has_passed(card):
    with pytest.raises(RemoteError, match="EIO"):
        card.exec("card.bad = lambda block, kind: kind == 'w'\nopen('/sd/new', 'w').close()")
    card.exec("card.bad = None\nput('/sd/other', b'works')")
    assert card.eval("open('/sd/other').read()") == "works"


def test_near_the_recursion_limit_nothing_overflows(card):
    """Near the recursion limit, long names on FAT raise RuntimeError, and overflow no stack."""
    card.exec(f"open({LONG!r}, 'w').close()")
    card.exec(f"def deep():\n    os.stat({LONG!r})\n    deep()")
    card.exec("try: deep()\nexcept RuntimeError: pass")
    assert card.eval("__import__('machine').reset_cause() != __import__('machine').FAULT_RESET")
