# SPDX-License-Identifier: MIT
"""The panel flashes over USB, with the Device Firmware Upgrade class."""

import json
import random
import struct

import pytest
from ethosu_tools import boards
from ethosu_tools.link.flash.archive import pack

from ...steps import click
from .own_board import (
    IDLE,
    OWN_STATUS,
    archive,
    bytes_of,
    cancel,
    choose_board,
    opened_panel,
    press,
    zipped,
)

HP, HE = 1, 2
DETACH, DNLOAD, GETSTATUS, CLRSTATUS, ABORT = 0, 1, 3, 4, 6
IDLE_STATE, DNLOAD_SYNC, DNBUSY, ERROR_STATE = 2, 3, 4, 10
LONGEST = 0xFFFFFF  # milliseconds, of a wait that a device can ask for
# The requests that each state takes: appendix A.2 of the specification.
TAKEN = {
    2: [DNLOAD, GETSTATUS, ABORT],
    3: [GETSTATUS],
    4: [],
    5: [DNLOAD, GETSTATUS, ABORT],
    6: [GETSTATUS],
    7: [],
    8: [],
    9: [GETSTATUS, ABORT],
    10: [GETSTATUS, CLRSTATUS],
}
SILENT_STATES = [state for state, taken in TAKEN.items() if not taken]
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


def plug(page, late=False, loader="OpenMvLoader", **values):
    page.evaluate(
        f"globalThis.device = new {loader}({json.dumps(values)});"
        f"globalThis.usb = new FakeUsb(device, {json.dumps(late)}); useUsb(usb); 0"
    )


def check_flashed(page, core=HP, refused=()):
    """The flash has the image, the boot loader refused no request, and it has left."""
    assert bytes_of(page, f"device.at({START[core]})") == firmware(core)
    assert page.evaluate("device.refused") == [*refused]
    assert page.evaluate("device.attached") is False


@pytest.mark.parametrize(
    "loader",
    [
        {},
        {"loader": "DfuDevice", "transferSize": 64},
        {"loader": "DfuDevice", "transferSize": 4096, "tolerant": False},
    ],
    ids=str,
)
@pytest.mark.parametrize("core", [HP, HE])
def test_the_image_is_in_the_partition_of_its_core(panel, tmp_path, core, loader):
    """As a file, or in a released archive."""
    name = f"OPENMV_AE3-M55_{'HP' if core == HP else 'HE'}"
    path = archive(tmp_path / "r.zip", name, firmware_bin=firmware(core), firmware_elf=b"")
    plug(panel, **loader)
    choose_board(panel, core, path)
    assert press(panel, "flash").startswith(FLASHED.format(len(firmware(core))))
    refused = [DETACH] if loader.get("tolerant", loader) else []  # one of OpenMV's own
    check_flashed(panel, core, refused)


@pytest.mark.parametrize("loader", ["DfuDevice", "OpenMvLoader"])
@pytest.mark.parametrize("left", [*range(IDLE_STATE + 1, ERROR_STATE + 1)])
def test_what_an_interrupted_transfer_left_is_cleared(panel, image, left, loader):
    """A device that takes no request now, and refuses the first one, too."""
    plug(panel, loader=loader, faults={"left": [left, 3 * (left == ERROR_STATE)]})
    choose_board(panel, HP, image)
    assert press(panel, "flash").startswith("Flashed ")
    silent = [GETSTATUS] if left in SILENT_STATES else []
    check_flashed(panel, HP, [*silent, DETACH] if loader == "DfuDevice" else [])


@pytest.mark.parametrize("state", range(IDLE_STATE, ERROR_STATE + 1))
def test_the_strict_device_refuses_what_the_specification_has_not(panel, state):
    """Each request of each state against the table of appendix A.2."""
    plug(panel, loader="DfuDevice", faults={"left": [state, 0]})
    taken = [
        request
        for request in (DETACH, DNLOAD, GETSTATUS, CLRSTATUS, ABORT)
        if panel.evaluate(
            f"(async () => {{ const d = new DfuDevice({{faults: {{left: [{state}, 0]}}}});"
            f"const setup = {{requestType: 'class', request: {request}, value: 0}};"
            f"const done = {request} === {GETSTATUS} ? await d.controlTransferIn(setup, 6)"
            " : await d.controlTransferOut(setup, new Uint8Array(8));"
            f"if (done.status === 'stall' && d.state !== {ERROR_STATE}) throw new Error(d.state);"
            "return done.status === 'ok'; })()"
        )
    ]
    assert taken == TAKEN[state]


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
@pytest.mark.parametrize("loader", ["DfuDevice", "OpenMvLoader"])
def test_after_a_failure_the_next_try_works(panel, image, faults, message, loader):
    plug(panel, loader=loader, faults=faults, pollMs=1)
    choose_board(panel, HP, image)
    assert press(panel, "flash") == f"It failed: {message}."
    panel.evaluate("device.faults = {}; device.plug(); 0")
    assert press(panel, "flash").startswith("Flashed ")
    check_flashed(panel, HP, [DETACH] if loader == "DfuDevice" else [])


@pytest.mark.parametrize("loader", ["DfuDevice", "OpenMvLoader"])
def test_a_cancelled_transfer_leaves_a_boot_loader_that_takes_the_next_one(panel, image, loader):
    plug(panel, loader=loader, transferSize=64)
    choose_board(panel, HP, image)
    assert cancel(panel, "device.blocks > 1").startswith("Cancelled: the firmware on the board may")
    assert panel.evaluate("[device.state, device.requests.at(-1)]") == [IDLE_STATE, ABORT]
    assert panel.evaluate("[device.attached, document.getElementById('own-cancel').hidden]") == [
        True,
        True,
    ]
    assert press(panel, "flash").startswith("Flashed ")
    check_flashed(panel, HP, [DETACH] if loader == "DfuDevice" else [])


@pytest.mark.parametrize("wait", [500, LONGEST])
@pytest.mark.parametrize(
    ("left", "cancelled", "late"),
    [
        (IDLE_STATE, "Cancelled: the firmware on the board may", "stays busy at block 1 of 3"),
        (DNLOAD_SYNC, "Cancelled: nothing was written.", "does not become idle: unplug the board"),
    ],
)
def test_a_boot_loader_that_stays_busy_is_an_error_and_can_be_cancelled(
    panel, image, left, cancelled, late, wait
):
    """However long it says that it will be, before the first block, too."""
    busy = {"loader": "DfuDevice", "faults": {"left": [left, 0], "busy": True}, "pollMs": wait}
    plug(panel, **busy)
    choose_board(panel, HP, image)
    assert late in press(panel, "flash")
    plug(panel, **busy)
    assert cancel(panel, f"device.state === {DNBUSY}").startswith(cancelled)
    panel.evaluate("Object.assign(device, {faults: {}, pollMs: 1}); 0")
    assert press(panel, "flash").startswith("Flashed ")
    assert bytes_of(panel, f"device.at({START[HP]})") == firmware(HP)


def test_cancelling_at_the_end_writes_no_end(panel, image):
    plug(panel, loader="DfuDevice", pollMs=800)
    choose_board(panel, HP, image)
    assert cancel(panel, "device.blocks === 3").startswith("Cancelled: the firmware on the board")
    assert panel.evaluate("[device.state, device.requests.at(-1)]") == [IDLE_STATE, ABORT]


def test_cancelling_while_the_user_chooses_is_heard(panel, image):
    """The browser's list of devices stays open; what is chosen there is not waited for."""
    plug(panel, late=True)
    panel.evaluate(
        "usb.requestDevice = async () => { document.getElementById('own-cancel').click();"
        "device.unplug(); return device; }; 0"
    )
    choose_board(panel, HP, image)
    assert press(panel, "flash") == "Cancelled: nothing was written."


def test_waiting_for_the_boot_loader_can_be_cancelled(panel, image):
    plug(panel, late=True)
    choose_board(panel, HP, image)
    said = f"{OWN_STATUS}.includes('then starts by itself')"
    assert cancel(panel, said) == "Cancelled: nothing was written."
    panel.evaluate("usb.plug()")
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"firmware.bin": firmware(HP)[:-1] + b"?"},
            "firmware.bin is not the file that was released",
        ),
        ({"firmware.elf": b"?"}, "firmware.elf is not the file that was released"),
        ({"firmware.elf": None}, "firmware.elf is not the file that was released"),
        ({"board.json": b"[]"}, "is not a board's archive of a release"),
        ({"board.json": b'{"board": "OPENMV_AE3-M55_HP", "files": {"x": 1}}'}, "is not a board's"),
        ({"board.json": b"{"}, "is not a board's archive of a release"),
    ],
    ids=str,
)
def test_an_archive_that_was_changed_is_not_sent(panel, tmp_path, change, message):
    made = pack(
        boards.load("OPENMV_AE3-M55_HP"), {"firmware.bin": firmware(HP), "firmware.elf": b"\x7fELF"}
    )
    made = {name: data for name, data in (made | change).items() if data is not None}
    plug(panel)
    choose_board(panel, HP, zipped(tmp_path / "r.zip", made))
    said = press(panel, "flash")
    assert said.startswith("It failed: r.zip ") and message in said
    assert panel.evaluate("[usb.asked, device.blocks]") == [0, 0]


def test_a_browser_without_usb_says_what_to_do(panel, image):
    choose_board(panel, HP, image)
    panel.evaluate("useUsb(undefined); 0")
    assert "use Chrome or Edge on a computer, or `ethosu flash`" in press(panel, "flash")
