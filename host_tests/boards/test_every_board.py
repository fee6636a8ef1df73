# SPDX-License-Identifier: MIT
"""What every emulated board does, on each QEMU: boot, keep files, compute exactly.

The whole suite runs on one of them with `--board NAME`.
"""

from pathlib import Path

import pytest
from ethosu_tools import boards, romfs
from ethosu_tools.board import QemuBoard
from ethosu_tools.qemu import Machine, find_qemu
from modules.ethosu.runtime.board_models import check
from modules.ethosu.runtime.reference_cases import make_case

from tools.qemu_plugin import releases

EMULATED = [name for name in boards.names() if boards.load(name).qemu]
ROM = {"a.txt": b"hello"}


@pytest.fixture(scope="module", params=["installed", "newer"])
def qemu(request, record_testsuite_property) -> None:
    """Which QEMU runs; `make release` says which it was."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "newer":
            patch.setenv("ETHOSU_QEMU", str(request.getfixturevalue("newer_qemu")))
        version = ".".join(map(str, releases.version(Path(find_qemu()))))
        record_testsuite_property(f"qemu {request.param}", f"QEMU {version}")
        yield


@pytest.fixture(scope="module", params=EMULATED)
def every_board(request, qemu):
    """Each board in turn, just booted, with a file in its ROM."""
    with QemuBoard(Machine(board=request.param, romfs=romfs.build(ROM))) as board:
        yield board


def test_it_has_the_npu_of_its_folder(every_board):
    facts = every_board.machine.board
    assert every_board.eval("__import__('ethosu').npus()") == [facts.npus[0]]


def test_its_rom_is_where_its_folder_says(every_board):
    assert every_board.read_file("/rom/a.txt") == ROM["a.txt"]


def test_its_root_takes_files(every_board):
    every_board.write_file("/b.bin", bytes(range(256)) * 64)
    assert every_board.read_file("/b.bin") == bytes(range(256)) * 64


@pytest.mark.parametrize("name", ["small_cnn", "small_streaming"])
def test_it_computes_what_the_reference_does(every_board, compiled, small_models, name):
    model = small_models[name]
    npu = every_board.machine.board.npus[0]
    check(every_board, make_case(model, 5), compiled(model, npu))
