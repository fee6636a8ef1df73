# SPDX-License-Identifier: MIT
"""What the tools know of boards: board.toml, its variants, and what is wrong with it."""

import pytest
from ethosu_tools import boards, paths, romfs
from ethosu_tools.board import open_board
from ethosu_tools.boards import Span
from ethosu_tools.errors import InputError, SetupError

TOML = """\
title = "a board"
core = "Cortex-M55"
clock_mhz = 100
npus = ["ethos-u55-128"]
romfs = { start = 0x1000, size = 0x1000 }
[variants.fast]
clock_mhz = 400
romfs = { size = 0x2000 }
[variants.slow]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A tree with one board, that has two variants."""
    path = tmp_path / "boards/B/board.toml"
    path.parent.mkdir(parents=True)
    path.write_text(TOML)
    monkeypatch.setattr(paths, "root", lambda: tmp_path)
    boards.load.cache_clear()
    yield path
    boards.load.cache_clear()


def test_each_folder_with_a_board_is_found(repo):
    folders = {path.parent.name for path in repo.glob("boards/*/board.toml")}
    assert {name.partition("-")[0] for name in boards.names()} == folders
    for name in boards.names():
        assert boards.load(name).npus


def test_a_variant_has_the_boards_entries_but_for_its_own(folder):
    assert boards.names() == ["B-fast", "B-slow"]
    fast, slow = boards.load("B-fast"), boards.load("B-slow")
    assert (fast.clock_mhz, fast.romfs) == (400, Span(0x1000, 0x2000))
    assert (slow.clock_mhz, slow.romfs) == (100, Span(0x1000, 0x1000))


@pytest.mark.parametrize("name", ["C", "B", "B-", "B-odd", "../B-fast"])
def test_an_unknown_board_is_told_with_those_that_are_there(folder, name):
    with pytest.raises(InputError, match=r"there is no board .*; boards/ has B-fast, B-slow"):
        boards.load(name)


@pytest.mark.parametrize(
    ("old", "new"),
    [('title = "a board"\n', ""), ("start = 0x1000", "begin = 1"), ("npus = [", "npus = [[")],
)
def test_a_wrong_file_is_named(folder, old, new):
    folder.write_text(TOML.replace(old, new))
    with pytest.raises(SetupError, match=r"board\.toml"):
        boards.load("B-slow")


def test_the_environment_chooses(folder, monkeypatch):
    monkeypatch.setenv(boards.VARIABLE, "B-slow")
    assert boards.chosen().name == "B-slow"
    assert boards.chosen("B-fast").name == "B-fast"


@pytest.mark.parametrize("name", boards.names())
def test_a_board_that_is_emulated_boots_with_its_rom(name):
    files = {"a.txt": b"hello"}
    if boards.load(name).qemu is None:
        with pytest.raises(InputError, match="is not emulated"):
            open_board("qemu", board=name)
        return
    with open_board("qemu", board=name) as board:
        assert board.eval("__import__('ethosu').npus()[0]") == boards.load(name).npus[0]
        board.machine.memory.write(board.machine.romfs.start, romfs.build(files))
        board.reset()
        assert board.eval("__import__('os').listdir('/rom')") == ["a.txt"]
