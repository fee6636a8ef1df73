# SPDX-License-Identifier: MIT
"""Imports are cheap, because disk_names.c knows without littlefs which names exist."""

import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

from host_tests.kit import found

# Does random operations on a few names per folder, then looks each name up in all ways and compares
# with the folders' lists. With a hash of 8 bits, each of these names collides with another.
EVERY_NAME = """
import os, random, vfs
names = ["", "lib/", "lib/sub/", "other/"]
names = [folder + "n%d" % i for folder in names for i in range(25)] + ["lib", "lib/sub", "other"]
def listed(folder):
    try: return set(os.listdir(folder))
    except OSError: return set()
def exists(path):
    try: os.stat(path)
    except OSError as error:
        assert error.errno in (2, 20), error
        return False
    return True
def compare():
    there = {}
    for name in names:
        folder, _, last = ("/" + name).rpartition("/")
        if folder not in there: there[folder] = listed(folder or "/")
        for path in ("/" + name, name, "//" + name, "./" + name, "lib/../" + name):
            if path[:2] == "li" and not exists("/lib"): continue
            if exists(path) != (last in there[folder]): wrong.append((path, there[folder]))
def one():
    name = random.choice(names)
    kind = random.randint(0, 5)
    try:
        if kind < 2: open(name, "w").write("x" * random.randint(0, 600))
        elif kind == 2: os.mkdir(name)
        elif kind == 3: os.rename(name, random.choice(names))
        else: os.remove(name)
    except OSError: pass
wrong = []
random.seed({seed})
for _ in range(12):
    for _ in range(10): one()
    compare()
"""

# Mounts a device written in Python, which gets reads and writes instead of the board's disk.
OTHER_DEVICE = """
class Device:
    def __init__(self): self.data = bytearray(64 * 512)
    def readblocks(self, block, buffer, offset=0):
        at = block * 512 + offset
        buffer[:] = self.data[at:at + len(buffer)]
    def writeblocks(self, block, buffer, offset=None):
        at = block * 512 + (offset or 0)
        self.data[at:at + len(buffer)] = buffer
    def ioctl(self, command, argument):
        return {4: 64, 5: 512, 6: 0}.get(command)
"""


@pytest.fixture(scope="module")
def fresh(emulator_only, board_npu):
    """Return a board with an empty disk."""
    with QemuBoard(Machine(emulated(npu=board_npu))) as board:
        yield board


def cost(board, statement):
    """Count a statement's instructions, the first time after a soft reset."""
    board.soft_reset()
    board.exec(
        "import emulator\n"
        "def of():\n"
        "    start = emulator.instructions()\n"
        "    pass\n"
        "    return emulator.instructions() - start\n"
        "def it():\n"
        "    start = emulator.instructions()\n"
        f"    {statement}\n"
        "    return emulator.instructions() - start\n"
        "nothing = of()\n"
    )
    return board.eval("it() - nothing")


@pytest.mark.on_board
@pytest.mark.parametrize(
    ("statement", "limit"),
    [
        ("import array", 20_000),
        *(row for each in found.modules("board_rows") for row in each.IMPORTS),
    ],
)
def test_an_import_is_cheap(fresh, record_property, statement, limit):
    """An import costs few instructions, since only what a program uses is imported."""
    count = cost(fresh, statement)
    record_property(statement, count)
    print(f"{statement}: {count} instructions")
    assert 1_000 < count <= limit


@pytest.mark.parametrize("seed", range(3))
def test_every_name_is_found_if_and_only_if_it_is_listed(fresh, seed):
    fresh.exec("import vfs, machine\nvfs.umount('/')\nd = machine.RAMDisk()")
    fresh.exec("vfs.VfsLfs2.mkfs(d)\nvfs.mount(vfs.VfsLfs2(d), '/')")
    fresh.exec(EVERY_NAME.replace("{seed}", str(seed)))
    assert fresh.eval("wrong[:3]") == []
    assert fresh.eval("len(os.listdir('/')) > 3")
    fresh.exec("os.chdir('/')")


def test_names_of_a_folder_are_relative_to_it(fresh):
    fresh.exec(
        "import os\ntry: os.mkdir('/here')\nexcept OSError: pass\n"
        "with open('/here/module_there.py', 'w') as file: file.write('x = 5')\nos.chdir('/here')\n"
        "import module_there\nos.chdir('/')\n"
    )
    assert fresh.eval("module_there.x") == 5


def test_another_device_at_the_root_has_its_own_names(fresh):
    """Another device at / has its own names, and the board's disk gets its names back after it."""
    fresh.soft_reset()
    fresh.exec("import os, vfs, machine\nopen('on_disk', 'w').close()\nos.stat('on_disk')")
    fresh.exec(
        "try: disk = machine.Flash()\nexcept OSError: disk = machine.RAMDisk()  # as _boot.py\n"
    )
    fresh.exec(OTHER_DEVICE)
    fresh.exec(
        "def has(name):\n"
        "    try: os.stat(name)\n"
        "    except OSError: return False\n"
        "    return True\n"
        "seen = [has('on_disk'), has('in_python')]\n"
        "device = Device()\nvfs.VfsLfs2.mkfs(device)\nvfs.umount('/')\n"
        "vfs.mount(vfs.VfsLfs2(device), '/')\n"
        "seen += [has('on_disk'), has('in_python')]\n"
        "open('in_python', 'w').close()\n"
        "seen += [has('on_disk'), has('in_python')]\n"
        "vfs.umount('/')\nvfs.mount(vfs.VfsLfs2(disk), '/')\n"
        "seen += [has('on_disk'), has('in_python')]\n"
    )
    assert fresh.eval("seen") == [True, False, False, False, False, True, True, False]
