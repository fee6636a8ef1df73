# SPDX-License-Identifier: MIT
"""A large model in the ROM file system is used in place, without copying."""

import numpy as np
import pytest
from ethosu_tools import boards
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import romfs
from ethosu_tools.model.make_model import Net
from ethosu_tools.model.tflite.metadata import put
from ethosu_tools.sim.oracle import Oracle

from host_tests.kit import firmware_image
from host_tests.kit.board_models import raised

from ..model.test_failures import compile_to

SIZE = 300 << 10


@pytest.fixture(scope="module")
def large(board_npu, tmp_path_factory):
    """Return a model of more than 300 KB, mostly weights, before and after Vela."""
    folder = tmp_path_factory.mktemp("large")
    net = Net("large", 5)
    x = net.conv(net.input((1, 4, 4, 64)), 600, kernel=(3, 3))
    source, output = folder / "source.tflite", folder / "large.tflite"
    source.write_bytes(
        net.finish(net.dense(net.reshape(net.pool(x, "MAX_POOL_2D", 4), (1, 600)), 10, gain=2.0))
    )
    assert len(compile_to(output, source, board_npu)) > SIZE
    return source, output


@pytest.fixture(scope="module")
def board_with_rom(emulator_only, large, board_npu):
    """Return a board with the model in its ROM, at an odd address after another file."""
    image = romfs.build({"a_note.txt": b"odd", "large.tflite": large[1].read_bytes()})
    machine = Machine(emulated(npu=board_npu), romfs=image)
    with QemuBoard(machine) as board:
        yield board


@pytest.fixture
def deployed(board_with_rom):
    """Return that board after a soft reset, so that tests do not depend on each other."""
    board_with_rom.soft_reset()
    board_with_rom.exec("import ethosu")
    return board_with_rom


def test_nothing_of_a_large_model_is_copied(deployed, large):
    deployed.exec(
        "import dma, gc\n"
        "gc.collect()\nheap, moved = gc.mem_alloc(), dma.counters()['transfer_bytes']\n"
        "m = ethosu.Model('/rom/large.tflite')\n"
        "moved = dma.counters()['transfer_bytes'] - moved\n"
        "gc.collect()\nheap = gc.mem_alloc() - heap"
    )
    info = deployed.eval("m.info()")
    assert info["file_size"] > SIZE
    assert (info["copied_bytes"], deployed.eval("moved")) == (0, 0)
    assert info["weights"] == "used in place"
    assert info["arena_size"] < SIZE // 8
    assert deployed.eval("heap") < info["arena_size"] + 1024


def test_its_results_are_exact(deployed, large):
    oracle = Oracle(large[0])
    x = np.random.default_rng(7).integers(-128, 128, oracle.inputs[0].shape).astype(np.int8)
    deployed.write_file("/x", x.tobytes())
    deployed.exec(
        "x = bytearray(open('/x', 'rb').read())\n"
        "m = ethosu.Model('/rom/large.tflite')\n(y,) = m.predict([x])"
    )
    assert deployed.eval("bytes(y)") == oracle.step([x])[0].tobytes()


def test_the_same_model_in_ram_is_read_once(deployed):
    """A file outside of the ROM is read into RAM once, and used there in place."""
    deployed.exec(
        "data = open('/rom/large.tflite', 'rb').read()\n"
        "with open('/large.tflite', 'wb') as file: file.write(data)\n"
        "m = ethosu.Model('/large.tflite')\n"
    )
    info = deployed.eval("m.info()")
    assert info["copied_bytes"] == 0
    assert info["weights"] == "used in place: the file was read into RAM"


def test_a_misaligned_model_is_copied_once_and_reports_it(deployed):
    deployed.exec(
        "data = bytearray(1 + len(memoryview(open('/rom/large.tflite', 'rb'))))\n"
        "open('/rom/large.tflite', 'rb').readinto(memoryview(data)[1:])\n"
        "m = ethosu.Model(memoryview(data)[1:])\n"
    )
    info = deployed.eval("m.info()")
    assert SIZE - 20_000 < info["copied_bytes"] < info["file_size"]
    cause = "copied to the arena: the file is misaligned; ethosu deploy aligns it"
    assert info["weights"] == cause and cause in deployed.eval("repr(m)")


def test_a_model_that_the_npu_does_not_reach_is_copied_and_reports_it(emulated):
    """Its alignment is right, so the reason must not name it."""
    image = firmware_image.of()
    if all(row.npu or row.cpu is firmware_image.Cpu.REGISTERS for row in image.memories):
        pytest.skip(f"the NPU reaches all memories of {boards.chosen().name}")
    there = image.unseen(0x8000)
    emulated.exec(
        "from uctypes import bytearray_at\nfile = open('/model.tflite', 'rb').read()\n"
        f"there = bytearray_at({there}, len(file))\nthere[:] = file\nk = ethosu.Model(there)"
    )
    assert emulated.eval("k.info()['weights']") == (
        "copied to the arena: the NPU does not reach the file's memory; use /rom"
    )
    assert emulated.eval("bytes(k.predict([x])[0]) == golden")


def test_a_constant_beyond_16_mb_is_shown_as_it_is(request, board_npu, compiled, small_models):
    """A memoryview's offset has only 24 bits on 32-bit ports: the view would show other bytes."""
    if request.config.getoption("--ethosu-port") or boards.chosen().name != "MPS3_AN547":
        pytest.skip("uses the DDR of the emulated MPS3_AN547")
    start = 0x68000000
    model = compiled(small_models["small_cnn"], board_npu).read_bytes()
    data = put(model, {"padding": bytes(17 << 20)})
    machine = Machine(emulated(npu=board_npu))
    machine.memory.write(start, data)
    with QemuBoard(machine) as board:
        board.exec(
            "import ethosu, uctypes\n"
            f"m = ethosu.Model(uctypes.bytearray_at({start}, {len(data)}))\n"
            "views = [t.data for t in m.tensors if t.data is not None]\n"
            f"far = [v for v in views if uctypes.addressof(v) >= {start + (17 << 20)}]"
        )
        places = board.eval("[(uctypes.addressof(v), bytes(v)) for v in far]")
    assert len(places) == 2  # one of commands, one of weights
    for at, content in places:
        assert content == data[at - start : at - start + len(content)]


def test_a_file_that_claims_4_gb_is_a_memory_error(api):
    """A file of 4 GB - 1 is a MemoryError: its size + 1, which wraps to 0, is not allocated."""
    api.exec(
        "import errno, io, machine, os\n"
        "class File(io.IOBase):\n"
        "    def ioctl(self, request, argument):\n"
        "        if request == 2: machine.mem32[argument] = size  # MP_STREAM_SEEK\n"
        "        return 0\n"
        "    def readinto(self, buffer): return 0\n"
        "class Disk:\n"
        "    def mount(self, readonly, mkfs): pass\n"
        "    def umount(self): pass\n"
        "    def open(self, path, mode): return File()\n"
        "    def stat(self, path): raise OSError(errno.ENOENT)\n"
        "os.mount(Disk(), '/odd')\nsize = 0xffffffff"
    )
    assert raised(api, "ethosu.Model('/odd/model.tflite')").startswith("MemoryError")
    api.exec("size = 0")
    assert raised(api, "ethosu.Model('/odd/model.tflite')").startswith("ValueError")
    api.exec("os.umount('/odd')")
    assert api.eval("bytes(m.predict([x])[0]) == golden")
