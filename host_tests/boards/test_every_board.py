# SPDX-License-Identifier: MIT
"""What every emulated board does, on each QEMU: boot, keep files, compute exactly.

The whole suite runs on one of them with `--board NAME`.
"""

from pathlib import Path

import pymicro_wakeword
import pytest
from ethosu_tools import boards, romfs
from ethosu_tools.board import Board, QemuBoard
from ethosu_tools.deploy import deploy
from ethosu_tools.errors import RemoteError
from ethosu_tools.qemu import Machine, find_qemu
from modules.ethosu.runtime.board_models import check, load, raised
from modules.ethosu.runtime.reference_cases import make_case

from tools.qemu_plugin import releases

EMULATED = [name for name in boards.names() if boards.load(name).qemu]
ROM = {"a.txt": b"hello"}
# Their ROM file system comes with the image.
READ_ONLY = {"GROVE_VISION_AI_V2"}
WAKE_WORD = Path(pymicro_wakeword.__file__).parent / "models/okay_nabu.tflite"


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
    size = every_board.machine.board.romfs.size
    assert every_board.eval("len(__import__('vfs').rom_ioctl(2, 0))") == size


def test_its_root_takes_files(every_board):
    every_board.write_file("/b.bin", bytes(range(256)) * 64)
    assert every_board.read_file("/b.bin") == bytes(range(256)) * 64


@pytest.mark.parametrize("name", ["small_cnn", "small_streaming"])
def test_it_computes_what_the_reference_does(every_board, compiled, small_models, name):
    model = small_models[name]
    npu = every_board.machine.board.npus[0]
    check(every_board, make_case(model, 5), compiled(model, npu))


def test_it_hears_a_wake_word_as_the_reference_does(every_board, compiled):
    npu = every_board.machine.board.npus[0]
    check(every_board, make_case(WAKE_WORD, 30), compiled(WAKE_WORD, npu))


def test_its_root_survives_resets(every_board):
    every_board.write_file("/kept.bin", b"kept" * 1000)
    for reset in (every_board.reset, lambda: Board.reset(every_board)):
        reset()
        assert every_board.read_file("/kept.bin") == b"kept" * 1000


def restart_by(board: QemuBoard, code: str) -> None:
    """Run what restarts the board."""
    board.start(f"import emulator, machine, time\n{code}\ntime.sleep(60)")
    board._reconnect()
    board.exec("import machine, os")


def test_its_flash_survives_without_power(every_board):
    every_board.exec("import machine, os")
    every_board.write_file("/kept.bin", b"kept" * 1000)
    restart_by(every_board, "emulator.fault('board.power-loss')")
    flash = raised(every_board, "machine.Flash()") == "nothing"
    assert every_board.eval("'kept.bin' in os.listdir('/')") is flash
    assert every_board.read_file("/rom/a.txt") == ROM["a.txt"]


def test_it_says_why_it_was_reset(every_board):
    every_board.exec("import machine")
    Board.reset(every_board)
    every_board.exec("import machine")
    assert every_board.eval("machine.reset_cause() == machine.HARD_RESET")
    restart_by(every_board, "machine.mem32[0]")
    assert every_board.eval("machine.reset_cause() == machine.FAULT_RESET")
    assert "*** Fault: " in every_board.machine.log()


def test_a_deployed_model_survives_a_reset_and_runs_where_it_lies(
    every_board, compiled, small_models
):
    facts = every_board.machine.board
    if facts.name in READ_ONLY:
        with (
            Machine(board=facts.name) as machine,
            pytest.raises(RemoteError, match="ROM file system of this board is read-only"),
        ):
            deploy(machine.port, {"m.tflite": b""})
        return
    model = compiled(small_models["small_cnn"], facts.npus[0])
    predict = "bytes(m.predict([bytearray(len(m.inputs[0].data))])[0])"
    load(every_board, model)
    expected = every_board.eval(predict)
    with Machine(board=facts.name, romfs=romfs.build(ROM)) as machine:
        assert deploy(machine.port, {"m.tflite": model.read_bytes()}).kept == ["a.txt"]
        machine.reset()
        with Board(machine.port) as board:
            board.exec("import ethosu\nm = ethosu.Model('/rom/m.tflite')")
            assert board.eval("m.info()['copied_bytes']") == 0
            assert board.eval(predict) == expected
