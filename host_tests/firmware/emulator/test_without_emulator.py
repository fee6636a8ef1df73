# SPDX-License-Identifier: MIT
"""Only the emulator's images contain code for the emulator, and none depends on tools/."""

import re
from pathlib import Path

import pytest
from ethosu_tools.base import paths
from ethosu_tools.base.errors import RemoteError

from host_tests.firmware.conftest import build, start
from host_tests.kit import sharing

# Global names in firmware/emulator/, and the folder itself in the linker's map.
EMULATOR_SYMBOL = r"^\w+ \w ((?:emulator|bench_model)_\w+)$"
EMULATOR_OBJECT = r"firmware/emulator/\w+\.o"


def _symbols(image: Path) -> list[str]:
    symbols = sharing.run(["arm-none-eabi-nm", "--defined-only", image])
    return re.findall(EMULATOR_SYMBOL, symbols, re.MULTILINE)


def _objects(image: Path) -> list[str]:
    return re.findall(EMULATOR_OBJECT, image.with_suffix(".map").read_text())


@pytest.fixture(scope="module")
def product() -> Path:
    """Build the firmware without the emulator's code."""
    return build("MPS3_AN547-no-emulator", "BOARD_EMULATOR=no")


def test_the_product_has_none_of_the_emulator_s_code(product, firmware):
    assert (_symbols(product), _objects(product)) == ([], [])
    assert {"emulator_module", "bench_model_costs_obj"} <= set(_symbols(firmware))
    assert _objects(firmware), "the same search finds it in an image for the emulator"


def test_the_product_boots_over_the_uart(product):
    with start(product) as uart, uart.board() as board:
        assert board.eval("6 * 7") == 42
        board.exec("import ethosu")
        with pytest.raises(RemoteError, match="ImportError: no module named 'emulator'"):
            board.exec("import emulator")


def test_its_own_image_reports_a_missing_plugin():
    with start(paths.firmware("MPS3_AN547")) as uart, uart.board() as board:
        said = r"ImportError: .*not running on QEMU with the .* plugin"
        with pytest.raises(RemoteError, match=said):
            board.exec("import emulator")


def test_a_fault_of_the_product_is_reported_over_the_uart(product):
    with start(product) as uart, uart.terminal() as terminal:
        terminal.write(b"\r\x03\x03")
        terminal.read_until(b"\n>>> ")
        terminal.write(b"import machine; machine.mem32[0]\r")
        report = terminal.read_until(b"skipped once")
    assert b"*** Fault: MemManage" in report and report.endswith(b"skipped once")


def test_no_object_of_the_firmware_includes_a_file_of_tools(firmware):
    """No object depends on a file of tools/, according to the compiler's dependency lists."""
    linked = re.findall(r"^LOAD (.+)\.o$", firmware.with_suffix(".map").read_text(), re.MULTILINE)
    texts = {name: Path(f"{name}.P").read_text() for name in linked}
    assert any("firmware/emulator/emulator_registers.h" in text for text in texts.values())
    assert [name for name, text in texts.items() if f"{paths.root()}/tools/" in text] == []
