# SPDX-License-Identifier: MIT
"""`ethosu deploy`: existing files stay; an interruption leaves the old files or the new ones."""

import hashlib
import json
import os
import struct
import subprocess
import sys
import zlib
from typing import ClassVar

import pytest
from ethosu_tools import boards
from ethosu_tools.base import paths
from ethosu_tools.base.errors import BoardError, InputError, UsageError
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link import deploy as deploying
from ethosu_tools.link.board import Board
from ethosu_tools.link.deploy import deploy
from ethosu_tools.link.emulator import qemu
from ethosu_tools.model import romfs

from host_tests.firmware.patch import patched

OLD = {"a.txt": b"old a", "lib": {"m.py": b"x = 1\n", "deep": {"n": bytes(range(256)) * 40}}}
NEW = {"a.txt": os.urandom(9000), "b": b"", "lib": {"k.py": b"y = 2\n"}}
LIST = """
import os
def walk(folder):
    for name, kind, _, _ in os.ilistdir(folder):
        path = folder + '/' + name
        if kind & 0x4000:
            yield from walk(path)
        else:
            yield path[5:], _hashlib.sha256(open(path, 'rb').read()).digest()
_answer = dict(walk('/rom'))
"""


def flat(tree):
    """Return hashes of all files."""
    return {path: hashlib.sha256(data).digest() for path, data in romfs.files(tree)}


def found(port):
    """Return hashes of all files below /rom, as a program on the board sees them."""
    with Board(port) as board:
        board.soft_reset()
        return board.ask(LIST)


@pytest.fixture(scope="module")
def machine():
    with qemu.Machine() as machine:
        Board(machine.port).close()
        yield machine


@pytest.fixture
def board(machine):
    """Return an emulated board with the old files in its ROM."""
    machine.memory.write(machine.romfs.start, romfs.build(OLD))
    machine.memory.write(machine.romfs.end, bytes(16))
    return machine


def test_existing_files_stay_unless_replaced(board, ethosu, tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"new a")
    code, out, err = ethosu("deploy", path, "--on", board.port, "--json")
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert data["kept"] == ["lib/deep/n", "lib/m.py"] and data["removed"] == []
    assert found(board.port) == flat(OLD | {"a.txt": b"new a"})
    code, out, _ = ethosu("deploy", path, "--on", board.port, "--replace")
    assert f" bytes in /rom of the board at {board.port}\n" in out
    assert code == 0 and "removed    lib/deep/n, lib/m.py" in out
    assert found(board.port) == flat({"a.txt": b"new a"})


def test_a_file_replaces_a_folder_and_vice_versa(board):
    tree = {"lib": b"now a file", "a.txt": {"b": b"now a folder"}}
    assert deploy(board.port, tree).removed == ["a.txt", "lib/deep/n", "lib/m.py"]
    assert found(board.port) == flat(tree)


def test_kept_files_stay_where_the_npu_can_read_them(board):
    deploy(board.port, NEW)
    with Board(board.port) as handle:
        handle.exec("import uctypes")
        for path in flat(OLD) | flat(NEW):
            place = f"uctypes.addressof(memoryview(open('/rom/{path}', 'rb')))"
            assert path == "b" or handle.eval(place) % romfs.ALIGNMENT == 0


def test_programs_and_models_end_before_their_files_change(board):
    with Board(board.port) as handle:
        handle.exec("kept = open('/rom/a.txt', 'rb')")
    deploy(board.port, NEW)
    with Board(board.port) as handle:
        assert handle.eval("'kept' in globals()") is False


def count_of_steps(board, monkeypatch):
    """Count the requests of one deploy."""
    asked = []
    with monkeypatch.context() as patch:
        real = Board.ask
        patch.setattr(Board, "ask", lambda *args, **more: asked.append(1) or real(*args, **more))
        deploy(board.port, NEW)
    return range(len(asked))


class CutError(Exception):
    """The host disappears."""


def test_cut_at_any_request_leaves_the_old_files_or_the_new(board, monkeypatch):
    kept = flat(OLD) | flat(NEW)
    real = Board.ask
    states = []
    for last in count_of_steps(board, monkeypatch):
        board.memory.write(board.romfs.start, romfs.build(OLD))
        left = [last]

        def ask(*args, left=left, **more):
            left[0] -= 1
            if left[0] < 0:
                raise CutError
            return real(*args, **more)

        with monkeypatch.context() as patch, pytest.raises(CutError):
            patch.setattr(Board, "ask", ask)
            deploy(board.port, NEW)
        if last % 2:  # also cut the board's power
            board.reset()
        state = found(board.port)
        assert state in (flat(OLD), kept), last
        states.append(state == kept)
    assert states == sorted(states) and {True, False} == set(states)


def test_an_interrupted_deploy_is_resumed(board, monkeypatch):
    tree, sent = {"large": os.urandom(400_000)}, []
    real = Board.exchange

    def exchange(self, data, work, **more):
        sent.append(len(data))
        if cut and len(sent) == 5:
            raise CutError
        return real(self, data, work, **more)

    monkeypatch.setattr(Board, "exchange", exchange)
    cut = True
    with pytest.raises(CutError):
        deploy(board.port, tree)
    assert found(board.port) == flat(OLD)
    cut = False
    before = sum(sent[:-1])
    sent.clear()
    assert deploy(board.port, tree).sent == ["large"], "which compares all hashes at its end"
    # Existing contents remain, except the first part and the interrupted one.
    assert before >= 4 * 65_536 and sum(sent) <= 420_000 - (before - 2 * 65_536)


@pytest.mark.parametrize(
    ("words", "moved"),
    [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (4, 1), (4, 3), (4, 5000), (4, 1 << 20)],
)
def test_cut_in_the_last_step_leaves_the_old_files_or_the_new(board, words, moved):
    """A cut in the last step, after any word of record or image, leaves old or new files."""
    image = romfs.build(NEW)
    start = board.romfs.size - len(image) & -256  # a chunk of firmware/include/nvm.h
    magic = 0x45564F4D
    record = struct.pack("<3I", magic, start, len(image))
    record += struct.pack("<I", zlib.crc32(record))
    memory = board.memory
    memory.write(board.romfs.start + start, image)
    memory.write(board.romfs.end, record[: 4 * words])
    memory.write(board.romfs.start, image[:moved])
    board.reset()
    assert found(board.port) == flat(NEW if words == 4 else OLD)
    assert found(board.port) == flat(NEW if words == 4 else OLD)


def test_lack_of_room_for_both_is_reported_first(board, monkeypatch):
    monkeypatch.setattr(Board, "write_file", lambda *_: pytest.fail("something was written"))
    with pytest.raises(UsageError, match=r"no room for both the old files and .* add --force"):
        deploy(board.port, {"large": bytes(board.romfs.size * 9 // 16)}, replace=True)
    assert found(board.port) == flat(OLD)


def test_files_that_do_not_fit_are_named(board):
    """Files that do not fit are named, the largest first, and --replace only if it helps."""
    size = board.romfs.size
    large = {"a": bytes(9), "b": bytes(size - 99), "c": bytes(99), "d": bytes(999)}
    named = rf"/rom .* has {size:,}: b \({size - 99:,} bytes\), d \(999 bytes\), c \(99 bytes\), 1 "
    with pytest.raises(InputError, match=named + "smaller ones$"):
        deploy(board.port, large)
    helps = r"--replace removes lib/deep/n \(10,240 bytes\), lib/m.py \(6 bytes\), a\.txt"
    with pytest.raises(InputError, match=helps):
        deploy(board.port, {"b": bytes(size - 999)})
    assert found(board.port) == flat(OLD)


def test_force_writes_over_the_old_files_and_keeps_them(board, monkeypatch):
    monkeypatch.setattr(deploying, "_keeps_old", lambda *_: False)
    with pytest.raises(UsageError, match="--force"):
        deploy(board.port, NEW)
    assert deploy(board.port, NEW, force=True).kept == ["lib/deep/n", "lib/m.py"]
    assert found(board.port) == flat(OLD) | flat(NEW)


def test_a_corrupted_transfer_is_named(board, monkeypatch):
    real, content = deploying._write, b"Y" * 9000

    def damage(*arguments):
        real(*arguments)
        place = board.memory.read(board.romfs.start, 40_000).find(content)
        board.memory.write(board.romfs.start + place, b"X")

    monkeypatch.setattr(deploying, "_write", damage)
    with pytest.raises(BoardError, match=r"differ from those sent; deploy again: a\.txt"):
        deploy(board.port, NEW | {"a.txt": content})


def mpremote(machine, *words):
    command = [sys.executable, "-m", "mpremote", "connect", machine.port, "romfs", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_mpremote_still_deploys_and_queries(board, tmp_path):
    image = tmp_path / "rom.img"
    image.write_bytes(romfs.build(NEW))
    code, said = mpremote(board, "deploy", image)
    assert code == 0 and "ROMFS image deployed" in said
    code, said = mpremote(board, "query")
    assert code == 0 and f"has size {board.romfs.size} bytes" in said
    assert found(board.port) == flat(NEW)


def test_a_read_only_rom_is_reported(tmp_path):
    """A read-only ROM is reported, here by clearing write(), the third word of `board_nvm`."""
    image, rom = tmp_path / "firmware.elf", tmp_path / "rom.img"
    patched(paths.firmware(boards.chosen().name), image, "board_nvm", 2, 0)
    rom.write_bytes(romfs.build(NEW))
    words = "the ROM file system of this board is read-only"
    with qemu.Machine(emulated(firmware=image), romfs=romfs.build(OLD)) as machine:
        with pytest.raises(BoardError, match=words):
            deploy(machine.port, NEW, force=True)
        code, said = mpremote(machine, "deploy", rom)
        assert code != 0 and words in said
        assert found(machine.port) == flat(OLD)


class Liar:
    """A board that gives a test's answers, by a part of the request."""

    port = "/dev/liar"
    lies: ClassVar[dict[str, object]] = {}
    truth: ClassVar[dict[str, object]] = {
        "hasattr": True,
        "len(": 1 << 20,
        "_walk": [("a", 3)],
        "257, 0": [],
        "sha256": bytes(32),
        "256, 0": 1,
        "rom_ioctl(3": 4,
        "rom_ioctl(4": 0,
        "rom_ioctl(5": 0,
    }

    def __init__(self, _):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def soft_reset(self):
        pass

    def ask(self, code, **_):
        return next(value for key, value in (self.truth | self.lies).items() if key in code)

    def exchange(self, data, work, **_):
        return b"%d" % self.ask(work)

    def piece_bytes(self):
        return 5000


@pytest.mark.parametrize(
    ("question", "lie"),
    [
        *(
            ("_walk", [("a", size)])
            for size in (-5, (1 << 20) + 1, 1 << 31, 1 << 70, None, 1.5, b"")
        ),
        *(("_walk", lie) for lie in (None, 3, [3], [("a",)], [("a", 1, 1)], [(None, 1)])),
        ("_walk", [("a", 1 << 19), ("b", 1 << 19), ("c", 1)]),
        ("_walk", [("a", 1), ("a/b", 1)]),
        ("_walk", [("a/b/c", 1), ("a", 1)]),
        ("_walk", [("", 1)]),
        ("_walk", [("a//b", 1)]),
        ("_walk", [("a/" * 10_000 + "b", 1)]),
        *(("len(", lie) for lie in (None, -19, -1, 1 << 40, "x")),
        *(("rom_ioctl(3", lie) for lie in (None, -22, 0, 1 << 40, "x")),
    ],
)
def test_a_lying_board_is_one_error(monkeypatch, question, lie):
    monkeypatch.setattr(deploying, "Board", Liar)
    monkeypatch.setattr(Liar, "lies", {question: lie})
    if question == "_walk":  # a size is checked before memory is taken for it
        monkeypatch.setattr(romfs, "build", lambda *_: pytest.fail("an image was built"))
    with pytest.raises(BoardError) as caught:
        deploy(Liar.port, {"n": b"1"})
    assert len(str(caught.value)) < 300 and "\n" not in str(caught.value)


class Flash(Liar):
    """An honest board whose ROM cannot hold two images, and is written in units."""

    unit = 32

    def __init__(self, port):
        super().__init__(port)
        self.asked = []

    def exchange(self, data, work, timeout=10):
        assert len(data) % self.unit == 0, "flash is written in whole units"
        return b"%d" % self.ask(work, timeout)

    def ask(self, code, timeout=10, **_):
        self.asked.append((code, timeout))
        answers = {"256, 0": 0, "rom_ioctl(3": self.unit, "_walk": []}
        return (self.truth | answers)[next(key for key in self.truth if key in code)]


def test_each_step_of_writing_over_is_bounded_by_its_bytes(monkeypatch):
    """Each step of writing has a limit by its size, so that a stuck board ends soon."""
    flash = Flash(Liar.port)
    monkeypatch.setattr(deploying, "Board", lambda _: flash)
    monkeypatch.setattr(deploying, "_check", lambda *_: None)
    deploy(Liar.port, {"n": bytes(100_001)})
    steps = [(code, timeout) for code, timeout in flash.asked if "rom_ioctl(" in code]
    assert sum("len(_rom)" in code for code, _ in steps) == 1, "its size is asked for once"
    assert len(steps) < 40 and max(timeout for _, timeout in steps) <= 120
