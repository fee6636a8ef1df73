# SPDX-License-Identifier: MIT
"""Flash and MRAM are only written while no NPU runs, which might be reading weights from them."""

from collections.abc import Iterator

import pytest
from ethosu_tools.base import paths
from ethosu_tools.base.errors import RemoteError
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import Board, QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import romfs

from host_tests.kit import firmware_image
from host_tests.kit.board_models import raised

BOARDS = ["NUMAKER_M55M1", "ALIF_ENSEMBLE_E7-M55_HP"]
# A COP1 file for any NPU, without a configuration; its stream only stops.
PAYLOAD = """
import emulator, ethosu, struct
payload = struct.pack("<4sIIII", b"COP1", 5, 5, 2 | 1 << 16, 0xFFFF << 16)
n = ethosu.reserve()
"""
# The clock of an emulated board keeps running on a busy host, so this job must not time out.
HANG = "emulator.fault('hang')\nn.invoke_async(payload, [], timeout_ms=-1)"
CHANGES = "change while an NPU may read them"


@pytest.fixture(scope="module", params=BOARDS)
def board(request: pytest.FixtureRequest) -> Iterator[QemuBoard]:
    """A board whose CPU and NPU have instruction-based time, and a payload for it."""
    with QemuBoard(Machine(emulated(request.param), repeatable=True)) as board:
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


LATE = """
def late():
    with open('/data', 'wb') as file: file.write(b'2')
"""
INTERRUPTIONS = {
    "timeout": ("", r"\[Errno 16\] EBUSY"),
    "Ctrl-C": ("emulator.fault('console.interrupt', 1, 1_000_000_000)\n", "KeyboardInterrupt"),
}


@pytest.mark.parametrize("interruption", INTERRUPTIONS)
def test_a_write_that_did_not_wait_is_over(board, interruption):
    """A write refused during a job is dropped when its file is collected; later writes stay."""
    interrupt, said = INTERRUPTIONS[interruption]
    board.exec("import gc\nwith open('/data', 'wb') as file: file.write(b'1')")
    board.exec("def late():\n    with open('/data', 'wb') as file: file.write(b'2')")
    board.exec(HANG)
    with pytest.raises(RemoteError, match=said):
        board.exec(interrupt + "late()")
    board.exec("n.cancel()")
    assert board.read_file("/data") == b"1"
    assert CHANGES not in board.machine.log()
    board.exec(WRITE + "file.close()\nfile = None\ngc.collect()")
    assert board.read_file("/data") == bytes(range(256)) * 40
    board.soft_reset()
    assert board.read_file("/data") == bytes(range(256)) * 40
    board.exec(PAYLOAD)


@pytest.mark.parametrize(
    "start",
    [
        "import micropython\nmicropython.schedule(lambda _: late(), 0)\nwhile True: pass",
        "def leave():\n    file = open('/data', 'wb')\n    file.write(b'2')\n"
        "leave()\ngc.collect()\nwhile True: pass",
    ],
    ids=["callback", "finaliser"],
)
def test_ctrl_c_waits_for_a_callback_or_finaliser_that_writes(board, start):
    """Ctrl-C is raised in the program; in a callback MicroPython would print and drop it."""
    board.exec(LATE + "import gc\n" + HANG)
    with pytest.raises(RemoteError, match="KeyboardInterrupt") as there:
        board.exec("emulator.fault('console.interrupt', 1, 1_000_000_000)\n" + start)
    assert "EBUSY" in there.value.output and "Keyboard" not in there.value.output
    board.exec("n.cancel()")


def test_a_write_to_the_ram_disk_does_not_wait(board):
    board.exec("import machine\ndisk = machine.RAMDisk()\n" + HANG)
    for call in ("disk.ioctl(6, 0)", "disk.writeblocks(0, bytes(4096))"):
        assert raised(board, call) == "nothing"
    assert board.eval("n.done()") is False
    board.exec("n.cancel()")


@pytest.mark.parametrize("end", [Board.reset, QemuBoard.soft_reset])
def test_a_reset_during_a_deploy_and_a_job_leaves_the_old_image(board, end):
    old, new = romfs.build({"f": b"old"}), romfs.build({"f": bytes(9000)})
    board.exec(f"import machine, vfs\nioctl, old, new = vfs.rom_ioctl, {old!r}, {new!r}")
    board.exec("ioctl(3, 0, len(old)), ioctl(4, 0, 0, old), ioctl(5, 0)")
    board.exec("ioctl(3, 0, len(new)), ioctl(4, 0, 0, new[:5000])\n" + HANG)
    assert raised(board, "ioctl(4, 0, 5000, new[5000:])").startswith("OSError 16 an NPU is busy")
    end(board)
    board.exec(PAYLOAD)
    assert board.eval("open('/rom/f', 'rb').read()") == b"old"
    board.exec("n.invoke(payload, [])")


def test_the_driver_verifies_changed_flash_again(board):
    """The driver skips verified payloads by address, so a write must end that."""
    address = firmware_image.Image(paths.firmware(board.machine.board.name)).symbol("pool")
    known = f"bytes(uctypes.bytearray_at({address}, 16))"
    board.exec(f"import uctypes\nbefore = {known}")
    assert board.eval(f"{known} == before")
    board.exec(WRITE + "file.close()")
    assert board.eval(f"{known} != before")
