# SPDX-License-Identifier: MIT
"""A source tree with a board that supports all ways of flashing, and programs on PATH."""

import json
import os

import pytest
from ethosu_tools import boards

from host_tests.kit import stand_ins

from . import IMAGE

FLASH = """\
[flash.disk]
label = "NuMicro MCU"
info = "NU_CFG.TXT"
refuse = "Nu-Link"
largest = 0x2000
documentation = "see its manual"
[flash.xmodem]
baud = 921600
largest = 0x2000
project = "project.json"
input = "in/firmware.elf"
output = "out/output.img"
[flash.dfu]
device = "37c5:96e3"
partition = 1
largest = 0x2000
how = "plug it in"
[flash.alif]
part = "AE722F80F55D5LS"
revision = "B4"
device_config = "app-device-config-ae7.json"
cpu = "M55_HP"
address = 0x80020000
[flash.jlink]
device = "AE722F80F55D5_HP"
address = 0x80020000
[flash.pyocd]
target = "m55m1h2ljae"
[flash.openocd]
interface = "interface/kitprog3.cfg"
target = "target/chip.cfg"
loader = "SMIF.FLM"
layout = "qspi.cfg"
address = 0x60500000
"""


@pytest.fixture
def tree(empty_tree, monkeypatch):
    """A source tree with a built board that supports all ways of flashing, and one without any."""
    for name, text in (("B", stand_ins.BOARD + FLASH), ("NONE", stand_ins.BOARD)):
        (empty_tree / "boards" / name).mkdir(parents=True)
        (empty_tree / "boards" / name / boards.FILE).write_text(text)
    built = empty_tree / "build/firmware/B"
    built.mkdir(parents=True)
    (built / "firmware.elf").write_bytes(b"\x7fELF" + IMAGE)
    (built / "firmware.bin").write_bytes(IMAGE)
    for name in ("ETHOSU_ALIF_TOOLKIT", "ETHOSU_WE2_TOOL", "ETHOSU_OPENOCD_LOADER"):
        monkeypatch.delenv(name, raising=False)
    return empty_tree


@pytest.fixture
def bin_folder(tmp_path, monkeypatch):
    """A folder at the front of PATH; `write(name, text)` puts a Python program into it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)

    def write(name, text, folder=folder):
        folder.mkdir(parents=True, exist_ok=True)
        return stand_ins.program(folder / name, f"import json, pathlib, sys\n{text}")

    return write


@pytest.fixture
def flashed(ethosu, tree):
    """Runs `ethosu flash B ...`, which must succeed; returns its result."""

    def run(*words):
        code, out, err = ethosu("flash", "B", *words, "--json")
        assert code == 0, err
        return json.loads(out)

    return run
