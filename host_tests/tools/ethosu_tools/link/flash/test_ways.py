# SPDX-License-Identifier: MIT
"""Tests common parts of all ways of flashing a board."""

import json
import re

import pytest
from ethosu_tools import boards
from ethosu_tools.link.flash import WAYS, disk

from host_tests.kit import pages

from . import vendors

REAL = [(name, way) for name in boards.names() for way in boards.load(name).flash]


@pytest.mark.parametrize("way", WAYS)
def test_a_dry_run_lists_every_step_and_runs_none(flashed, tree, way, monkeypatch):
    monkeypatch.setenv("PATH", "")
    before = sorted(tree.rglob("*"))
    data = flashed("--way", way, "--dry-run")
    assert (data["way"], data["dry_run"], sorted(tree.rglob("*"))) == (way, True, before)
    assert any("firmware." in step for step in data["steps"])


@pytest.mark.parametrize(
    ("way", "missing"),
    [
        ("disk", 'no disk "NuMicro MCU" is mounted'),
        ("xmodem", "we2_local_image_gen is needed"),
        ("alif", "Alif's security toolkit is needed"),
        ("dfu", "dfu-util is not on PATH"),
        ("jlink", "JLinkExe is not on PATH"),
        ("pyocd", "pyocd is not on PATH"),
        ("openocd", "openocd is not on PATH"),
    ],
)
def test_a_missing_tool_is_one_error_that_names_its_documentation(
    ethosu, tree, way, missing, monkeypatch
):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(disk, "mounted", list)
    code, _, err = ethosu("flash", "B", "--way", way, "--port", "PORT")
    assert (code, err.count("\n")) == (4, 1)
    assert missing in err and "see " in err


def test_boards_that_cannot_be_flashed_are_reported(ethosu, fails, tree):
    fails("flash", "NONE", "--dry-run", code=3, said="ethosu qemu --board NONE")
    (tree / "build/firmware/B/firmware.elf").unlink()
    fails("flash", "B", code=4, said="build it with `make firmware BOARD=B`")
    code, out, err = ethosu("flash", "B", "--dry-run")
    assert code == 0 and "warning" in err and "make firmware BOARD=B" in err and "  1. " in out


@pytest.mark.parametrize(("name", "way"), REAL)
def test_the_boards_have_the_settings_of_their_ways(ethosu, name, way):
    code, out, err = ethosu("flash", name, "--way", way, "--dry-run")
    assert code == 0 and "firmware." in out, err
    # Errors quote these texts, and an installed package has no pages.
    assert ".md" not in str(boards.load(name).flash[way])


def test_pages_tell_alifs_programs_only_what_they_take():
    lines = [
        line
        for page in pages.names()
        if page.startswith("boards/")
        for block in pages.blocks(page)
        for line in block.text.splitlines()
    ]
    told = set()
    for line in lines:
        for program in re.findall(r"\b[\w-]+\.py\b", line):
            options = vendors.OPTIONS.get(program)
            if options:
                told.add(program)
                assert set(re.findall(r" (--[a-z-]+)", line)) <= options
    assert told == {program for program in vendors.OPTIONS if program.endswith(".py")}


@pytest.mark.parametrize("way", WAYS)
def test_doctor_has_what_each_way_needs(ethosu, monkeypatch, tmp_path, way):
    """doctor has a row for each tool: what to install, in one sentence, and for which boards."""
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("ETHOSU_ALIF_TOOLKIT", "ETHOSU_WE2_TOOL", "ETHOSU_OPENOCD_LOADER"):
        monkeypatch.delenv(name, raising=False)
    code, out, _ = ethosu("doctor", "--json")
    rows = [row for row in json.loads(out)["checks"] if f"--way {way}: " in row["for"]]
    having = {name.partition("-")[0] for name, each in REAL if each == way}
    assert code == 0 and [row["name"] for row in rows] == [tool.name for tool in WAYS[way].tools]
    assert bool(rows) == (way != "disk")
    for row in rows:
        assert row["found"] is None and "\n" not in row["missing"]
        assert "https://" in row["missing"] or "apt install" in row["missing"]
        assert set(row["for"].partition(": ")[2].split(", ")) == having


def test_doctor_names_the_version_of_a_tool(ethosu, bin_folder):
    tool = bin_folder("dfu-util", "assert sys.argv[1] == '-V'; print('dfu-util 0.11')")
    _, out, _ = ethosu("doctor", "--json")
    (row,) = [row for row in json.loads(out)["checks"] if row["name"] == "dfu-util"]
    assert (row["found"], row["missing"]) == (f"dfu-util 0.11, {tool}", None)


@pytest.mark.parametrize("way", WAYS)
def test_missing_and_misspelled_settings_are_named(fails, tree, way):
    toml = tree / "boards/B/board.toml"
    text = toml.read_text()
    name = min(WAYS[way].settings)
    before, section, after = text.partition(f"[flash.{way}]\n")
    for changed, said in (
        (after.replace(f"{name} =", f"{name}x =", 1), f"[flash.{way}] lacks {name}"),
        (f"odd = 1\n{after}", f"[flash.{way}] has unknown settings: odd"),
    ):
        toml.write_text(before + section + changed)
        boards.forget()
        fails("flash", "B", "--way", way, "--dry-run", code=4, said=said)
