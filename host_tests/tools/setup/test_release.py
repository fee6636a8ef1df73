# SPDX-License-Identifier: MIT
"""`make release` reports its files correctly, from the tests' results and the files."""

import subprocess

import pytest
from ethosu_tools import boards, paths

from host_tests.kit import sharing

BOARD = """\
title = "a board"
core = "Cortex-M55"
clock_mhz = 100
npus = ["ethos-u55-128"]
romfs = { start = 0, size = 0x1000 }
[variants.HP]
[variants.HE.flash.jlink]
"""
JUNIT = """\
<testsuites><testsuite>
<properties><property name="qemu installed" value="QEMU 7.2.22"/></properties>
<testcase name="test_a[installed-B-HP]">
<properties><property name="transcript" value="MicroPython&#10;&gt;&gt;&gt; "/></properties>
</testcase>
<testcase name="test_b[small_cnn-installed-B-HP]"><properties/></testcase>
<testcase name="test_a[newer-B-HP]"><skipped message="no such QEMU"/></testcase>
</testsuite></testsuites>
"""


@pytest.fixture
def release(repo, tmp_path, monkeypatch):
    """The program, in a tree with a board with two variants; `tmp_path/out` takes its files."""
    module = sharing.script(repo / "tools/setup/release.py")
    (tmp_path / "boards/B").mkdir(parents=True)
    (tmp_path / "boards/B/board.toml").write_text(BOARD)
    (tmp_path / "firmware").mkdir()
    (tmp_path / "firmware/micropython.toml").write_text('default = "1.2.3"')
    (tmp_path / "tests.xml").write_text(JUNIT)
    (tmp_path / "out").mkdir()
    for name in ("B-HP", "B-HE", "B-HE-no-emulator"):
        folder = tmp_path / "build/firmware" / name
        folder.mkdir(parents=True)
        (folder / "firmware.elf").write_text(name)
        (folder / "firmware.map").touch()
    (tmp_path / "build/firmware/B-HE-no-emulator/firmware.bin").write_text("bin")
    monkeypatch.setattr(paths, "root", lambda: tmp_path)
    boards.forget()
    yield lambda: module.main(tmp_path / "tests.xml", tmp_path / "out")
    boards.forget()


def test_it_lists_what_was_tested_and_what_was_not(release, tmp_path):
    assert release() == ""
    page = (tmp_path / "out/TESTED.md").read_text().splitlines()
    row = "| B-{} | Cortex-M55 | ethos-u55-128 | never ran | {} | {} |"
    for expected in (
        row.format("HP", "QEMU 7.2.22", "2 passed"),
        row.format("HP", "newer", "1 skipped"),
        row.format("HE", "QEMU 7.2.22", "not tested"),
        row.format("HE", "newer", "not tested"),
        "| MicroPython | 1.2.3 |",
        "B-HP on QEMU 7.2.22:",
        "    MicroPython",
        "    >>>",
    ):
        assert expected in page


def test_its_checksums_are_right_and_of_all_files(release, tmp_path):
    release()
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {name.rpartition("-")[2] for name in names} == {
        *("HP.elf", "HE.elf", "HE.bin", "TESTED.md", "SHA256SUMS")
    }
    done = subprocess.run(
        ["sha256sum", "-c", "SHA256SUMS"], cwd=tmp_path / "out", capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.count(": OK")) == (0, len(names) - 1)


def test_the_image_of_a_chip_does_not_look_for_the_emulator(release, tmp_path):
    release()
    released = {path.name[-6:]: path.read_text() for path in (tmp_path / "out").glob("*.elf")}
    assert released == {"HP.elf": "B-HP", "HE.elf": "B-HE-no-emulator"}


def test_a_board_without_an_image_stops_it(release, tmp_path):
    (tmp_path / "build/firmware/B-HP/firmware.elf").unlink()
    assert release() == "images are missing: B-HP; run: make board-images chip-images"
