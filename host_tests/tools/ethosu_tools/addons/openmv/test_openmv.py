# SPDX-License-Identifier: MIT
"""Tests the ROM file system of `ethosu qemu --openmv`, and its messages."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from ethosu_tools import boards
from ethosu_tools.addons.openmv import modules
from ethosu_tools.base import paths
from ethosu_tools.base.errors import InputError, SetupError
from ethosu_tools.commands import qemu

PIXELS = np.random.default_rng(5).integers(0, 256, (3, 5, 3), np.uint8)


class Picture:
    """A stand-in for Pillow's Image."""

    def __init__(self, file, formats):
        assert "EPS" not in formats
        if file.read() != b"a picture":
            raise SyntaxError("unknown")  # one of Pillow's exceptions

    def convert(self, mode):
        assert mode == "RGB"
        return PIXELS


@pytest.fixture
def pillow(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", SimpleNamespace(Image=SimpleNamespace(open=Picture)))


def test_modules_are_added_and_a_users_stay():
    tree = modules.tree_of({"lib": {"csi.py": b"mine"}, "a.txt": b"a"})
    assert sorted(tree["lib"]) == ["audio.py", "csi.py", "image.py", "time.py"]
    assert (tree["lib"]["csi.py"], tree["a.txt"]) == (b"mine", b"a")
    assert "frames" not in tree


def test_a_bmp_of_24_bits_is_converted_and_one_of_16_stays(monkeypatch):
    read = []
    monkeypatch.setattr(modules.arrays, "picture", lambda path, *_: read.append(path) or PIXELS)
    head = b"BM" + bytes(26)
    wide, right = head + b"\x18\0" + bytes(30), head + b"\x10\0" + bytes(30)
    frames = modules.tree_of({"frames": {"wide.bmp": wide, "right.bmp": right}})["frames"]
    assert read == ["frames/wide.bmp"] and frames["right.bmp"] == right
    assert frames["wide.bmp"][28] == 16


def test_pictures_are_converted_for_the_board(pillow):
    tree = modules.tree_of({"frames": {"b.JPG": b"a picture", "a.bmp": b"BM", "c.pgm": b"P5"}})
    assert list(tree["frames"]) == ["a.bmp", "b.bmp", "c.pgm"]
    content = tree["frames"]["b.bmp"]
    rows = np.frombuffer(content[66:], "<u2").reshape(3, 6)
    red, green, blue = (PIXELS[..., i].astype(int) for i in range(3))
    assert (rows[:, :5] == (red >> 3) << 11 | (green >> 2) << 5 | blue >> 3).all()
    assert content[:2] == b"BM" and int.from_bytes(content[2:6], "little") == len(content)


def test_a_file_that_is_not_a_picture_is_named(pillow, monkeypatch):
    with pytest.raises(InputError, match=r"frames/a\.png is not a picture: unknown"):
        modules.tree_of({"frames": {"a.png": b"?"}})
    for other in ("a.bmp", "a.png"):
        both = {"frames": {"a.jpg": b"a picture", other: b"a picture"}}
        with pytest.raises(InputError, match=r"frames/a\.\w+ becomes a\.bmp, which also exists"):
            modules.tree_of(both)
    with pytest.raises(InputError, match="frames is a file, expected a folder"):
        modules.tree_of({"frames": b"?"})
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(SetupError, match=r"frames/a\.png needs Pillow: pip install pillow"):
        modules.tree_of({"frames": {"a.png": b"a picture"}})


def test_it_needs_a_folder(fails):
    fails("qemu", "--openmv", code=2, said="--openmv needs --romfs DIR")


@pytest.mark.parametrize(("place", "firmware", "said"), [
    (None, None, ["no ulab"]),
    (None, paths.firmware_file("X"), []),
    ("flash", paths.firmware_file("X"), ["on hardware /rom holds at most 2,096,896"]),
])  # fmt: skip
def test_problems_are_reported_before_the_run(place, firmware, said):
    board = boards.load("OPENMV_AE3-M55_HP")
    machine = SimpleNamespace(board=board, romfs=board.qemu.romfs if place else board.romfs)
    notes = qemu._notes(SimpleNamespace(openmv=True), machine, firmware)
    assert len(notes) == len(said) and all(
        text in note for text, note in zip(said, notes, strict=True)
    )
