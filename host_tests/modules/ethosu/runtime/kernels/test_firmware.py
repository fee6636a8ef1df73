# SPDX-License-Identifier: MIT
"""A firmware contains exactly the kernels that its builder selects."""

import re

import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

from host_tests.kit import board_models, sharing
from host_tests.kit.models.mixed_models import MODELS

from . import board_cases

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Build a firmware repeatedly in one folder: `build("SOFTMAX")`."""
    folder = tmp_path_factory.mktemp("firmware")

    def run(kernels):
        sharing.make("firmware", f"BUILD={folder}", f"ETHOSU_KERNELS={kernels}", "CMSIS_NN_DIR=")
        return folder / "firmware.elf"

    return run


def kernel_files(firmware):
    """Return object files of kernels with any section left in the linker's map."""
    text = firmware.with_suffix(".map").read_text(errors="replace")
    _, _, kept = text.partition("Linker script and memory map")
    return set(
        re.findall(
            r"^ \.text\S*\s+0x\w+\s+0x\w+\s+\S*/runtime/kernels/(?:\w+/)?(\w+)\.o", kept, re.M
        )
    )


def test_without_kernels_then_with_those_that_are_named(
    build, compile_mixed, small_models, compiled
):
    mixed = MODELS["mixed_cnn"]
    model = compile_mixed("chosen", mixed.make(), mixed.options)
    npu_only = compiled(small_models["small_cnn"])

    firmware = build("none")
    assert kernel_files(firmware) == set()
    with QemuBoard(Machine(emulated(firmware=firmware))) as board:
        board_cases.check_graph(board, small_models["small_cnn"], npu_only)
        board.write_file("/mixed.tflite", model.planned.read_bytes())
        reason = board_models.raised(board, "import ethosu\nethosu.Model('/mixed.tflite')")
        assert "operator 0 (CONV_2D)" in reason
        assert "make firmware ETHOSU_KERNELS=all" in reason

    firmware = build("CONV_2D ADD SOFTMAX")
    assert {"conv", "binary", "softmax"} <= kernel_files(firmware)
    assert not {"svdf", "pool", "resize"} & kernel_files(firmware)
    with QemuBoard(Machine(emulated(firmware=firmware))) as board:
        board_cases.check_graph(board, model.source, model.planned)
