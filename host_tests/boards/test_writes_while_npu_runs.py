# SPDX-License-Identifier: MIT
"""Flash and MRAM change only while no NPU runs: it may read weights from there."""

from collections.abc import Iterator

import pytest
from ethosu_tools.board import QemuBoard
from ethosu_tools.qemu import Machine
from modules.ethosu.runtime.board_models import raised

BOARDS = ["NUMAKER_M55M1", "ALIF_ENSEMBLE_E7-M55_HP"]
# A COP1 file for any NPU: no configuration is asked for, the stream only stops.
PAYLOAD = """
import emulator, ethosu, struct
payload = struct.pack("<4sIIII", b"COP1", 5, 5, 2 | 1 << 16, 0xFFFF << 16)
n = ethosu.reserve()
"""
CHANGES = "change while an NPU may read them"


@pytest.fixture(scope="module", params=BOARDS)
def board(request: pytest.FixtureRequest) -> Iterator[QemuBoard]:
    """A board whose time follows its instructions, and so does its NPU; a payload for it."""
    with QemuBoard(Machine(board=request.param, repeatable=True)) as board:
        board.exec(PAYLOAD)
        yield board


WRITE = "file = open('/data', 'wb')\nfile.write(bytes(range(256)) * 40)\n"


ASYNC = """
import asyncio
async def go():
    task = asyncio.create_task(m.run())
    await asyncio.sleep_ms(0)
    file.close()
    await task
asyncio.run(go())
"""


def test_a_write_waits_for_the_npu(board, compiled, small_models):
    model = compiled(small_models["small_cnn"], board.machine.board.npus[0])
    board.write_file("/model.tflite", model.read_bytes())
    board.exec("m = ethosu.Model('/model.tflite', npu=n)\n" + WRITE)
    board.exec(ASYNC)
    assert board.read_file("/data") == bytes(range(256)) * 40
    assert CHANGES not in board.machine.log()


def test_an_npu_that_hangs_keeps_it_waiting_so_long(board):
    board.exec("emulator.fault('hang')\nn.invoke_async(payload, [])")
    assert raised(board, WRITE + "file.close()").startswith("OSError 16")
    board.exec("n.cancel()")
    assert CHANGES not in board.machine.log()
    board.exec(WRITE + "file.close()")
    assert board.read_file("/data") == bytes(range(256)) * 40
