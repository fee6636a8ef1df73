# SPDX-License-Identifier: MIT
"""Tests flashing by Alif's toolkit, dfu-util or a debug probe, with fake programs."""

import json
import os
import shlex

import pytest
from ethosu_tools.base import other_python
from ethosu_tools.link.flash import common

from . import IMAGE, vendors

PORT = "--way", "alif", "--port"


@pytest.fixture
def toolkit(tree, bin_folder, monkeypatch):
    """MicroPython's edition of Alif's toolkit on PATH; this Python has what it imports."""
    monkeypatch.setattr(other_python, "require", lambda *_: None)
    monkeypatch.setattr(other_python, "environment", lambda _: None)
    bin_folder("app-gen-toc.py", vendors.GENERATE)
    return bin_folder("app-write-mram.py", vendors.WRITE).parent


def test_micropythons_edition_of_alifs_toolkit_writes_the_image(fails, flashed, tree, toolkit):
    flashed(*PORT, "PORT")
    contents = b"AE722F80F55D5LSM55_HP"
    assert json.loads((toolkit / "mram").read_text()) == [
        [IMAGE.hex(), "0x80020000"],
        [contents.hex(), "0x8057f830"],
    ]
    fails("flash", "B", "--way", "alif", code=2, said="--port")


def test_a_folder_may_have_a_space_in_its_name(flashed, tree, toolkit, monkeypatch):
    """Folders with a space work, although the toolkit separates files by spaces."""
    monkeypatch.setattr("ethosu_tools.base.paths.work", lambda name: tree / "a folder" / name)
    flashed(*PORT, "PORT")
    assert IMAGE.hex() in (toolkit / "mram").read_text()


@pytest.mark.parametrize("name", vendors.alif_boards())
def test_the_chips_own_part_and_revision_reach_both_programs(ethosu, name):
    """Both programs get the chip's part and revision, to which a table of contents is bound."""
    settings = vendors.alif_boards()[name]
    code, out, err = ethosu("flash", name, *PORT, "PORT", "--dry-run", "--json")
    assert code == 0, err
    chip = ["--cfg-part", settings["part"], "--cfg-rev", settings["revision"]]
    assert settings["revision"] in vendors.REVISIONS[settings["part"]]
    assert settings["device_config"] in vendors.DEVICE_CONFIGS
    for step, program in zip(json.loads(out)["steps"][1:], list(vendors.OPTIONS)[:2], strict=True):
        words = shlex.split(step.partition("; ")[2])
        assert words[1].endswith(program)
        assert {word for word in words if word.startswith("--")} <= vendors.OPTIONS[program]
        at = words.index("--cfg-part")
        assert words[at : at + 4] == chip


def test_the_revision_of_the_chip_can_be_given(ethosu, fails, tree, toolkit):
    words = "flash", "B", *PORT, "PORT", "--set"
    code, _, err = ethosu(*words, "revision=A1")
    assert (code, err) == (5, "ethosu: app-gen-toc.py failed (exit code 1): Revision is invalid!\n")
    code, _, err = ethosu(*words, "revisoin=B4")
    assert (
        code == 2 and "B by alif has no setting revisoin, only address, cpu, device_config" in err
    )
    code, _, err = ethosu(*words, "address=here")
    assert code == 2 and "expected a number for address, such as 0x80020000, found 'here'" in err
    fails(*words, "revision", code=2, said="expected NAME=VALUE, found 'revision'")
    code, out, _ = ethosu(*words, "address=0x80000000", "--dry-run")
    assert code == 0 and "for 0x80000000" in out


def test_a_board_with_another_chip_is_not_written(ethosu, tree, toolkit):
    """A board with another chip is not written: the toolkit's question is answered with no."""
    code, _, err = ethosu("flash", "B", *PORT, "WRONG")
    assert code == 5 and not (toolkit / "mram").exists()
    assert "Part Revision mismatch detected! | Expected: B4 | Detected: B3 | Continue" in err


def test_an_edition_that_cannot_be_told_the_chip_is_refused(ethosu, tree, toolkit, bin_folder):
    bin_folder("app-gen-toc.py", "")
    code, _, err = ethosu("flash", "B", *PORT, "PORT")
    assert (code, err.count("\n")) == (4, 1)
    assert "is too old: its app-gen-toc.py has no option --cfg-part" in err


def test_the_python_of_the_toolkit_is_its_own(ethosu, tree, bin_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    bin_folder("app-gen-toc.py", vendors.GENERATE)
    bin_folder("app-write-mram.py", vendors.WRITE)
    without = bin_folder("without", "sys.exit(\"No module named 'cryptography'\")")
    code, _, err = ethosu("flash", "B", *PORT, "PORT", "--python", without)
    assert (code, err.count("\n")) == (4, 1)
    assert "No module named 'cryptography'" in err and "`ethosu doctor --install alif`" in err
    assert "--python" in err
    monkeypatch.chdir(without.parent)
    _, out, _ = ethosu("flash", "B", *PORT, "PORT", "--python", "./without", "--dry-run")
    assert out.count(f"; {without} ") == 2  # the programs run in another folder
    monkeypatch.setattr(other_python, "environment", lambda extra: f"/own/{extra}")
    code, out, _ = ethosu("flash", "B", *PORT, "PORT", "--dry-run")
    assert out.count("; /own/alif ") == 2


def test_alifs_own_edition_finds_its_input_in_its_folders(
    ethosu, flashed, tree, tmp_path, bin_folder
):
    toolkit = tmp_path / "app-release-exec-linux"
    bin_folder("app-gen-toc", "pathlib.Path('gen').write_text(sys.argv[2])", toolkit)
    bin_folder("app-write-mram", "pathlib.Path('mram').write_text(str(sys.argv[1:]))", toolkit)
    chip = toolkit / "utils/global-cfg.db"
    chip.parent.mkdir()
    words = "--way", "alif", "--tools", toolkit
    for text, said in (
        ("", "does not name a chip"),
        (
            '{"DEVICE": {"Part#": "E8 (AE822FA0E5597LS0)", "Revision": "A1"}}',
            "is set to E8 (AE822FA0E5597LS0) A1, expected AE722F80F55D5LS B4",
        ),
    ):
        chip.write_text(text)
        code, _, err = ethosu("flash", "B", *words)
        assert code == 4 and said in err and not (toolkit / "gen").exists()
    chip.write_text('{"DEVICE": {"Part#": "E7 (AE722F80F55D5LS) - 5.5 MRAM", "Revision": "B4"}}')
    flashed(*words, "--port", "PORT")
    table = json.loads((toolkit / (toolkit / "gen").read_text()).read_text())["MICROPYTHON"]
    assert (toolkit / "build/images" / table["binary"]).read_bytes() == IMAGE
    assert (toolkit / "mram").read_text() == "['-p', '-c', 'PORT']"


def test_the_last_lines_of_a_failing_tool_are_in_the_error(ethosu, tree, toolkit):
    code, _, err = ethosu("flash", "B", *PORT, "NONE")
    assert (code, err) == (
        5,
        "ethosu: app-write-mram.py failed (exit code 1): [INFO] port override NONE | "
        "[ERROR] isp openSerial failed for NONE\n",
    )


def test_what_a_tool_prints_is_seen_as_it_arrives(ethosu, tree, bin_folder, monkeypatch):
    """On a terminal, a tool's output is shown at once, even if the tool then waits."""
    text = """\
import time
print("Waiting for device", end="\\r", flush=True)
while not pathlib.Path(sys.argv[0] + ".seen").exists():
    time.sleep(0.01)
print("\\x1b[32mDownload done.\\x1b[0m")
"""
    tool = bin_folder("dfu-util", text)
    shown = []

    def show(_, text):
        shown.append(text)
        if "Waiting" in text:
            tool.with_name("dfu-util.seen").touch()

    monkeypatch.setattr("ethosu_tools.base.ui.Ui.show_output", show)
    assert ethosu("flash", "B", "--way", "dfu")[0] == 0
    assert "".join(shown) == "Waiting for device\rDownload done.\n"


def test_a_tool_that_falls_silent_is_ended(ethosu, tree, bin_folder, monkeypatch):
    """A silent tool, such as dfu-util when it waits for a device, is ended."""
    tool = bin_folder(
        "dfu-util",
        """\
import os, time
print("Waiting for device, exit with ctrl-C", flush=True)
pathlib.Path(sys.argv[0] + ".pid").write_text(str(os.getpid()))
time.sleep(600)
""",
    )
    monkeypatch.setattr(common, "SILENCE_S", 3.0)
    code, _, err = ethosu("flash", "B", "--way", "dfu")
    said = "printed nothing for 3 s: Waiting for device, exit with ctrl-C"
    assert (code, err) == (5, f"ethosu: dfu-util {said}\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int(tool.with_name("dfu-util.pid").read_text()), 0)


def test_probes_get_images_and_addresses(flashed, tree, bin_folder):
    report = "pathlib.Path(sys.argv[0]).with_suffix('.log').write_text("
    jlink = bin_folder("JLinkExe", f"{report}pathlib.Path(sys.argv[4]).read_text())")
    pyocd = bin_folder("pyocd", f"{report}' '.join(sys.argv[1:]))")
    built = tree / "build/firmware/B"
    flashed("--way", "jlink")
    script = jlink.with_suffix(".log").read_text().splitlines()
    assert f'LoadFile "{built / "firmware.bin"}",0x80020000' in script
    assert script[0] == "ExitOnError 1" and "Device AE722F80F55D5_HP" in script
    flashed("--way", "pyocd")
    words = f"load --no-wait --target m55m1h2ljae {built / 'firmware.elf'}"
    assert pyocd.with_suffix(".log").read_text() == words


def test_openocd_writes_and_verifies_with_the_vendors_loader(
    ethosu, flashed, tree, bin_folder, tmp_path, monkeypatch
):
    tool = bin_folder("openocd", "pathlib.Path(sys.argv[0] + '.log').write_text(repr(sys.argv))")
    code, _, err = ethosu("flash", "B", "--way", "openocd")
    said = "the folder with SMIF.FLM and qspi.cfg is needed"
    assert code == 4 and said in err and "ETHOSU_OPENOCD_LOADER" in err
    (tmp_path / "SMIF.FLM").touch()
    code, _, err = ethosu("flash", "B", "--way", "openocd", "--tools", tmp_path)
    assert code == 4 and f"{tmp_path} has no qspi.cfg: {said}" in err
    (tmp_path / "qspi.cfg").touch()
    monkeypatch.setenv("ETHOSU_OPENOCD_LOADER", str(tmp_path))
    flashed("--way", "openocd")
    words = eval(tool.with_name("openocd.log").read_text())
    image = tree / "build/flash/B/whole.bin"
    assert image.read_bytes() == IMAGE.ljust(8192, b"\xff")
    assert words[1:3] == ["-s", str(tmp_path)] and set(words[3::2]) == {"-c"}
    assert words[4::2] == [
        f"set QSPI_FLASHLOADER {{{tmp_path}/SMIF.FLM}}",
        "source [find interface/kitprog3.cfg]",
        "transport select swd",
        "source [find target/chip.cfg]",
        "init",
        "reset init",
        "adapter speed 12000",
        f'flash write_image erase "{image}" 0x60500000 bin',
        f'verify_image "{image}" 0x60500000 bin',
        "reset run",
        "shutdown",
    ]


def test_an_openocd_without_the_chip_is_told_apart(ethosu, tree, bin_folder, tmp_path, monkeypatch):
    """An OpenOCD without the chip's files is an error before a probe is accessed."""
    text = """\
if sys.argv[1:] == ["-c", "find interface/kitprog3.cfg", "-c", "shutdown"]:
    sys.exit("Can't find interface/kitprog3.cfg")
pathlib.Path(sys.argv[0] + ".ran").touch()
"""
    tool = bin_folder("openocd", text)
    code, _, err = ethosu("flash", "B", "--way", "openocd", "--tools", tmp_path)
    assert (code, err.count("\n")) == (4, 1)
    assert f"{tool} has no interface/kitprog3.cfg: " in err and "Infineon's, 5.8 or later" in err
    assert not tool.with_name("openocd.ran").exists()


def test_dfu_util_waits_for_the_boot_loader_and_writes(ethosu, flashed, tree, bin_folder):
    tool = bin_folder("dfu-util", "pathlib.Path(sys.argv[0] + '.log').write_text(repr(sys.argv))")
    image = tree / "build/firmware/B/firmware.bin"
    assert flashed("--way", "dfu")["steps"][0] == "when dfu-util is waiting: plug it in"
    expected = [str(tool), *["-w", "-d", ",37c5:96e3", "-a", "1", "--reset", "-D"], str(image)]
    assert tool.with_name("dfu-util.log").read_text() == repr(expected)
    image.write_bytes(bytes(0x2001))
    code, _, err = ethosu("flash", "B", "--way", "dfu")
    assert code == 3 and "8,193 bytes, but the board holds at most 8,192" in err
