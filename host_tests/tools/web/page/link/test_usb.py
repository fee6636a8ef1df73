# SPDX-License-Identifier: MIT
"""The panel flashes over USB, with the Device Firmware Upgrade class."""

import json
import random
import struct

import pytest

from ...steps import click
from .own_board import IDLE, OWN_STATUS, archive, bytes_of, choose_board, opened_panel, press

HP, HE = 1, 2
START = {HP: 0x80020000, HE: 0x80320000}
FLASHED = "Flashed {:,} bytes. Its prompt is at the header's UART"


def firmware(core, size=9000):
    """Make an image whose vectors are for this core."""
    return struct.pack("<2I", 0x20040000, START[core] + 0x101) + random.Random(core).randbytes(size)


@pytest.fixture
def panel(page):
    return opened_panel(page)


@pytest.fixture
def image(tmp_path):
    (tmp_path / "firmware.bin").write_bytes(firmware(HP))
    return tmp_path / "firmware.bin"


def plug(page, late=False, **values):
    page.evaluate(
        f"globalThis.device = new DfuDevice({json.dumps(values)});"
        f"globalThis.usb = new FakeUsb(device, {json.dumps(late)}); useUsb(usb); 0"
    )


def check_flashed(page, core=HP):
    """The flash has the image, no request came too early, and the boot loader has left."""
    assert bytes_of(page, f"device.at({START[core]})") == firmware(core)
    assert page.evaluate("[device.early, device.attached]") == [0, False]


@pytest.mark.parametrize("size", [64, 4096])
@pytest.mark.parametrize("tolerant", [True, False])
@pytest.mark.parametrize("core", [HP, HE])
def test_the_image_is_in_the_partition_of_its_core(panel, tmp_path, core, size, tolerant):
    """As a file, or in a released archive."""
    name = f"OPENMV_AE3-M55_{'HP' if core == HP else 'HE'}"
    path = archive(tmp_path / "r.zip", name, firmware_bin=firmware(core), firmware_elf=b"")
    plug(panel, transferSize=size, tolerant=tolerant)
    choose_board(panel, core, path)
    assert press(panel, "flash").startswith(FLASHED.format(len(firmware(core))))
    check_flashed(panel, core)


@pytest.mark.parametrize("left", [[5, 0], [10, 3], [9, 0], [3, 0]], ids=str)
def test_what_an_interrupted_transfer_left_is_cleared(panel, image, left):
    plug(panel, faults={"left": left})
    choose_board(panel, HP, image)
    assert press(panel, "flash").startswith("Flashed ")
    check_flashed(panel)


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        ({"stall": 2}, "the boot loader refused block 2 of 3: it cannot write (dfuERROR)"),
        ({"silent": 2}, "the boot loader does not answer: unplug the board and try again"),
        ({"unplug": 2}, "the board was unplugged: plug it in and try again"),
        ({"busy": True}, "the boot loader stays busy at block 1 of 3"),
    ],
    ids=str,
)
def test_after_a_failure_the_next_try_works(panel, image, faults, message):
    plug(panel, faults=faults, pollMs=1)
    choose_board(panel, HP, image)
    assert press(panel, "flash") == f"It failed: {message}."
    panel.evaluate("device.faults = {}; device.plug(); 0")
    assert press(panel, "flash").startswith("Flashed ")
    check_flashed(panel)


def test_a_boot_loader_that_did_not_wait_is_caught_at_the_next_plug(panel, image):
    plug(panel, late=True)
    choose_board(panel, HP, image)
    click(panel, "own-flash")
    panel.wait_for(f"{OWN_STATUS}.includes('then starts by itself')")
    panel.evaluate("usb.plug()")
    panel.wait_for(IDLE)
    assert panel.evaluate(OWN_STATUS).startswith("Flashed ")
    check_flashed(panel)
    assert panel.evaluate("usb.asked") == 1


def test_a_boot_loader_that_never_comes_is_an_error(panel, image):
    plug(panel, late=True)
    choose_board(panel, HP, image)
    assert press(panel, "flash") == "It failed: the boot loader did not appear."


def test_a_wrong_image_is_not_sent(panel, tmp_path):
    for name, data in (
        ("other.bin", firmware(HE)),
        ("elf.bin", b"\x7fELF" + bytes(99)),
        ("short.bin", b"1"),
        ("large.bin", firmware(HP, 0x300000)),
    ):
        (tmp_path / name).write_bytes(data)
    plug(panel)
    for name, message in (
        ("other.bin", "it is no firmware for this core: it would start at 0x80320101"),
        ("elf.bin", "it is an ELF file: the boot loader needs firmware.bin"),
        ("short.bin", "it is no firmware for this core"),
        ("large.bin", "it has 3145736 bytes, but the partition holds 3145728"),
    ):
        choose_board(panel, HP, tmp_path / name)
        assert f"{name} was not sent: {message}" in press(panel, "flash")
    assert panel.evaluate("usb.asked") == 0


def test_a_browser_without_usb_says_what_to_do(panel, image):
    choose_board(panel, HP, image)
    panel.evaluate("useUsb(undefined); 0")
    assert "use Chrome or Edge on a computer, or `ethosu flash`" in press(panel, "flash")
