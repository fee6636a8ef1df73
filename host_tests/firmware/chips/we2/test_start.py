# SPDX-License-Identifier: MIT
"""The image starts in the state that the first boot stage, which is emulated, leaves."""

import pytest
from ethosu_tools.boards import files
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

from host_tests.kit import sharing

BOARD = "GROVE_VISION_AI_V2"
ITNS = range(0xE000E380, 0xE000E3C0, 4)
SAU_CTRL, SAU_RNR, SAU_RBAR, SAU_RLAR = 0xE000EDD0, 0xE000EDD8, 0xE000EDDC, 0xE000EDE0
AIRCR, SCR = 0xE000ED0C, 0xE000ED10
PRIS = 1 << 14


@pytest.fixture
def leaves(repo) -> list[tuple[int, int]]:
    """Return registers and values that the emulated stage writes, in order."""
    program = sharing.script(repo / "tools/qemu_plugin/board_table.py")
    table = dict(program.tables(repo / "tools/qemu_plugin/boards"))[BOARD]
    return [(row["address"], row["value"]) for row in table["boot"]["leaves"]]


def read(board: QemuBoard, register: int) -> int:
    return board.eval(f"__import__('machine').mem32[{register}]") & 0xFFFFFFFF


@pytest.mark.parametrize("coherence", ["off", "strict"])
def test_the_start_up_changes_what_would_harm_it(emulator_only, each_qemu, leaves, coherence):
    """The start-up undoes what would do harm; it keeps non-secure regions, which it never uses."""
    left = dict(leaves)
    assert any(register in left for register in ITNS) and left[SCR]
    with QemuBoard(Machine(emulated(BOARD, coherence=coherence))) as board:
        assert {read(board, register) for register in ITNS} == {0}
        assert read(board, SCR) == 0
        assert read(board, SAU_CTRL) == left[SAU_CTRL] == 1
        assert read(board, AIRCR) & PRIS == left[AIRCR] & PRIS
        board.exec(f"__import__('machine').mem32[{SAU_RNR}] = 2")
        assert read(board, SAU_RLAR) == left[SAU_RLAR]


def test_no_memory_of_the_board_is_in_a_non_secure_region(repo, leaves):
    """The SAU's third region has no effect: the chip makes 0x50000000 secure all the same."""
    bounds = [value for register, value in leaves if register in (SAU_RBAR, SAU_RLAR)]
    regions = [(first, last | 31) for first, last in zip(bounds[::2], bounds[1::2], strict=True)]
    assert len(regions) == 3 and regions.pop() == (0x40000000, 0xDFFFFFFF)
    table = files.read(repo, repo / "boards" / BOARD / files.FILE)
    for row in table["memories"]:
        for first, last in regions:
            assert row["end"] <= first or row["start"] > last, row["name"]
