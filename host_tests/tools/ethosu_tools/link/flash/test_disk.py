# SPDX-License-Identifier: MIT
"""Tests flashing by disk, with folders instead of disks."""

import time
from pathlib import Path

import pytest
from ethosu_tools.link.flash import disk

from . import IMAGE


@pytest.fixture
def disks(tmp_path, monkeypatch):
    """`disks(name, ...)` mounts disks with these labels; returns their folders."""

    def mount(*names):
        folders = [tmp_path / "media" / name for name in names]
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
        mounts = tmp_path / "mounts"
        lines = [
            f"/dev/sd {str(each).replace(' ', chr(92) + '040')} vfat rw 0 0" for each in folders
        ]
        mounts.write_text("\n".join(lines) + "\n")
        monkeypatch.setattr(disk, "_MOUNTS", mounts)
        monkeypatch.setattr(disk.platform, "system", lambda: "Linux")
        return folders

    return mount


def test_the_image_is_copied_to_the_disk_with_the_label(flashed, tree, disks):
    _, wanted = disks("other", "NuMicro MCU")
    data = flashed()
    assert data["checked"] == "the image is on the disk"
    assert (data["disk"], (wanted / "firmware.bin").read_bytes()) == (str(wanted), IMAGE)


def test_a_disk_is_known_by_its_info_file_and_on_macos(flashed, tree, disks, monkeypatch):
    (other,) = disks("MCU")
    (other / "NU_CFG.TXT").touch()
    assert flashed()["disk"] == str(other)
    monkeypatch.setattr(disk.platform, "system", lambda: "Darwin")
    monkeypatch.setattr(disk, "_VOLUMES", other.parent)
    assert flashed()["disk"] == str(other)


def test_the_disk_of_the_probes_own_firmware_gets_nothing(fails, tree, disks):
    (probe,) = disks("Nu-Link2")
    (probe / "NU_CFG.TXT").touch()
    for words in ((), ("--disk", probe)):
        fails("flash", "B", *words, code=3, said="the probe's own firmware")
    assert not (probe / "firmware.bin").exists()


def test_a_disk_that_does_not_answer_is_left_alone(ethosu, flashed, tree, disks, monkeypatch):
    """A disk whose cable was pulled, where accesses block or fail, is left alone."""
    dead, gone, wanted = disks("dead", "gone", "good")
    (wanted / "NU_CFG.TXT").touch()
    for name in ("is_file", "is_dir"):
        look = getattr(Path, name)

        def asked(path, look=look):
            if dead in (path, path.parent):
                time.sleep(30)
            if gone in (path, path.parent):
                raise OSError(107, "Transport endpoint is not connected")
            return look(path)

        monkeypatch.setattr(Path, name, asked)
    monkeypatch.setattr(disk, "_ANSWER_S", 0.2)
    assert flashed()["disk"] == str(wanted)
    for folder in (dead, gone):
        code, _, err = ethosu("flash", "B", "--disk", folder)
        assert (code, err) == (
            3, f"ethosu: {folder} is not a mounted disk, or it does not respond\n"
        )  # fmt: skip


def test_disks_of_a_network_are_not_looked_at(fails, tree, disks):
    (folder,) = disks("NuMicro MCU")
    disk._MOUNTS.write_text(f"server:/x {folder.parent} nfs rw 0 0\n")
    fails("flash", "B", code=4, said='no disk "NuMicro MCU" is mounted')


def test_on_windows_the_user_names_the_disk(ethosu, flashed, tree, disks, monkeypatch):
    (folder,) = disks("E")
    monkeypatch.setattr(disk.platform, "system", lambda: "Windows")
    code, _, err = ethosu("flash", "B")
    assert (code, err.count("\n")) == (4, 1) and "pass it with --disk" in err
    assert flashed("--disk", folder)["disk"] == str(folder)


def test_a_disk_that_accepts_nothing_is_one_error(fails, tree, disks, monkeypatch):
    disks("NuMicro MCU")
    monkeypatch.setattr(disk, "_COPY_S", 0.2)
    monkeypatch.setattr(disk.os, "fsync", lambda _: time.sleep(30))
    fails("flash", "B", code=5, said="timed out after 0.2 s")


def test_of_two_disks_the_user_chooses_one(fails, flashed, tree, disks):
    one, _ = disks("NuMicro MCU", "NuMicro MCU1")
    fails("flash", "B", code=3, said="2 disks match: ")
    assert flashed("--disk", one)["disk"] == str(one)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (
            lambda folder: (folder / "FAIL.TXT").write_text("no target"),
            "rejected the image: no tar",
        ),
        (lambda folder: (folder / "firmware.bin").write_bytes(IMAGE[:-1]), "5,119 bytes instead"),
        (
            lambda folder: (folder / "firmware.bin").write_bytes(IMAGE[::-1]),
            "differs from the image",
        ),
    ],
)
def test_the_result_of_the_copy_is_checked(fails, tree, disks, monkeypatch, damage, said):
    (folder,) = disks("NuMicro MCU")
    monkeypatch.setattr(disk.os, "fsync", lambda _: damage(folder))
    fails("flash", "B", code=5, said=said)


def test_a_probe_may_remove_the_file(flashed, tree, disks, monkeypatch):
    (folder,) = disks("NuMicro MCU")
    monkeypatch.setattr(disk.os, "fsync", lambda _: (folder / "firmware.bin").unlink())
    assert flashed()["checked"] == "the probe accepted the file and no longer shows it"


def test_an_image_that_does_not_fit_is_not_copied(fails, tree, disks):
    (folder,) = disks("NuMicro MCU")
    (tree / "build/firmware/B/firmware.bin").write_bytes(bytes(0x2001))
    fails("flash", "B", code=3, said="8,193 bytes, but the board holds at most 8,192")
    assert not list(folder.iterdir())
