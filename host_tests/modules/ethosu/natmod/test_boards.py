# SPDX-License-Identifier: MIT
"""init(board=NAME) of the native module, in an Alif Ensemble E7's firmware without the module."""

import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import sharing
from ethosu_tools import boards, paths
from ethosu_tools.board import QemuBoard
from ethosu_tools.oracle import Oracle
from ethosu_tools.qemu import Machine

from modules.ethosu.binding.conftest import raised

CORE = "ALIF_ENSEMBLE_E7-M55_HP"
ADDRESS = 0x400E1000
DTCM = 0x20040000  # free: behind variables and stacks
IRQ_ENABLE, IRQ_DISABLE, IRQ_BIT = 0xE000E104, 0xE000E184, 1 << 55 - 32


@pytest.fixture(scope="module")
def plain(request, build_dir, native, compiled, small_models):
    """The board, with the native module imported and a model's file in DTCM, `file`."""
    if request.config.getoption("--port"):
        pytest.skip("the addresses are those of one emulated board")
    sharing.make("firmware", f"BOARD={CORE}", "ETHOSU=no")
    firmware = build_dir / f"firmware/{CORE}-plain/firmware.elf"
    with QemuBoard(Machine(board=CORE, firmware=firmware)) as board:
        board.write_file("/native.mpy", (native / "ethosu.mpy").read_bytes())
        npu = board.machine.board.npus[0]
        board.write_file("/m.tflite", compiled(small_models["small_cnn"], npu).read_bytes())
        yield board


@pytest.fixture
def fresh(plain, small_models):
    """The same after a soft reset; `load(arena)` loads the model with an arena in DTCM."""
    oracle = Oracle(small_models["small_cnn"])
    x = np.random.default_rng(4).integers(-128, 128, oracle.inputs[0].shape).astype(np.int8)
    plain.soft_reset()
    plain.exec(
        "import gc, machine, native as ethosu\nfrom uctypes import bytearray_at\n"
        "content = open('/m.tflite', 'rb').read()\n"
        f"file, arena = bytearray_at({DTCM}, len(content)), bytearray_at({DTCM + 32768}, 65536)\n"
        "file[:] = content\n"
        f"x, golden = bytearray({x.tobytes()!r}), {oracle.step([x])[0].tobytes()!r}"
    )
    return plain


@pytest.mark.parametrize("name", [CORE, "OPENMV_AE3-M55_HP", "OPENMV_AE3"])
def test_the_npu_reaches_the_core_s_own_memory(fresh, name):
    """File and arena are in DTCM, which the NPU sees elsewhere."""
    assert fresh.eval(f"ethosu.init(board={name!r})") == fresh.machine.npu
    fresh.exec("m = ethosu.Model(file, arena=arena)")
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")
    fresh.exec("m = ethosu.Model(content)")
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")


@pytest.mark.parametrize("buffers", ["file", "content, arena=arena"])
def test_with_the_address_alone_it_is_a_bus_error(fresh, buffers):
    """The NPU finds nothing at the CPU's address of DTCM."""
    fresh.exec(f"ethosu.init({ADDRESS})\nm = ethosu.Model({buffers})")
    said = raised(fresh, "m.predict([x])")
    assert said.startswith("OSError 5 ") and "bus error" in said
    fresh.exec("m = ethosu.Model(content)")
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")


@pytest.mark.parametrize(
    "again", [f"ethosu.init({ADDRESS}, npu=1)", "ethosu.init(0, npu=9)", "ethosu.init(board='?')"]
)
def test_a_board_stays_when_the_next_call_names_none(fresh, again):
    """The next call is for another NPU, or fails."""
    fresh.exec(f"ethosu.init(board={CORE!r})\nm = ethosu.Model(file, arena=arena, npu=0)")
    raised(fresh, again)
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")
    fresh.exec("m = ethosu.Model(file, arena=arena, npu=0)")
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")


def test_a_job_ends_before_another_board_is_used(fresh):
    """The firmware's interrupt is enabled again then: the NPU must not raise it any more."""
    fresh.exec(f"machine.mem32[{IRQ_ENABLE}] = {IRQ_BIT}\nethosu.init(board={CORE!r})")
    fresh.exec("m = ethosu.Model(file, arena=arena)")
    fresh.exec("m._start([x])\nwhile machine.mem32[0x400E1004] & 1: pass")  # not asked for: raised
    fresh.exec(f"ethosu.init(board='MPS3_AN547', address={ADDRESS})")
    assert fresh.eval(f"machine.mem32[{IRQ_ENABLE}] & {IRQ_BIT}") == IRQ_BIT
    fresh.exec(f"machine.mem32[{IRQ_DISABLE}] = {IRQ_BIT}\nethosu.init(board={CORE!r})")
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")


def test_what_the_npu_does_not_reach_is_refused(fresh):
    fresh.exec(f"ethosu.init(board={CORE!r})")
    said = raised(fresh, "ethosu.Model(content, arena=bytearray_at(0x80400000, 0x10000))")
    assert said.startswith("OSError 14 ") and "0x80400000" in said
    said = raised(fresh, f"ethosu.init(board='MPS3_AN547', address={ADDRESS})\n"
                         "ethosu.Model(content, arena=arena)")  # fmt: skip
    assert said.startswith("OSError 14 ")


def test_a_tcm_that_the_npu_does_not_reach_is_refused(loaded, compiled, small_models):
    """DTCM of Corstone-300."""
    model = compiled(small_models["small_cnn"], loaded.machine.npu)
    loaded.write_file("/m.tflite", model.read_bytes())
    loaded.exec(
        "ethosu.init(board='MPS3_AN547')\nfrom uctypes import bytearray_at\n"
        "content = open('/m.tflite', 'rb').read()\nm = ethosu.Model(content)"
    )
    said = raised(loaded, "ethosu.Model(content, arena=bytearray_at(0x20060000, 0x10000))")
    assert said.startswith("OSError 14 ") and "0x20060000" in said


def test_a_name_that_it_does_not_know(fresh):
    """It knows the names of the tools."""
    assert fresh.eval("sorted(name for name, _ in ethosu._boards)") == sorted(boards.names())
    names = ", ".join(fresh.eval("[name for name, _ in ethosu._boards]"))
    expected = f"ValueError there is no board 'NOWHERE', but {names}"
    assert raised(fresh, "ethosu.init(board='NOWHERE')") == expected
    assert raised(fresh, "ethosu.init()").startswith("TypeError init() takes an address, or board")


def test_the_other_core_of_the_chip_has_another_npu(fresh):
    name = "OPENMV_AE3-M55_HE"
    fresh.exec("machine.mem32[0x43007010] = 0")
    expected = f"ValueError {name} has ethos-u55-128, found ethos-u55-256: another core or board?"
    assert raised(fresh, f"ethosu.init(board={name!r})") == expected
    assert raised(fresh, "ethosu.Model(content)").startswith("OSError 19 there is no NPU")


def test_an_interrupt_of_the_firmware_is_disabled_until_the_soft_reset(fresh):
    """OpenMV's firmware enables it for its own driver, which would take what the module polls."""
    fresh.exec(f"machine.mem32[{IRQ_ENABLE}] = {IRQ_BIT}\nethosu.init(board={CORE!r})")
    assert fresh.eval(f"machine.mem32[{IRQ_ENABLE}] & {IRQ_BIT}") == 0
    fresh.exec("m = ethosu.Model(file, arena=arena)")
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")
    fresh.exec("m._start([x])\nwhile machine.mem32[0x400E1004] & 1: pass")  # not asked for: raised
    fresh.soft_reset()
    fresh.exec("import machine")
    assert fresh.eval(f"machine.mem32[{IRQ_ENABLE}] & {IRQ_BIT}") == IRQ_BIT
    fresh.exec(f"machine.mem32[{IRQ_DISABLE}] = {IRQ_BIT}")


def test_without_asyncio_the_rest_works(fresh):
    """A firmware may have none: run() says so when it is called."""
    fresh.exec(
        "import sys\nfor name in list(sys.modules):\n    del sys.modules[name]\n"
        "with open('/asyncio.py', 'w') as f: f.write('raise ImportError')\n"
        "sys.path.insert(0, '/')\nimport native as ethosu, os\nos.remove('/asyncio.py')\n"
        f"ethosu.init(board={CORE!r})\nm = ethosu.Model(content)"
    )
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")
    assert raised(fresh, "m.run([x]).send(None)").startswith("OSError 95 run() needs asyncio")


# --- The table, and those of this project's firmware --------------------------------------------

Words = Callable[[int, int], tuple[int, ...]]
ROW, NPU_READS = 8, 1  # words of struct ethosu_memory (ethosu_board.h)


def words_of(image: Path) -> tuple[Words, dict[str, int]]:
    """Words of an image by address and count, and the addresses of its symbols."""
    run = {"check": True, "capture_output": True, "text": True}
    names = subprocess.run(["arm-none-eabi-nm", image], **run).stdout.split("\n")
    symbols = {line.split()[2]: int(line.split()[0], 16) for line in names if line}

    def words(address: int, count: int) -> tuple[int, ...]:  # the code's sections come first
        span = f"--start-address={address}", f"--stop-address={address + 4 * count}"
        lines = subprocess.run(["arm-none-eabi-objdump", "-s", *span, image], **run).stdout
        data = "".join(line[: line.find("  ")].split(" ", 2)[2] for line in lines.split("\n")
                       if line.startswith(" "))  # fmt: skip
        return struct.unpack(f"<{count}I", bytes.fromhex(data.replace(" ", ""))[: 4 * count])

    return words, symbols


def facts_of(words: Words, board: int) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
    """Start, end, NPU's address, masters of each memory; base, interrupt, state of the NPU."""
    _, memories, count, _, npus, _ = words(board, 6)
    rows = [words(memories + 4 * ROW * index, ROW) for index in range(count)]
    return [(row[1], row[2], row[4], row[6] & 15) for row in rows], words(npus, 3)


@pytest.fixture(scope="module")
def table(tmp_path_factory, repo) -> dict[str, tuple[list[tuple[int, ...]], tuple[int, ...]]]:
    """What boards.c says of each board."""
    image = tmp_path_factory.mktemp("boards") / "boards.elf"
    module = repo / "modules/ethosu"
    subprocess.run(
        ["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-nostdlib", "-Wl,-e0", f"-I{module}",
         module / "natmod/boards.c", "-o", image],
        check=True,
    )  # fmt: skip
    words, symbols = words_of(image)
    (count,) = words(symbols["known_board_count"], 1)
    starts = [symbols["known_boards"] + 4 * 7 * index for index in range(count)]
    text = {start: words(words(start, 1)[0], 6) for start in starts}
    names = [struct.pack("<6I", *text[start]).partition(b"\0")[0].decode() for start in starts]
    return {name: facts_of(words, start) for name, start in zip(names, starts, strict=True)}


@pytest.mark.parametrize("name", boards.names())
def test_it_says_of_memories_and_npu_what_the_firmware_s_own_table_says(table, name):
    """The firmware uses a part of them, and lets the NPU only read some of that."""
    words, symbols = words_of(paths.firmware(name))
    theirs, npu = facts_of(words, symbols["ethosu_board"])
    ours, our_npu = table[name]
    assert npu == our_npu
    for start, end, seen_at, masters in theirs:
        if not masters & NPU_READS:
            assert not any(row[0] < end and start < row[1] for row in ours), hex(start)
            continue
        (row,) = (row for row in ours if row[0] <= start and end <= row[1])
        assert masters & ~row[3] == 0, hex(start)
        assert (row[2] or row[0]) - row[0] == (seen_at or start) - start, hex(start)
