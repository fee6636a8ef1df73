# SPDX-License-Identifier: MIT
"""Every file of a ROM file system can be found, and is aligned to 16 bytes."""

import os
import random

import pytest
from ethosu_tools.base.errors import InputError
from ethosu_tools.model import romfs


def number(data, at):
    value = 0
    while True:
        value = value << 7 | data[at] & 0x7F
        at += 1
        if not data[at - 1] & 0x80:
            return value, at


def parse(data, at, end):
    """Find an image's files as MicroPython does: path -> (place, content)."""
    files = {}
    while at < end:
        kind, at = number(data, at)
        size, at = number(data, at)
        stop = at + size
        if kind in (4, 5):
            length, name_at = number(data, at)
            name = data[name_at : name_at + length].decode()
            inside = parse(data, name_at + length, stop)
            files |= {f"{name}/{key}".rstrip("/"): value for key, value in inside.items()}
        elif kind == 2:
            files[""] = (at, data[at:stop])
        else:
            assert kind == 1, f"record kind {kind} at {at}"
        at = stop
    assert at == end
    return files


def files_of(image):
    kind, at = number(image, 0)
    size, at = number(image, at)
    assert kind == 0x14A6B1 and at + size == len(image)
    return parse(image, at, len(image))


def random_tree(source, depth=0):
    tree = {}
    for index in range(source.randrange(1, 6)):
        name = "n" * source.randrange(1, 40) + str(index)
        if depth < 3 and source.random() < 0.3:
            tree[name] = random_tree(source, depth + 1)
        else:
            tree[name] = source.randbytes(source.randrange(0, 300))
    return tree


def test_files_are_found_where_the_npu_can_read_them():
    for seed in range(50):
        tree = random_tree(random.Random(seed))
        image = romfs.build(tree)
        found = files_of(image)
        assert {path: content for path, (_, content) in found.items()} == dict(romfs.files(tree))
        assert all(place % romfs.ALIGNMENT == 0 for place, _ in found.values()), seed
        assert len(image) % 2 == 0
        sizes = romfs.sizes(image)
        assert sizes == {path: len(content) for path, content in romfs.files(tree)}
        assert romfs.sizes(image[: len(image) // 2]).items() <= sizes.items()


def test_a_big_file_is_found_and_an_empty_image_is_sound():
    content = bytes(range(256)) * 5000
    assert files_of(romfs.build({"big": content}))["big"][1] == content
    assert files_of(romfs.build({})) == {}


def test_directory_becomes_an_image(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.py").write_text("x = 1\n")
    (tmp_path / "m.tflite").write_bytes(b"model")
    found = files_of(romfs.load_image(tmp_path))
    assert {path: content for path, (_, content) in found.items()} == {
        "lib/a.py": b"x = 1\n",
        "m.tflite": b"model",
    }


def test_caches_of_python_are_left_out(tmp_path):
    for folder in ("__pycache__", "lib/__pycache__"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.cpython-311.pyc").touch()
    (tmp_path / "lib/a.py").touch()
    assert romfs.read_tree(tmp_path) == {"lib": {"a.py": b""}}


def test_file_that_is_no_image_is_refused(tmp_path):
    (tmp_path / "x.img").write_bytes(b"hello")
    with pytest.raises(InputError, match=r"not a ROM file system.*found b'hel'"):
        romfs.load_image(tmp_path / "x.img")
    with pytest.raises(InputError, match="No such file"):
        romfs.load_image(tmp_path / "y.img")


@pytest.mark.parametrize("target", [".", "../folder"])
def test_links_that_lead_into_themselves_are_refused(tmp_path, target):
    """Links to their own folder are refused: two would be followed 2^40 times."""
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / name).symlink_to(target)
    with pytest.raises(InputError, match=r"folder/a cannot be read: it is a link to one of its"):
        romfs.read_tree(folder)


def test_name_that_is_not_utf_8_is_one_error(tmp_path):
    (tmp_path / os.fsdecode(b"\xff.py")).touch()
    with pytest.raises(InputError, match=r"^\\udcff.py is not a valid file name on a board"):
        romfs.load_image(tmp_path)


def test_files_of_a_flash_dump_are_found_without_its_erased_end():
    """Files of a flash dump are found; its erased end would be an endless number."""
    image = romfs.build({"a.bin": bytes(10), "b": {"c.bin": bytes(20)}})
    expected = {"a.bin": 10, "b/c.bin": 20}
    assert romfs.sizes(image) == romfs.sizes(image + b"\xff" * (1 << 24)) == expected
    assert romfs.sizes(b"\xff" * (1 << 24)) == {}
