# SPDX-License-Identifier: MIT
"""`make release` reports its files correctly, from test results and the files."""

import hashlib
import os
import re
import subprocess
import sys
import zipfile

import pytest
from ethosu_tools import boards
from ethosu_tools.base import paths
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.link.flash import archive

from host_tests.kit import sharing, stand_ins

VARIANTS = """
[variants.HP]
needs = "another program"
[variants.HE]
bin = true
regions.VECTORS = { start = 0x800, size = 0x100 }
[variants.HE.flash.jlink]
device = "D"
address = 0x800
"""
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


WHEELS = "any", "linux_aarch64", "linux_x86_64"
CHANGES = "# Changelog\n## {} (today)\n\n- All is new.\n\n## 0.0.1 (before)\n\n- Old.\n"
ROM = b"a ROM file system"


@pytest.fixture
def release(repo, empty_tree, monkeypatch):
    """Return the program in a tree with a board of two variants; it writes `tmp_path/out`."""
    module = sharing.script(repo / "tools/setup/release/release.py")
    monkeypatch.setattr(module.notices, "for_image", lambda _: {"THIRD_PARTY.txt": b"Licences"})
    (empty_tree / "boards/B").mkdir(parents=True)
    (empty_tree / "boards/B/board.toml").write_text(stand_ins.BOARD + VARIANTS)
    (empty_tree / "firmware").mkdir()
    (empty_tree / "firmware/micropython.toml").write_text('default = "1.2.3"')
    tested = hashlib.sha256(b"B-HP").hexdigest()
    (empty_tree / "tests.xml").write_text(JUNIT.replace("IMAGE", tested))
    (empty_tree / "out").mkdir()
    for machine in WHEELS:
        (empty_tree / f"out/ethosu_tools-{machine}.whl").touch()
    (empty_tree / "LICENSE").write_text("MIT")
    (empty_tree / "CHANGELOG.md").write_text(CHANGES.format(module.version("ethosu-tools")))
    (empty_tree / "tools/setup").mkdir(parents=True)
    (empty_tree / "tools/setup/Containerfile").write_text("FROM nothing")
    (empty_tree / "page").mkdir()
    (empty_tree / "page/index.html").write_text("hello")
    for name in ("B-HP", "B-HE"):
        folder = empty_tree / "build/firmware" / name
        folder.mkdir(parents=True)
        (folder / "firmware.elf").write_text(name)
        (folder / "firmware.map").touch()
    (empty_tree / "build/firmware/B-HE/firmware.bin").write_text("bin")
    module.demo = lambda board: ROM
    parts = {"web": empty_tree / "page"}
    return lambda: module.main(empty_tree / "tests.xml", empty_tree / "out", parts, ["docs"])


@pytest.fixture
def archives(release, tmp_path):
    """Return the archives of a release, by the end of their names."""
    assert release() == ""
    found = (tmp_path / "out").glob("*.zip")
    return {path.stem.rpartition("-")[2]: zipfile.ZipFile(path) for path in found}


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
        *("HP.zip", "HE.zip", "web.zip", *(f"{machine}.whl" for machine in WHEELS)),
        *("Containerfile", "RELEASE.md", "TESTED.md", "SHA256SUMS"),
    }
    done = subprocess.run(
        ["sha256sum", "-c", "SHA256SUMS"], cwd=tmp_path / "out", capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.count(": OK")) == (0, len(names) - 1)


def test_a_boards_archive_has_the_tested_image_and_where_it_goes(archives):
    assert archives["HP"].read("firmware.elf") == b"B-HP", "the image that was tested"
    assert archives["HE"].read("firmware.bin") == b"bin".ljust(0x800, b"\xff") + ROM
    assert b'"address": "0x00000800"' in archives["HE"].read("board.json")
    assert b'LoadFile "firmware.bin",0x800' in archives["HE"].read("README.md")
    assert b"**Also needed**: another program." in archives["HP"].read("README.md")
    assert archives["web"].namelist() == ["LICENSE", "index.html"]


@pytest.mark.parametrize("name", [name for name in boards.names() if boards.load(name).flash])
def test_a_page_does_not_name_tools_of_this_machine(repo, name, tmp_path, monkeypatch):
    page = sharing.script(repo / "tools/setup/release/release_page.py")
    board, before = boards.load(name), page.howto(boards.load(name), "a.zip")
    for tool in ("app-gen-toc.py", "app-write-mram.py", "dfu-util", "openocd", "JLinkExe"):
        (tmp_path / tool).write_text("--cfg-part")
        (tmp_path / tool).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for way in ("ALIF_TOOLKIT", "OPENOCD_LOADER", "WE2_TOOL"):
        monkeypatch.setenv(f"ETHOSU_{way}", str(tmp_path))
    assert page.howto(board, "a.zip") == before and str(tmp_path) not in before


def test_its_first_steps_end_in_an_inference_that_is_right(release, repo, tmp_path):
    release()
    page = (tmp_path / "out/RELEASE.md").read_text()
    block = page.partition("```sh\n")[2].partition("```")[0]
    install, _, steps = block.partition('[oracle]"\n')
    assert install.endswith('\npip install "ethosu_tools-linux_x86_64.whl')
    path = f"{sys.prefix}/bin:{os.environ['PATH']}"
    place = {"PATH": path, "HOME": str(tmp_path), "ETHOSU_ROOT": str(repo)}
    done = subprocess.run(
        ["bash", "-ec", steps], cwd=tmp_path, env=place, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "on qemu" in done.stdout and "every value equals TFLite's reference" in done.stdout


def test_a_file_that_its_page_would_not_name_is_an_error(release, tmp_path):
    (tmp_path / "out/notes.odt").touch()
    with pytest.raises(Exception, match=r"notes\.odt: release_page\.py does not say what it is"):
        release()


@pytest.mark.parametrize("left", [[], ["linux_x86_64"], ["any"], WHEELS], ids=" ".join)
def test_its_page_names_no_file_that_is_not_there(release, tmp_path, left):
    for machine in left:
        (tmp_path / f"out/ethosu_tools-{machine}.whl").unlink()
    release()
    page = (tmp_path / "out/RELEASE.md").read_text()
    named = set(re.findall(r"[\w.-]+\.(?:whl|zip)\b", page))
    assert named == {path.name for path in (tmp_path / "out").glob("*.[wz][hi][lp]")}
    assert ("[oracle]" in page) is (left != WHEELS)
    assert ("On Windows and macOS" in page) is ("any" not in left)


def test_each_archive_has_the_licence(archives):
    assert {name: archive.read("LICENSE") for name, archive in archives.items()} == (
        dict.fromkeys(archives, b"MIT")
    )


def test_its_page_names_each_file_and_its_checksum(release, tmp_path):
    release()
    page = (tmp_path / "out/RELEASE.md").read_text()
    listed = dict(line.split()[::-1] for line in (tmp_path / "out/SHA256SUMS").open())
    for name in listed.keys() - {"RELEASE.md"}:
        assert f"[{name}]({name})" in page and f"`{listed[name]}`" in page
    assert re.search(r"`ethosu flash B-HE --firmware \S+-B-HE.zip`", page)
    assert "| 2 passed, 1 skipped |" in page and "- B-HP: another program." in page
    assert "Left out: docs." in page and "All is new." in page and "Old." not in page


def test_it_is_the_same_when_it_is_made_again(release, tmp_path):
    release()
    first = (tmp_path / "out/SHA256SUMS").read_text()
    for file in (tmp_path / "out").glob("*[!l]"):
        file.unlink()
    (tmp_path / "page/index.html").touch()
    release()
    assert (tmp_path / "out/SHA256SUMS").read_text() == first


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


@pytest.mark.parametrize("name", ["MPS3_AN547", "NUMAKER_M55M1", "GROVE_VISION_AI_V2"])
def test_the_model_of_an_archive_passes_its_self_test(repo, name):
    """One board for each size of NPU: its archive's ROM file system, and the line of the page."""
    rom = sharing.script(repo / "tools/setup/release/release.py").demo(boards.load(name))
    with QemuBoard(Machine(emulated(name), romfs=rom)) as board:
        assert "self-test passed: True" in board.exec("import selftest")


@pytest.mark.parametrize("name", boards.names())
def test_no_image_names_the_folder_in_which_it_was_built(name):
    elf = paths.firmware_file(name)
    if not elf.is_file():
        pytest.skip(f"{elf} is not built: make board-images")
    found = set(re.findall(rb"[ -~]*build/micropython/[!-~]*/py", elf.read_bytes()))
    assert found and all(path.startswith(b"build/") for path in found)


@pytest.mark.slow
def test_an_image_is_the_same_in_another_folder(repo, tmp_path):
    """Sources and compiler alone make the bytes: neither the folder nor what was there before."""
    copy = tmp_path / "elsewhere/deeper"
    subprocess.run(["git", "clone", "--quiet", repo, copy], check=True)
    built = copy / "build"
    built.mkdir()
    for name in ("micropython", "mpy-cross"):
        subprocess.run(["cp", "-a", repo / "build" / name, built], check=True)
    python = {"PATH": f"{sys.prefix}/bin:/usr/bin:/bin", "MAKELEVEL": "1"}
    parts = ["firmware", "BOARD=NUMAKER_M55M1"], ["tools/sim_host"], ["tools/qemu_plugin"]
    for part, *options in parts:
        command = ["make", "-j2", "-C", copy / part, *options]
        subprocess.run(command, check=True, env=python, capture_output=True)
    for name in (
        *(f"firmware/NUMAKER_M55M1/{name}" for name in (archive.ELF, archive.BIN)),
        "sim_host/libethosu_sim.so",
        "qemu_plugin/libethosu_qemu.so",
    ):
        files = [place / "build" / name for place in (copy, repo)]
        if name.endswith(".so"):  # as in a wheel
            strip = ["strip", "--strip-unneeded", "-o"]
            for at, file in enumerate(files):
                subprocess.run([*strip, tmp_path / f"{at}.so", file], check=True)
            files = [tmp_path / "0.so", tmp_path / "1.so"]
        assert files[0].read_bytes() == files[1].read_bytes(), name
