# SPDX-License-Identifier: MIT
"""Common to all ways of flashing a board."""

import pytest
from ethosu_tools import boards
from ethosu_tools.flash import WAYS, disk

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


def test_boards_that_cannot_be_flashed_are_reported(ethosu, tree):
    code, _, err = ethosu("flash", "NONE", "--dry-run")
    assert code == 3 and "ethosu qemu --board NONE" in err
    (tree / "build/firmware/B/firmware.elf").unlink()
    code, _, err = ethosu("flash", "B")
    assert code == 4 and "build it with `ethosu build B`" in err
    code, out, err = ethosu("flash", "B", "--dry-run")
    assert code == 0 and "warning" in err and "ethosu build B" in err and "  1. " in out


@pytest.mark.parametrize(("name", "way"), REAL)
def test_the_boards_have_the_settings_of_their_ways(ethosu, name, way):
    code, out, err = ethosu("flash", name, "--way", way, "--dry-run")
    assert code == 0 and "firmware." in out, err


@pytest.mark.parametrize("way", WAYS)
def test_missing_and_misspelled_settings_are_named(ethosu, tree, way):
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
        code, _, err = ethosu("flash", "B", "--way", way, "--dry-run")
        assert code == 4 and said in err
