# SPDX-License-Identifier: MIT
"""Unusable files end in one sentence, and failed writes leave nothing."""

import io
import os
import resource
import struct
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from ethosu_tools.base import files
from ethosu_tools.base.errors import InputError
from ethosu_tools.model.debug_table import NAME as DEBUG_TABLE
from ethosu_tools.model.tflite.metadata import get, put
from ethosu_tools.model.tflite.model_metadata import ENTRY

from host_tests.kit import found


@pytest.fixture
def pipe(tmp_path):
    """Make a pipe without a writer."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


@pytest.fixture
def full_disk():
    """Let no file grow beyond 4 KB, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_endless_and_special_files_are_not_read(tmp_path, pipe):
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        file.truncate(1 << 40)
    for path, reason in (
        ("/dev/zero", "it is a device"),
        (pipe, "it is a pipe"),
        (tmp_path, "it is a folder"),
        (huge, "more than 1,073,741,824"),
        (tmp_path / "none", "No such file"),
    ):
        with pytest.raises(InputError, match=reason):
            files.read_whole(tmp_path / path)


def test_special_files_are_not_replaced(tmp_path, pipe):
    for path, reason in (("/dev/full", "a device"), (pipe, "a pipe"), (tmp_path, "a folder")):
        with pytest.raises(InputError, match=reason):
            files.write_whole(tmp_path / path, b"data")
    assert not list(Path("/dev").glob("*.part"))


@pytest.mark.usefixtures("full_disk")
def test_full_disk_leaves_the_old_file_and_no_part(tmp_path):
    files.write_whole(tmp_path / "out", b"old")
    with pytest.raises(InputError, match=r"out cannot be written: File too large"):
        files.write_whole(tmp_path / "out", bytes(10_000))
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").read_bytes() == b"old"


def test_two_commands_that_write_one_output_do_not_share_a_part(tmp_path, monkeypatch):
    out, real = tmp_path / "out", Path.replace

    def replace(part, target):
        monkeypatch.undo()
        files.write_whole(out, b"second")
        assert out.read_bytes() == b"second"
        return real(part, target)

    monkeypatch.setattr(Path, "replace", replace)
    files.write_whole(out, b"first")
    assert out.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [out]


def test_a_link_is_kept_and_its_target_written(tmp_path):
    target, link = tmp_path / "far" / "target", tmp_path / "link"
    link.symlink_to("far/target")
    for data in (b"new", b"newer"):
        files.write_whole(link, data)
        assert link.is_symlink() and target.read_bytes() == data
    assert list(target.parent.iterdir()) == [target]


def test_name_that_is_too_long_is_one_error(tmp_path):
    with pytest.raises(InputError, match="cannot be written: File name too long"):
        files.write_whole(tmp_path / ("x" * 300), b"data")


def test_link_that_leads_to_itself_is_not_written(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(link)
    with pytest.raises(InputError, match=r"link cannot be written: Too many levels"):
        files.write_whole(link, b"data")
    assert list(tmp_path.iterdir()) == [link] and link.is_symlink()


@pytest.mark.parametrize(
    "words",
    [
        ["run", "BAD", "--input", "INPUT"],
        ["run", "MODEL", "--input", "BAD"],
        ["run", "MODEL", "--input", "INPUT", "--reference", "BAD"],
        ["compile", "BAD"],
        ["inspect", "BAD"],
        ["inspect", "BAD", "--memory"],
        ["profile", "BAD"],
        ["profile", "MODEL", "--maps", "OUT", "--input", "BAD"],
        ["deploy", "BAD", "-o", "IMAGE"],
        ["qemu", "--romfs", "BAD"],
        ["qemu", "--firmware", "BAD"],
        *(words for each in found.modules("command_rows") for words in each.READ),
    ],
    ids=" ".join,
)
def test_each_command_ends_on_devices_and_pipes(
    ethosu, small_models, compiled, inputs, tmp_path, pipe, monkeypatch, words
):
    monkeypatch.chdir(tmp_path)
    model = small_models["small_cnn"]
    known = {"MODEL": compiled(model), "INPUT": inputs(model), "IMAGE": tmp_path / "image"}
    before = sorted(path.name for path in tmp_path.iterdir())
    for bad in ("/dev/zero", pipe):
        code, out, err = ethosu(
            *(known.get(word, bad if word == "BAD" else word) for word in words)
        )
        assert (code, out) == (3, "") and len(err.splitlines()) == 1, err
        assert "cannot be read: it is a" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_file_opened_by_a_slow_writer_is_not_waited_for(tmp_path, monkeypatch):
    reader, writer = os.pipe2(os.O_NONBLOCK)
    monkeypatch.setattr(files.os, "open", lambda *_: reader)
    monkeypatch.setattr(files.stat, "S_ISREG", lambda _: True)
    with pytest.raises(InputError, match="it is an endless stream, not a file"):
        files.read_whole(tmp_path / "kmsg")
    os.close(writer)


def zipped(content=b"yes\nno\n" * 500, method=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method, compresslevel=1) as archive:
        archive.writestr("labels.txt", content)
    return file.getvalue()


def with_flag(bit):
    """Make an archive whose only file has this flag, in both of its headers."""
    data = bytearray(zipped().replace(b"labels", b"l\xffbels"))
    data[6 + bit // 8] |= 1 << bit % 8
    data[data.index(b"PK\1\2") + 8 + bit // 8] |= 1 << bit % 8
    return bytes(data)


MB = 1 << 20
# The bombs take a second, so they are made when needed, not in each worker.
ARCHIVES = {
    "damaged": (
        lambda: zipped()[:48] + b"\xff" * 8 + zipped()[56:],
        "while decompressing data",
    ),
    "LZMA": (lambda: zipped(method=zipfile.ZIP_LZMA), "neither stored nor deflated"),
    "encrypted": (lambda: with_flag(0), "is encrypted"),
    "name that is not UTF-8": (lambda: with_flag(11), "codec can't decode byte 0xff"),
    "directory elsewhere": (
        lambda: zipped()[:-6] + b"\xff\xff\xff\x7f\0\0",
        "negative seek value",
    ),
    "bomb": (lambda: zipped(bytes(65 * MB)), "unpacks to 68,157,440 bytes, more than 67,108,864"),
    "bomb that says it is small": (
        lambda: zipped(bytes(64 * MB)).replace(struct.pack("<I", 64 * MB), struct.pack("<I", 4)),
        "Bad CRC-32",
    ),
}


@pytest.mark.parametrize(("archive", "reason"), ARCHIVES.values(), ids=ARCHIVES)
def test_a_hostile_archive_behind_a_model_is_one_error(
    ethosu, small_models, tmp_path, archive, reason
):
    source, output = tmp_path / "in.tflite", tmp_path / "out.tflite"
    source.write_bytes(put(small_models["small_cnn"].read_bytes(), {ENTRY: bytes(8)}) + archive())
    tracemalloc.start()
    code, _, err = ethosu("compile", source, "-o", output)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert code == 3 and err.count("\n") == 1 and not output.exists()
    assert f"{source}: the ZIP archive" in err and reason in err and "--labels FILE to rep" in err
    assert peak < 32 * MB


def test_given_labels_replace_a_hostile_archive(ethosu, small_models, tmp_path):
    source, labels, output = (tmp_path / name for name in ("in.tflite", "labels", "out.tflite"))
    model, (archive, _) = small_models["small_cnn"].read_bytes(), ARCHIVES["damaged"]
    source.write_bytes(put(model, {ENTRY: bytes(8)}) + archive())
    labels.write_text("a\nb\n")
    assert ethosu("compile", source, "-o", output, "--labels", labels)[0] == 0


@pytest.mark.parametrize("name", [b"in]]>", b"in\x01ut", b"in\nut", b'i"\0,"', b"<!--]"])
def test_a_hostile_name_of_a_tensor_costs_the_debug_table_at_most(
    ethosu, small_models, tmp_path, name
):
    """A hostile name, which Vela writes unescaped into XML and CSV, costs only the debug table."""
    source, output = tmp_path / "in.tflite", tmp_path / "out.tflite"
    data = small_models["small_cnn"].read_bytes()
    assert b"input\0" in data
    source.write_bytes(data.replace(b"input\0", name.ljust(6, b"\0")))
    code, _, err = ethosu("compile", source, "-o", output)
    assert code == 0 and len(err.splitlines()) <= 1
    assert (get(output.read_bytes(), DEBUG_TABLE) is None) == ("will not name operators" in err)
    damaging = {b"]]>", b"\x01", b"\0"}
    assert any(each in name for each in damaging) == ("will not name operators" in err)
