# SPDX-License-Identifier: MIT
"""`make release` reports its files correctly, from test results and the files."""

import hashlib
import subprocess

import pytest

from host_tests.kit import sharing, stand_ins

VARIANTS = "[variants.HP]\n[variants.HE.flash.jlink]\n"
JUNIT = """\
<testsuites><testsuite>
<properties><property name="qemu installed" value="QEMU 7.2.22"/></properties>
<testcase name="test_a[installed-B-HP]">
<properties><property name="transcript" value="MicroPython&#10;&gt;&gt;&gt; "/></properties>
</testcase>
<testcase name="test_b[small_cnn-installed-B-HP]"><properties>
<property name="image" value="IMAGE"/></properties></testcase>
<testcase name="test_a[10-B-HP]"><skipped message="no such QEMU"/></testcase>
</testsuite></testsuites>
"""


@pytest.fixture
def release(repo, empty_tree):
    """Return the program in a tree with a board of two variants; it writes `tmp_path/out`."""
    module = sharing.script(repo / "tools/setup/release.py")
    (empty_tree / "boards/B").mkdir(parents=True)
    (empty_tree / "boards/B/board.toml").write_text(stand_ins.BOARD + VARIANTS)
    (empty_tree / "firmware").mkdir()
    (empty_tree / "firmware/micropython.toml").write_text('default = "1.2.3"')
    tested = hashlib.sha256(b"B-HP").hexdigest()
    (empty_tree / "tests.xml").write_text(JUNIT.replace("IMAGE", tested))
    (empty_tree / "out").mkdir()
    for name in ("B-HP", "B-HE"):
        folder = empty_tree / "build/firmware" / name
        folder.mkdir(parents=True)
        (folder / "firmware.elf").write_text(name)
        (folder / "firmware.map").touch()
    (empty_tree / "build/firmware/B-HE/firmware.bin").write_text("bin")
    return lambda: module.main(empty_tree / "tests.xml", empty_tree / "out")


def test_it_lists_what_was_tested_and_what_was_not(release, tmp_path):
    assert release() == ""
    page = (tmp_path / "out/TESTED.md").read_text().splitlines()
    row = "| B-{} | Cortex-M55 | ethos-u55-128 | never ran | {} | {} | {} |"
    image = hashlib.sha256(b"B-HP").hexdigest()[:12]
    for expected in (
        row.format("HP", "QEMU 7.2.22", "2 passed", image),
        row.format("HP", "10", "1 skipped", ""),
        row.format("HE", "QEMU 7.2.22", "not tested", ""),
        row.format("HE", "11", "not tested", ""),
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
    released = {path.name[-6:]: path.read_text() for path in (tmp_path / "out").glob("*.elf")}
    assert released == {"HP.elf": "B-HP", "HE.elf": "B-HE"}, "the images that were tested"


def test_an_image_that_was_not_the_tested_one_stops_it(release, tmp_path):
    (tmp_path / "build/firmware/B-HP/firmware.elf").write_text("built again")
    tested, built = (hashlib.sha256(text).hexdigest()[:12] for text in (b"B-HP", b"built again"))
    assert release() == (
        "another image was tested than is to be released: "
        f"B-HP on QEMU installed ({tested} instead of {built})"
    )


def test_a_board_without_an_image_stops_it(release, tmp_path):
    (tmp_path / "build/firmware/B-HP/firmware.elf").unlink()
    assert release() == "images are missing: B-HP; run: make board-images"
