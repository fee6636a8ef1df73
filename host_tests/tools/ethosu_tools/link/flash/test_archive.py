# SPDX-License-Identifier: MIT
"""Tests flashing from the archive of a release, and a ROM file system joined to an image."""

import json

import pytest
from ethosu_tools import boards
from ethosu_tools.base import paths
from ethosu_tools.link.flash import WAYS, archive
from ethosu_tools.model import romfs

from host_tests.kit import sharing

from . import IMAGE

ROM = romfs.build({"a.txt": b"hello"})
REAL = [name for name in boards.names() if boards.load(name).flash]
BOARD = "NUMAKER_M55M1"


@pytest.fixture
def released(repo, tmp_path, monkeypatch):
    """Return a function that makes the archive of a board, as `make release` does."""
    setup = repo / "tools/setup/release"
    release, packing = (sharing.script(setup / name) for name in ("release.py", "packing.py"))
    monkeypatch.setattr(paths, "firmware_file", lambda name: tmp_path / archive.ELF)
    monkeypatch.setattr(paths, "work", lambda name: tmp_path / name)
    (tmp_path / archive.ELF).write_bytes(b"\x7fELF" + IMAGE)
    (tmp_path / archive.BIN).write_bytes(IMAGE)

    def make(name):
        path = tmp_path / f"{name}.zip"
        packing.write(path, release.board_files(boards.load(name), ROM))
        return path

    return make


@pytest.fixture
def disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("name", REAL)
def test_each_boards_archive_has_the_same_bytes_at_the_same_addresses(ethosu, released, name):
    board, path = boards.load(name), released(name)
    files = archive.read(path, name)
    assert files[archive.ELF] == b"\x7fELF" + IMAGE
    assert (archive.BIN in files) == board.bin
    for way, settings in board.flash.items():
        code, out, err = ethosu(
            "flash", name, "--way", way, "--firmware", path, "--dry-run", "--json"
        )
        assert code == 0 and "flash/" + name in " ".join(json.loads(out)["steps"]), err
        assert ("without the archive's /rom" in err) == (WAYS[way].rom == "")
        if "address" in settings:
            place = board.romfs.start - settings["address"]
            assert files[archive.BIN].startswith(IMAGE) and files[archive.BIN][place:] == ROM
            assert place + board.romfs.size <= settings.get("largest", 1 << 32)
        elif WAYS[way].rom == "sent":
            assert files[archive.ROM] == ROM and "ROM file system" in out


def test_its_image_is_written_with_the_rom(ethosu, released, disk):
    path = released(BOARD)
    code, _, err = ethosu("flash", BOARD, "--firmware", path, "--disk", disk)
    assert code == 0, err
    assert (disk / archive.BIN).read_bytes() == archive.read(path, BOARD)[archive.BIN]


@pytest.mark.parametrize("from_archive", [False, True])
def test_other_files_for_the_rom_are_joined_to_the_image(
    ethosu, released, disk, tmp_path, from_archive
):
    path = released(BOARD)
    (tmp_path / "b.txt").write_text("other")
    words = ["--firmware", path] if from_archive else []
    code, _, err = ethosu("flash", BOARD, *words, "--disk", disk, "--rom", tmp_path / "b.txt")
    assert code == 0, err
    place = boards.load(BOARD).romfs.start - 0x100000
    rom = romfs.build({"b.txt": b"other"})
    assert (disk / archive.BIN).read_bytes() == IMAGE.ljust(place, b"\xff") + rom


def test_another_boards_archive_is_refused_and_so_is_a_damaged_one(fails, released, tmp_path):
    other = released("GROVE_VISION_AI_V2")
    words = "flash", BOARD, "--dry-run", "--firmware"
    fails(*words, other, code=3, said=f"is for GROVE_VISION_AI_V2, not for {BOARD}")
    packing = sharing.script(sharing.REPO / "tools/setup/release/packing.py")
    files = archive.read(released(BOARD), BOARD)
    for wrong, said in (
        (files | {archive.BIN: b"else"}, "firmware.bin is not the file that was released"),
        ({archive.BIN: b"alone"}, "is not a board's archive of a release"),
        (files | {archive.CONTENTS: b"[]"}, "is not a board's archive of a release"),
    ):
        packing.write(tmp_path / "wrong.zip", wrong)
        fails(*words, tmp_path / "wrong.zip", code=3, said=said)
