# SPDX-License-Identifier: MIT
"""After a power failure or memory error at any step of an erase or write, all files are either old
or new."""

import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest
from ethosu_tools.base.deadline import Deadline
from ethosu_tools.base.errors import BoardError
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import Board, QemuBoard
from ethosu_tools.link.deploy import deploy
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import romfs

# Flash with erasable pages, and MRAM written in lines of 16 bytes.
BOARDS = ["NUMAKER_M55M1", "ALIF_ENSEMBLE_E7-M55_HP"]
CUT, REFUSED = "nvm: injected fault cut", "nvm: injected fault fail"
ONE, TWO = ({"f": random.Random(seed).randbytes(700)} for seed in (1, 2))
IMAGES = {content["f"]: romfs.build(content) for content in (ONE, TWO)}

# An image of `size` bytes; data after its files and their last unit is preserved.
DEPLOY = """
import emulator, machine, os, uctypes, vfs
emulator.fault("nvm.fail", 0)
ioctl = vfs.rom_ioctl
def deploy(image, size):
    size = size or len(image)
    image += bytes(min(-len(image) % 8192, size - len(image)))
    assert (ioctl(3, 0, size), ioctl(4, 0, 0, image)) == (4, 0)
    if size > len(image): assert ioctl(258, 0, len(image), size - len(image)) == 0
    assert ioctl(5, 0) == 0
def found():
    if ioctl(2, 0) == -19:
        return None
    try:
        with vfs.VfsRom(ioctl(2, 0)).open("f", "rb") as file: return file.read()
    except OSError:
        return None
"""


@pytest.fixture(scope="module", params=BOARDS)
def board(request: pytest.FixtureRequest) -> Iterator[QemuBoard]:
    """A board whose memory contents survive a power cycle."""
    with QemuBoard(Machine(emulated(request.param))) as board:
        board.exec(DEPLOY)
        yield board


def cut(board: QemuBoard, step: int, code: str, again: int = 0, fail: int = 0) -> bool:
    """Run code until the power fails in this step; False if it has fewer steps."""
    before = len(board.machine.log())
    faults = {"seed": step, "cut-again": again, "cut": step, "fail": fail}
    board.start(
        "import emulator, sys\nsys.stdin.read(1)\n"  # waits for the host
        + "".join(f"emulator.fault('nvm.{name}', {count})\n" for name, count in faults.items())
        + f"{code}\nemulator.fault('nvm.cut', 0)\nemulator.log('whole')"
    )
    board.inject(b"x")
    said = wait_for_log(board.machine, before, CUT, "whole")
    board.reconnect()
    board.exec(DEPLOY)
    return CUT in said


def wait_for_log(machine: Machine, start: int, *words: str) -> str:
    """Return the log from `start` on, as soon as it contains one of these words."""
    deadline = Deadline(60, machine.process)
    while not any(word in machine.log()[start:] for word in words):
        assert not deadline.expired(), machine.log()
        time.sleep(0.01)
    return machine.log()[start:]


def restart(board: QemuBoard) -> None:
    """A soft reset that may end in a power cut, after which no raw REPL answers."""
    board.inject(b"\x04")  # Ctrl-D
    board.reconnect()
    assert board.eval("'deploy' not in globals()")
    board.exec(DEPLOY)


def sweep(run: Callable[[int], bool], stride: int) -> None:
    """Cut the power at steps with this average distance, until no steps are left."""
    draws = random.Random(stride)
    step, steps = 1, 0
    while run(step):
        step += draws.randint(1, 2 * stride - 1)
        steps += 1
    assert steps > 4


STRIDES = [pytest.param(1, marks=pytest.mark.slow, id="every"), pytest.param(23, id="some")]


def other(content: bytes | None) -> bytes:
    """Return the other image."""
    return TWO["f"] if content == ONE["f"] else ONE["f"]


def sweep_deploys(board: QemuBoard, stride: int, size: int, ends: set[bytes | None]) -> None:
    """Deploy the two images in turn; an interrupted deploy leaves either, or one of `ends`."""
    board.exec(f"deploy({IMAGES[ONE['f']]!r}, {size})")
    seen = set()

    def run(step: int) -> bool:
        old = board.eval("found()")
        new = other(old)
        code = f"deploy({IMAGES[new]!r}, {size})"
        # A step of the move is refused at the start after the power cut.
        is_cut = cut(board, step, code, again=step % 5, fail=step + 1 + step % 3)
        moved = board.eval("found()")
        assert moved in {None, old, new} | ends, step
        restart(board)
        left = board.eval("found()")
        assert moved in (None, left), step
        assert left in ({old, new} | ends if is_cut else {new}), step
        seen.add((left == new, left == old))
        return is_cut

    sweep(run, stride)
    assert len(seen) >= 2


# An image whose move has failed is moved at the next start, not under a running program.
REFUSE = """
start = uctypes.bytearray_at(uctypes.addressof(ioctl(2, 0)), 2048)
emulator.fault("nvm.fail", {step})
try:
    deploy({image!r}, 0)
    error = None
except OSError as raised:
    error = raised.errno
emulator.fault("nvm.fail", 0)
left, moved = bytes(start), found()
mounted = "rom" in os.listdir("/")
for request in (1,), (2, 0), (256, 0, 999), (257, 0, 999), (6, 0):
    try: ioctl(*request)
    except OSError: pass
same = bytes(start) == left
"""


@pytest.mark.parametrize("stride", STRIDES)
def test_a_refused_step_leaves_the_old_or_the_new_image(board, stride):
    """A refused step raises; a half-moved image is not mounted, and reads change nothing."""
    board.exec(f"deploy({IMAGES[ONE['f']]!r}, 0)")
    seen = set()

    def run(step: int) -> bool:
        old = board.eval("found()")
        new = other(old)
        log = len(board.machine.log())
        board.exec(REFUSE.format(step=step, image=IMAGES[new]))
        is_refused = REFUSED in board.machine.log()[log:]
        error, moved, mounted = board.eval("(error, moved, mounted)")
        assert error in (None, 5) and is_refused >= (error == 5), step
        assert board.eval("same"), step
        assert moved in ({new} if error is None else {old, None}), step
        assert moved is not None or not mounted, step
        board.soft_reset()
        board.exec(DEPLOY)
        left = board.eval("found()")
        assert left in ({new} if error is None else {old, new}), step
        seen.add((error, moved is None, left == new))
        return is_refused

    sweep(run, stride)
    assert {(5, False, False), (5, True, True), (None, False, True)} <= seen


def test_an_image_that_cannot_be_moved_can_be_replaced(board):
    """A partial image is never mounted, whichever step is refused, and can be replaced."""
    one, two = (romfs.build(content) for content in (ONE, TWO))
    for step in (0, 1, 2, 20, 40):
        board.exec(f"deploy({one!r}, 0)")
        board.exec(REFUSE.format(step=140, image=two))
        assert board.eval("(error, found())") == (5, None)
        board.exec(f"emulator.fault('nvm.fail', {step})\ntry: ioctl(3, 0, 1)\nexcept OSError: pass")
        board.soft_reset()
        board.exec(DEPLOY)
        assert board.eval("found()") in ((None,) if step == 0 else (None, TWO["f"])), step
        assert board.eval("len(ioctl(2, 0))") > 0, step
    board.exec(f"deploy({one!r}, 0)")
    board.exec(REFUSE.format(step=140, image=two))
    board.exec(f"deploy({one!r}, 0)")
    assert board.eval("found()") == ONE["f"]
    board.soft_reset()
    board.exec(DEPLOY)
    assert board.eval("found()") == ONE["f"]


@pytest.mark.parametrize("stride", STRIDES)
def test_a_deploy_leaves_the_old_or_the_new_image(board, stride):
    sweep_deploys(board, stride, 0, set())


@pytest.mark.parametrize("stride", STRIDES)
def test_a_deploy_without_room_for_both_leaves_one_or_none(board, stride):
    size = board.eval("len(ioctl(2, 0))") * 9 // 16
    sweep_deploys(board, 4 * stride, size, {None})


@pytest.mark.parametrize("name", BOARDS)
def test_an_interrupted_deploy_is_repeated(name, monkeypatch):
    """After power cuts, a deploy fails with an error, and works when it is repeated."""
    monkeypatch.setattr(f"{deploy.__module__}._HASH_TIMEOUT_S", 1.0)
    with Machine(emulated(name)) as machine:
        deploy(machine.port, ONE)
        for step in (40, 150):
            with Board(machine.port) as board:
                board.exec(f"import emulator\nemulator.fault('nvm.cut', {step})")
            with pytest.raises(BoardError):
                deploy(machine.port, TWO)
            with Board(machine.port) as board:
                board.exec(DEPLOY)
                assert board.eval("found()") in (ONE["f"], TWO["f"])
        assert machine.log().count(CUT) == 2
        deploy(machine.port, TWO)  # compares the files found by a fresh interpreter


@pytest.mark.parametrize("name", BOARDS)
def test_a_failed_write_reports_which_files_are_left(name, tmp_path):
    """The errors of deploy() and mpremote tell which image is left after a failed write."""
    image = tmp_path / "rom.img"
    image.write_bytes(romfs.build(TWO))
    words = "write to the memory of the ROM file system failed"
    with Machine(emulated(name)) as machine:

        def refuse(step: int) -> None:
            deploy(machine.port, ONE)
            with Board(machine.port) as board:
                board.exec(f"import emulator\nemulator.fault('nvm.fail', {step})")

        # Steps to send the image, write the record and move the image: 64, 32 and 48 lines of MRAM,
        # or 97, 33 and 97 steps of the flash controller.
        for step, left in (
            (2, "still has the old files; deploy again"),
            (120, "has the new files"),
        ):
            refuse(step)
            with pytest.raises(BoardError, match=f"{words}.*; /rom {left}"):
                deploy(machine.port, TWO)
        refuse(120)
        command = f"-m mpremote connect {machine.port} romfs deploy {image}".split()
        done = subprocess.run([sys.executable, *command], capture_output=True, text=True)
        assert done.returncode != 0 and words in done.stdout + done.stderr


# Each file is closed before the next one is started, as shown by the log, which needs no power.
WRITE = """
for number in range(6):
    with open("f%d" % number, "wb") as file: file.write(bytes([{turn}]) * 3000)
    emulator.log("closed %d of {turn}" % number)
"""
READ = """
held = []
for number in range(6):
    try:
        with open("f%d" % number, "rb") as file: content = file.read()
        assert content in (b"", content[:1] * 3000)
        held.append(content[0] if content else 0)
    except OSError: held.append(0)
"""


@pytest.mark.parametrize("stride", STRIDES)
def test_closed_files_survive_a_power_cut(board, stride):
    """A power cut during a write keeps closed files."""
    turn, old = 0, [0] * 6

    def run(step: int) -> bool:
        nonlocal turn, old
        turn = turn % 255 + 1
        log = len(board.machine.log())
        is_cut = cut(board, step, WRITE.format(turn=turn))
        closed = board.machine.log()[log:].count("closed ")
        board.exec(READ)
        held = board.eval("held")
        assert held[:closed] == [turn] * closed, step
        assert all(now in (turn, before) for now, before in zip(held, old, strict=True)), step
        old = held
        return is_cut

    board.exec("import os\nfor name in os.listdir('/'):\n    if name[0] == 'f': os.remove(name)")
    sweep(run, stride * 4)
