# SPDX-License-Identifier: MIT
"""Tests init(board=NAME) of the native module, in OPENMV_AE3 firmware without the module.

As in the AE3 firmware of MicroPython's port `alif`, Python's heap is in the DTCM there, so the NPU
address of each model, arena and buffer differs from the CPU's.
"""

import re
import subprocess

import numpy as np
import pytest
from ethosu_tools import boards
from ethosu_tools.boards import files
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.sim.oracle import Oracle

from host_tests.kit import firmware_image, pages, sharing
from host_tests.kit.board_models import raised

CORE = "OPENMV_AE3-M55_HP"
ADDRESS = 0x400E1000
HEAP = 0x20040000, 0x200FF000  # in the DTCM, after variables and stacks
SRAM0 = 0x02000000  # free, since the heap is not there
# Native code is in the heap; the MPU setup of this project's firmware makes the DTCM no-execute.
EXECUTABLE = """
from machine import mem32
for region in range(16):
    mem32[0xE000ED98] = region
    if mem32[0xE000ED9C] >> 20 == 0x200:
        mem32[0xE000ED9C] &= ~1
"""
IRQ_ENABLE, IRQ_DISABLE, IRQ_BIT = 0xE000E104, 0xE000E184, 1 << 55 - 32


def heap_in_dtcm(memory: str) -> str:
    """Write a linker script with Python's heap at HEAP, after variables and stacks."""
    for name, value in zip(("_gc_heap_start", "_gc_heap_end"), HEAP, strict=True):
        memory, count = re.subn(rf"^{name} = .*;$", f"{name} = {value:#x};", memory, flags=re.M)
        assert count == 1, name
    size = f"{HEAP[0] - 0x20000000:#x}"
    memory, count = re.subn(r"^( +DATA .* LENGTH = )\S+", rf"\g<1>{size}", memory, flags=re.M)
    assert count == 1
    return memory


# These tests need a separate firmware. The native module's tables are compared with the firmware's
# below; the driver uses them in the same way as in test_native.py on another board.
at_night = pytest.mark.slow


@pytest.fixture(scope="module")
def plain(emulator_only, repo, build_dir, native, compiled, small_models):
    """Return the board with the native module imported and a model file in `/`."""
    folder = build_dir / f"firmware/{CORE}-plain-dtcm"
    folder.mkdir(parents=True, exist_ok=True)
    memory = folder / "memory.ld"
    sharing.make("firmware", f"BOARD={CORE}")
    text = heap_in_dtcm((build_dir / f"firmware/{CORE}/board/memory.ld").read_text())
    if not memory.exists() or memory.read_text() != text:
        memory.write_text(text)
    where = f"BUILD={folder}", f"BOARD_MEMORY={memory}"
    sharing.make("firmware", f"BOARD={CORE}", "ETHOSU=no", *where)
    with QemuBoard(Machine(emulated(CORE, firmware=folder / "firmware.elf"))) as board:
        board.write_file("/native.mpy", (native / "ethosu.mpy").read_bytes())
        npu = board.machine.board.npus[0]
        board.write_file("/m.tflite", compiled(small_models["small_cnn"], npu).read_bytes())
        board.exec(EXECUTABLE)
        yield board


@pytest.fixture
def fresh(plain, small_models):
    """Return it after a soft reset; the model file is `content`, and in SRAM0 as `file`."""
    oracle = Oracle(small_models["small_cnn"])
    x = np.random.default_rng(4).integers(-128, 128, oracle.inputs[0].shape).astype(np.int8)
    plain.soft_reset()
    plain.exec(
        "import gc, machine, native as ethosu\nfrom uctypes import bytearray_at\n"
        "content = open('/m.tflite', 'rb').read()\n"
        f"file, arena = bytearray_at({SRAM0}, len(content)), bytearray_at({SRAM0 + 32768}, 65536)\n"
        "file[:] = content\n"
        f"x, golden = bytearray({x.tobytes()!r}), {oracle.step([x])[0].tobytes()!r}"
    )
    return plain


@at_night
@pytest.mark.parametrize("name", [CORE, "ALIF_ENSEMBLE_E7-M55_HP", "OPENMV_AE3"])
def test_the_npu_reaches_the_heap_in_the_core_s_own_memory(fresh, name):
    """File, arena and buffers in the DTCM work, although the NPU has another address for it."""
    assert fresh.eval(f"ethosu.init(board={name!r}, force=True)") == fresh.machine.npu
    fresh.exec("from uctypes import addressof\nm = ethosu.Model('/m.tflite')")
    for buffer in ("content", "x", "ethosu.buffer(64)"):
        assert HEAP[0] <= fresh.eval(f"addressof({buffer})") < HEAP[1]
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")
    fresh.exec("m = ethosu.Model(content, arena=arena)")
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")


@at_night
@pytest.mark.parametrize("block", pages.every("python", "native"), ids=lambda block: block.where)
def test_the_lines_of_the_page(fresh, block):
    fresh.exec("import sys\nsys.modules['ethosu'] = ethosu")
    fresh.exec(block.text.replace("/rom/model.tflite", "/m.tflite"))
    assert len(fresh.eval("bytes(scores)")) == 10


@at_night
@pytest.mark.parametrize("buffers", ["content", "content, arena=arena", "file"])
def test_with_the_address_alone_it_is_a_bus_error(fresh, buffers):
    """Without the board's name, the CPU's address of DTCM is a bus error of the NPU."""
    fresh.exec(f"ethosu.init({ADDRESS})\nm = ethosu.Model({buffers})")
    said = raised(fresh, "m.predict([x])")
    assert said.startswith("OSError 5 ") and "bus error" in said
    fresh.exec("m = ethosu.Model(file, arena=arena)")
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")


@at_night
@pytest.mark.parametrize(
    "again", [f"ethosu.init({ADDRESS}, npu=1)", "ethosu.init(0, npu=9)", "ethosu.init(board='?')"]
)
def test_a_board_stays_in_use_when_the_next_call_names_none(fresh, again):
    """After init(board=NAME), a call for another NPU, or one that fails, keeps the board."""
    fresh.exec(f"ethosu.init(board={CORE!r})\nm = ethosu.Model(content, npu=0)")
    raised(fresh, again)
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")
    fresh.exec("m = ethosu.Model(content, npu=0)")
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")


@at_night
def test_a_job_ends_before_another_board_is_used(fresh):
    """Choosing another board ends the job, as the firmware's interrupt is then enabled again."""
    fresh.exec(f"machine.mem32[{IRQ_ENABLE}] = {IRQ_BIT}\nethosu.init(board={CORE!r})")
    fresh.exec("m = ethosu.Model(content)")
    fresh.exec("m._start([x])\nwhile machine.mem32[0x400E1004] & 1: pass")  # raised but not polled
    fresh.exec(f"ethosu.init(board='MPS3_AN547', address={ADDRESS}, force=True)")
    assert fresh.eval(f"machine.mem32[{IRQ_ENABLE}] & {IRQ_BIT}") == IRQ_BIT
    fresh.exec(f"machine.mem32[{IRQ_DISABLE}] = {IRQ_BIT}\nethosu.init(board={CORE!r})")
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")


@at_night
def test_buffers_that_the_npu_cannot_access_are_rejected(fresh):
    fresh.exec(f"ethosu.init(board={CORE!r})")
    said = raised(fresh, "ethosu.Model(content, arena=bytearray_at(0x80400000, 0x10000))")
    assert said.startswith("OSError 14 ") and "0x80400000" in said
    said = raised(fresh, f"ethosu.init(board='MPS3_AN547', address={ADDRESS}, force=True)\n"
                         "ethosu.Model(content, arena=arena)")  # fmt: skip
    assert said.startswith("OSError 14 ")


def test_a_memory_that_the_npu_does_not_reach_is_refused(loaded, compiled, small_models):
    """Memory that the NPU does not reach, such as MPS3_AN547's DTCM, is refused."""
    known = loaded.machine.board.name
    image = firmware_image.of()
    unseen, at = image.unseen(0x10000), f"{image.npu_base}, " if image.slot else ""
    model = compiled(small_models["small_cnn"], loaded.machine.npu)
    loaded.write_file("/m.tflite", model.read_bytes())
    loaded.exec(
        f"ethosu.init({at}board={known!r})\nfrom uctypes import bytearray_at\n"
        "content = open('/m.tflite', 'rb').read()\nm = ethosu.Model(content)"
    )
    said = raised(loaded, f"ethosu.Model(content, arena=bytearray_at({unseen}, 0x10000))")
    assert said.startswith("OSError 14 ") and f"{unseen:#x}" in said


def test_the_board_of_another_chip_is_refused_before_any_access(loaded):
    """The wrong board is refused before its clock register is read, which would fault here."""
    other = next(name for name in ("OPENMV_AE3", "MPS3_AN547") if name != loaded.machine.board.name)
    said = raised(loaded, f"ethosu.init(board={other!r})")
    assert said.startswith(f"ValueError {other}") and "this firmware is for" in said
    assert loaded.eval("sys.implementation._machine") in said
    same = f"ethosu.init({firmware_image.of().npu_base}, board={loaded.machine.board.name!r}"
    assert raised(loaded, f"{same}, force=True)") == raised(loaded, f"{same})") == "nothing"


@at_night
def test_an_unknown_board_name_is_rejected(fresh):
    """init() accepts the tools' names of boards, and rejects others."""
    assert fresh.eval("sorted(row[0] for row in ethosu._boards)") == sorted(boards.names())
    names = ", ".join(fresh.eval("[row[0] for row in ethosu._boards]"))
    expected = f"ValueError unknown board 'NOWHERE'; expected {names}"
    assert raised(fresh, "ethosu.init(board='NOWHERE')") == expected
    assert raised(fresh, "ethosu.init()").startswith("TypeError init() takes an address, or board")


@at_night
def test_the_other_core_of_the_chip_has_another_npu(fresh):
    name = "OPENMV_AE3-M55_HE"
    fresh.exec("machine.mem32[0x43007010] = 0")
    expected = f"ValueError {name} has ethos-u55-128, found ethos-u55-256: wrong core or board?"
    assert raised(fresh, f"ethosu.init(board={name!r})") == expected
    assert raised(fresh, "ethosu.Model(content)").startswith("OSError 19 no NPU")


@at_night
def test_an_interrupt_of_the_firmware_is_disabled_until_the_soft_reset(fresh):
    """The NPU's interrupt of OpenMV's driver, which would take our result, is disabled."""
    fresh.exec(f"machine.mem32[{IRQ_ENABLE}] = {IRQ_BIT}\nethosu.init(board={CORE!r})")
    assert fresh.eval(f"machine.mem32[{IRQ_ENABLE}] & {IRQ_BIT}") == 0
    fresh.exec("m = ethosu.Model(content)")
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")
    fresh.exec("m._start([x])\nwhile machine.mem32[0x400E1004] & 1: pass")  # raised but not polled
    fresh.soft_reset()
    fresh.exec("import machine")
    assert fresh.eval(f"machine.mem32[{IRQ_ENABLE}] & {IRQ_BIT}") == IRQ_BIT
    fresh.exec(f"machine.mem32[{IRQ_DISABLE}] = {IRQ_BIT}")


@at_night
def test_without_asyncio_the_rest_works(fresh):
    """Firmware without asyncio can do all except run(), which reports the lack."""
    fresh.exec(
        "import sys\nfor name in list(sys.modules):\n    del sys.modules[name]\n"
        "with open('/asyncio.py', 'w') as f: f.write('raise ImportError')\n"
        "sys.path.insert(0, '/')\nimport native as ethosu, os\n"
        f"ethosu.init(board={CORE!r})\nm = ethosu.Model(content)"
    )
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")
    assert raised(fresh, "m.run([x]).send(None)").startswith("OSError 95 run() needs asyncio")
    fresh.exec("os.remove('/asyncio.py')")


# --- The table, and those of this project's firmware --------------------------------------------

KNOWN_BOARD = 32  # bytes of struct known_board (boards.h)


@pytest.fixture(scope="module")
def known_boards(tmp_path_factory, repo) -> dict[str, firmware_image.Image]:
    """The entries of boards.c for each board."""
    folder, module = tmp_path_factory.mktemp("boards"), repo / "modules/ethosu"
    image, source = folder / "boards.elf", folder / "boards.c"
    subprocess.run(["python3", repo / "modules/ethosu/natmod/boards_table.py", source], check=True)
    subprocess.run(
        ["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-nostdlib", "-Wl,-e0",
         f"-I{module}", f"-I{module}/driver/include", source, "-o", image],
        check=True,
    )  # fmt: skip
    table = firmware_image.Image(image)
    count, first = table.word(table.symbol("known_board_count")), table.symbol("known_boards")
    rows = [firmware_image.Image(image, first + KNOWN_BOARD * index) for index in range(count)]
    return {row.name: row for row in rows}


# sys.implementation._machine of third-party firmware: MICROPY_HW_BOARD_NAME " with "
# MICROPY_HW_MCU_NAME in the boards' mpconfigboard.h of MicroPython (ports alif and psoc-edge), of
# NuMicroPy, and as OpenMV's cameras print it.
PUBLISHED = {
    "ALIF_ENSEMBLE_E7": "Alif Ensemble DevKit with AE722F80F55D5XX",
    "KIT_PSE84_AI": "KIT_PSE84_AI with PSOCE84",
    "NUMAKER_M55M1": "NuMaker-M55M1 with ",
    "OPENMV_AE3": "OpenMV-AE3 with AE302F80F55D5AE",
}


def test_a_board_is_known_by_its_firmwares_name_and_by_no_other(known_boards, repo):
    names = {}
    for path in files.files(repo):
        own = files.read(repo, path)["micropython"]
        folder = path.parent.name
        names[folder] = [f"{own['board']} with {own['mcu']}", PUBLISHED.get(folder)]
    for name, row in known_boards.items():
        machine = row.text(row.word(row.board + KNOWN_BOARD - 4))
        for folder, machines in names.items():
            for one in filter(None, machines):
                assert (machine in one) == (folder == name.partition("-")[0]), (name, one)


@pytest.mark.parametrize("name", boards.names())
def test_its_memories_and_npu_match_the_firmwares_own_table(known_boards, name):
    """Memories and NPU equal our firmware's, which uses some and makes some read-only."""
    theirs, ours = firmware_image.of(name), known_boards[name]
    assert (theirs.npu_base, theirs.npu_irq) == (ours.npu_base, ours.npu_irq)
    assert theirs.npu_security == ours.npu_security
    for memory in theirs.memories:
        if not memory.npu_reads:
            assert not any(
                row.start < memory.end and memory.start < row.end for row in ours.memories
            ), memory
            continue
        (row,) = (
            row for row in ours.memories if row.start <= memory.start and memory.end <= row.end
        )
        assert memory.masters & ~row.masters & 15 == 0, memory
        offset = (memory.npu_address or memory.start) - memory.start
        assert (row.npu_address or row.start) - row.start == offset, memory
