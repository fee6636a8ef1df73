# SPDX-License-Identifier: MIT
"""By Alif's toolkit, dfu-util or a debug probe, with fake programs."""

import json

from . import IMAGE

GENERATE = """\
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
table = json.loads(pathlib.Path(options["--filename"]).read_text())["MICROPYTHON"]
image = pathlib.Path(options["--firmware-dir"], table["binary"]).read_bytes()
pathlib.Path(options["--output"]).write_text(table["mramAddress"] + table["cpu_id"])
pathlib.Path(options["--output-dir"], "application_package.ds").write_bytes(image)
"""
WRITE = """\
expected = "--cfg-part AE722F80F55D5LS --cfg-rev B4 --port PORT --pad --images"
assert sys.argv[1:-1] == expected.split()
kind, _, package = sys.argv[-1].partition(":")
assert kind == "file"
(pathlib.Path(sys.argv[0]).parent / "mram").write_bytes(pathlib.Path(package).read_bytes())
"""


def test_micropythons_edition_of_alifs_toolkit_writes_the_image(
    ethosu, flashed, tree, bin_folder, monkeypatch
):
    bin_folder("app-gen-toc.py", GENERATE)
    folder = bin_folder("app-write-mram.py", WRITE).parent
    flashed("--way", "alif", "--port", "PORT")
    assert (folder / "mram").read_bytes() == IMAGE
    assert (tree / "build/flash/B/firmware.toc.bin").read_text() == "0x80020000M55_HP"
    code, _, err = ethosu("flash", "B", "--way", "alif")
    assert code == 2 and "--port" in err


def test_alifs_own_edition_finds_its_input_in_its_folders(flashed, tree, tmp_path, bin_folder):
    toolkit = tmp_path / "app-release-exec-linux"
    bin_folder("app-gen-toc", "pathlib.Path('gen').write_text(sys.argv[2])", toolkit)
    bin_folder("app-write-mram", "pathlib.Path('mram').write_text(sys.argv[1])", toolkit)
    flashed("--way", "alif", "--tools", toolkit)
    table = json.loads((toolkit / (toolkit / "gen").read_text()).read_text())["MICROPYTHON"]
    assert (toolkit / "build/images" / table["binary"]).read_bytes() == IMAGE
    assert (toolkit / "mram").read_text() == "-p"


def test_the_message_of_a_failing_toolkit_is_shown(ethosu, tree, bin_folder):
    bin_folder("app-gen-toc.py", "")
    bin_folder("app-write-mram.py", "print('[ERROR] Target did not respond'); sys.exit(1)")
    code, _, err = ethosu("flash", "B", "--way", "alif", "--port", "PORT")
    assert code == 5 and "[ERROR] Target did not respond" in err


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
    words = f"load --target m55m1h2ljae {built / 'firmware.elf'}"
    assert pyocd.with_suffix(".log").read_text() == words


def test_openocd_writes_and_verifies_with_the_vendors_loader(
    ethosu, flashed, tree, bin_folder, tmp_path, monkeypatch
):
    tool = bin_folder("openocd", "pathlib.Path(sys.argv[0] + '.log').write_text(repr(sys.argv))")
    code, _, err = ethosu("flash", "B", "--way", "openocd")
    assert (
        code == 4 and "the folder with SMIF.FLM is needed" in err and "ETHOSU_OPENOCD_LOADER" in err
    )
    (tmp_path / "SMIF.FLM").touch()
    monkeypatch.setenv("ETHOSU_OPENOCD_LOADER", str(tmp_path))
    flashed("--way", "openocd")
    words = eval(tool.with_name("openocd.log").read_text())
    image = tree / "build/firmware/B/firmware.bin"
    assert words[1:3] == ["-s", str(tmp_path)] and set(words[3::2]) == {"-c"}
    assert words[4::2] == [
        f"set QSPI_FLASHLOADER {{{tmp_path}/SMIF.FLM}}",
        "source [find interface/kitprog3.cfg]",
        "transport select swd",
        "source [find target/chip.cfg]",
        "init",
        "reset init",
        f'flash write_image erase "{image}" 0x60500000 bin',
        f'verify_image "{image}" 0x60500000 bin',
        "reset run",
        "shutdown",
    ]


def test_dfu_util_waits_for_the_boot_loader_and_writes(ethosu, flashed, tree, bin_folder):
    tool = bin_folder("dfu-util", "pathlib.Path(sys.argv[0] + '.log').write_text(repr(sys.argv))")
    image = tree / "build/firmware/B/firmware.bin"
    assert flashed("--way", "dfu")["steps"][0] == "when dfu-util is waiting: plug it in"
    expected = [str(tool), *["-w", "-d", ",37c5:96e3", "-a", "1", "--reset", "-D"], str(image)]
    assert tool.with_name("dfu-util.log").read_text() == repr(expected)
    image.write_bytes(bytes(0x2001))
    code, _, err = ethosu("flash", "B", "--way", "dfu")
    assert code == 3 and "8,193 bytes, but the board holds at most 8,192" in err
