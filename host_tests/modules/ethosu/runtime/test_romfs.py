# SPDX-License-Identifier: MIT
"""A model in ROMFS is used in place: neither file nor weights are copied."""

import pytest
from ethosu_tools import romfs


@pytest.fixture(scope="module")
def rom_board(request, board_npu, compiled, small_models):
    """An emulated board with small_cnn in its ROM file system."""
    from ethosu_tools.board import QemuBoard
    from ethosu_tools.qemu import Machine

    if request.config.getoption("--ethosu-port"):
        pytest.skip("would replace the ROM file system of a real board")
    data = compiled(small_models["small_cnn"], board_npu).read_bytes()
    image = romfs.build({"notes.txt": b"odd", "small_cnn.tflite": data})
    with QemuBoard(Machine(board_npu, romfs=image)) as board:
        yield board


def test_nothing_is_copied(rom_board, case_of, small_models):
    case = case_of(small_models["small_cnn"], 20)
    rom_board.exec(
        "import ethosu, gc\ngc.collect()\nbefore = gc.mem_alloc()\n"
        "m = ethosu.Model('/rom/small_cnn.tflite')\ngc.collect()\ntaken = gc.mem_alloc() - before"
    )
    info = rom_board.eval("m.info()")
    assert info["copied_bytes"] == 0
    assert rom_board.eval("taken") < info["arena_size"] + 1024
    x = case.inputs[0][0].tobytes()
    assert (
        rom_board.eval(f"bytes(m.predict([bytearray({x!r})])[0])") == case.outputs[0][0].tobytes()
    )
