# SPDX-License-Identifier: MIT
"""A write to the disk that fails or is interrupted at any step is either complete or without
effect. Later writes and all other files stay intact, whatever the garbage collector finds."""

import random
from collections import Counter
from collections.abc import Iterator

import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

from host_tests.kit.board_models import raised as raises

# Flash with erasable pages, and MRAM written in lines of 16 bytes.
BOARDS = ["NUMAKER_M55M1", "ALIF_ENSEMBLE_E7-M55_HP"]
REFUSED = "nvm: injected fault fail"
STRIDES = [pytest.param(1, marks=pytest.mark.slow, id="every"), pytest.param(37, id="some")]

# Tries each operation on an unmounted file system `fs` while another file is open.
TRIAL = """
import emulator, gc, machine, vfs
sizes = {"readsize": 256, "progsize": 256, "lookahead": 256}

def write(name, turn, size=100):
    with fs.open(name, "wb") as file: file.write(bytes([turn]) * size)
def tree(of, path=""):
    found = {}
    for name, kind, *_ in of.ilistdir(path or "/"):
        name = path + "/" + name
        if kind == 0x4000:
            found[name] = None
            found.update(tree(of, name))
        else:
            with of.open(name, "rb") as file: content = file.read()
            found[name] = len(content), content[:1], content == content[:1] * len(content)
    return found

OPERATIONS = {
    "small": lambda: write("/b/f", 2),
    "large": lambda: write("/b/large", 2, 3000),
    "new": lambda: write("/b/a", 2),
    "rename": lambda: fs.rename("/b/f", "/b/a"),
    "replace": lambda: fs.rename("/b/f", "/b/z"),
    "move": lambda: fs.rename("/a/f", "/b/a"),
    "move over": lambda: fs.rename("/a/f", "/b/f"),
    "remove": lambda: fs.remove("/b/f"),
    "mkdir": lambda: fs.mkdir("/b/a"),
    "rmdir": lambda: fs.rmdir("/b/empty"),
}
def prepare():
    global fs
    vfs.VfsLfs2.mkfs(disk, **sizes)
    fs = vfs.VfsLfs2(disk, **sizes)
    for folder in ("/a", "/b", "/b/empty"): fs.mkdir(folder)
    for name in ("/a/f", "/b/f", "/b/log", "/b/z"): write(name, 1)
    write("/b/large", 1, 3000)
def created():
    # A new file has a name from open() on, and its content from close() on.
    return dict(old, **{"/b/a": (0, b"", True)}) if (new.get("/b/a") or [0])[0] else old
def expect(step, when, found, *allowed):
    if found not in allowed:
        differ = {name for tree in allowed for name in set(tree) | set(found)
                  if tree.get(name) != found.get(name)}
        raise AssertionError("%s %s: %s" % (step, when, [(n, found.get(n)) for n in differ]))
def run(operation):
    try: operation()
    except BaseException as error: return error

def begin(name):
    global operation, old, new
    operation = OPERATIONS[name]
    prepare()
    old = tree(fs)
    operation()
    new = tree(fs)
def trial(step):
    prepare()
    log = fs.open("/b/log", "ab")
    log.write(b"\\x01")
    arm(step)
    error = run(operation)
    fired = disarm()
    expect(step, "after " + repr(error), tree(fs), new, *([old, created()] if error else ()))
    if error and tree(fs) != new: operation()
    write("/other", step & 255)
    expected = dict(new)
    expected["/other"] = 100, bytes([step & 255]), True
    # Its place in the folder may be lost. Then it says so.
    lost = run(log.close)
    log = None
    assert not lost or error, (step, lost)
    if not lost: expected["/b/log"] = 101, b"\\x01", True
    gc.collect()
    expect(step, "closed", tree(fs), expected)
    expect(step, "reset", tree(vfs.VfsLfs2(disk, **sizes)), expected)
    return repr(error), fired
"""


@pytest.fixture(scope="module", params=BOARDS)
def board(request: pytest.FixtureRequest) -> Iterator[QemuBoard]:
    """A board without a file system."""
    with QemuBoard(Machine(emulated(request.param))) as board:
        board.exec(TRIAL)
        board.exec("vfs.umount('/')")
        yield board


NAMES = ["small", "large", "new", "rename", "replace", "move", "move over", "remove", "mkdir",
         "rmdir"]  # fmt: skip

STEPS = """
def arm(step): emulator.fault("nvm.fail", step)
def disarm(): emulator.fault("nvm.fail", 0)
"""

# A Python device in front of the disk, whose methods fail before or after they have taken effect.
DEVICE = """
class Device:
    left = 0
    def __init__(self, disk): self.disk = disk
    def fail(self): {statement}
    def call(self, counted, method, *arguments):
        fails = False
        if self.left and counted:
            self.left -= 1
            fails = self.fired = self.left == 0
            self.left += fails and self.dead
        if fails and not self.after: return self.fail()
        status = method(*arguments)
        return self.fail() if fails else status
    def readblocks(self, *arguments):
        return self.call(self.reads, self.disk.readblocks, *arguments)
    def writeblocks(self, *arguments):
        return self.call(not self.reads, self.disk.writeblocks, *arguments)
    def ioctl(self, *arguments):
        if arguments[0] == 4: return self.blocks
        return self.call(arguments[0] == 6 and not self.reads, self.disk.ioctl, *arguments)
def arm(step): disk.fired, disk.left = False, step
def disarm():
    disk.left = 0
    return disk.fired
"""


def sweep(board: QemuBoard, name: str, stride: int) -> Counter[str]:
    """Fail at steps with this average distance; returns a count of each exception."""
    draws = random.Random(stride)
    raised: Counter[str] = Counter()
    step = 1
    board.exec(f"begin({name!r})")
    while True:
        log = len(board.machine.log())
        error, fired = board.eval(f"trial({step})")
        if not fired and REFUSED not in board.machine.log()[log:]:
            assert error == "None"
            return raised
        raised[error] += 1
        step += draws.randint(1, 2 * stride - 1)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("stride", STRIDES)
def test_a_refused_step_is_made_elsewhere(board, name, stride):
    board.exec(STEPS + "disk = machine.Flash()")
    assert set(sweep(board, name, stride)) == {"None"}


def test_a_step_that_is_lost_is_noticed(board):
    """The firmware reads back erased and written data, so it notices a device that lies."""
    board.exec("disk = machine.Flash()\ndisk.writeblocks(5, bytes(8192))\nlost = []")
    board.exec("for call in (disk.ioctl, 6, 5), (disk.writeblocks, 5, b'\\x55' * 256, 0):\n"
               "    emulator.fault('nvm.lost', 1)\n    lost.append(call[0](*call[1:]))\n"
               "emulator.fault('nvm.lost', 0)")  # fmt: skip
    erases = board.machine.board.name == BOARDS[0]
    assert board.eval("lost") == [-5 if erases else 0, -5]


# The device's failures, and the exceptions that operations raise. A bad block is replaced. A dead
# device still reports its size.
FAILURES = {
    "bad block": ("return -5", {"None"}),
    "dead": ("return -5", {"OSError(5,)"}),
    "busy": ("return -16", {"OSError(16,)"}),
    "wrong": ("return 'x'", {"OSError(22,)", 'TypeError("can\'t convert str to int",)'}),
    "raises": ("raise ValueError(5)", {"ValueError(5,)"}),
    "raises after": ("raise ValueError(5)", {"ValueError(5,)"}),
    "raises reads": ("raise ValueError(5)", {"ValueError(5,)"}),
    "interrupted": ("raise KeyboardInterrupt", {"KeyboardInterrupt()"}),
}


ONE = pytest.mark.parametrize("board", BOARDS[:1], indirect=True)


def use_device(board: QemuBoard, disk: str, failure: str) -> None:
    board.exec(DEVICE.format(statement=FAILURES[failure][0]))
    board.exec(f"Device.dead, Device.after = {failure == 'dead'}, {'after' in failure}")
    board.exec(f"Device.reads, Device.blocks = {'reads' in failure}, 24")
    board.exec(f"disk = Device(machine.{disk}())")


@ONE
@pytest.mark.parametrize("failure", FAILURES)
def test_what_a_device_in_python_raises_passes_by_littlefs(board, failure):
    use_device(board, "RAMDisk", failure)
    raised: Counter[str] = Counter()
    first = list(FAILURES).index(failure)
    for name in NAMES[first % 3 :: 3]:
        raised += sweep(board, name, 16 if "reads" in failure else 2)
    assert raised and set(raised) <= FAILURES[failure][1]


@ONE
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("disk", ["RAMDisk", "Flash"])
def test_every_call_of_a_device_in_python(board, disk, failure, name):
    use_device(board, disk, failure)
    raised = sweep(board, name, 1)
    assert raised and set(raised) <= FAILURES[failure][1]


@ONE
@pytest.mark.parametrize("failure", ["bad block", "raises after"])
@pytest.mark.parametrize(("name", "blocks"), [("large", 10), ("move over", 9), ("mkdir", 11)])
def test_a_disk_that_is_nearly_full(board, failure, name, blocks):
    """A failure on a nearly full disk is handled; with one block less, the error is ENOSPC."""
    use_device(board, "RAMDisk", failure)
    board.exec(f"Device.blocks = {blocks}")
    raised = sweep(board, name, 1)
    assert raised and set(raised) <= FAILURES[failure][1] | {"OSError(5,)"}
    if name != "move over":
        board.exec(f"Device.blocks = {blocks - 1}\ndef full(): begin({name!r})")
        assert raises(board, "full()").startswith("OSError 28")


# Each line of the module increments a count, because a prefix of the file is valid, too.
IMPORT = """
import sys
disk.fired = False
begin("small")
with fs.open("counts.py", "wb") as file:
    file.write(b"lines = 0\\n" + b"lines += 1\\n" * 300)
vfs.mount(fs, "/device")
sys.path.insert(0, "/device")
def load(step):
    sys.modules.pop("counts", None)
    arm(step)
    error = run(lambda: __import__("counts"))
    lines = sys.modules["counts"].lines if "counts" in sys.modules else None
    return repr(error), disarm(), lines
"""


@ONE
def test_a_module_that_cannot_be_read_to_its_end_does_not_run(board):
    """A read error must not end the file early: MicroPython would run the part before it."""
    use_device(board, "RAMDisk", "raises reads")
    board.exec(IMPORT)
    results = [board.eval(f"load({step})") for step in range(1, 80, 3)]
    assert set(results) == {("ValueError(5,)", True, None), ("None", False, 300)}
    board.exec("vfs.umount('/device')\nsys.path.pop(0)")
