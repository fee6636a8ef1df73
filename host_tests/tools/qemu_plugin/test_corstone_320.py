# SPDX-License-Identifier: MIT
"""Tests the machine CORSTONE_320: memory map, UART0, the NPU with its interrupt, and CPU.

The programs here are linked at the addresses of ExecuTorch's linker script for Corstone-320.
"""

import os
from pathlib import Path

import pytest
from ethosu_tools import boards
from ethosu_tools.base import deadline, paths
from ethosu_tools.base.errors import BoardError
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.emulator import firmware_run, qemu

from host_tests.kit import sharing
from host_tests.modules.ethosu.driver import test_library
from host_tests.modules.ethosu.driver.test_library import archives  # noqa: F401
from host_tests.tools.ethosu_tools.conftest import ethosu  # noqa: F401

BOARD = "CORSTONE_320"
SOURCES = Path(__file__).parent / "corstone_320"
TARGET = test_library.TARGET
FLAGS = "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard -O2 -Wall -Wextra -Werror -ffreestanding"
NPUS = ("ethos-u85-128", "ethos-u85-256")
PRECISE_BUS_ERROR = 0x8200


def program(name: str, *options: str) -> Path:
    command = ["arm-none-eabi-gcc", *FLAGS.split(), "-nostdlib", f"-I{TARGET}", *options]
    command += ["-Wl,--no-warn-rwx-segments", f"-T{SOURCES / 'program.ld'}"]
    return sharing.program(name, [*command, SOURCES / "program.c", "-o"])


def in_itcm() -> Path:
    """Build the program with its vectors at the start of ITCM."""
    return program("corstone_320_itcm.elf", "-Wl,--defsym=vectors_at=0x10000000")


@pytest.fixture(scope="module")
def image(plugin) -> Path:
    return program("corstone_320.elf")


def values(output: str) -> dict[str, int]:
    return {name: int(value) for name, value in (line.split() for line in output.splitlines())}


# The program's output about the machine; each memory is at two addresses.
EXAMINED = {
    "vectors": 0x11000000,  # the CPU starts in the boot ROM
    "npu": 2,  # an Ethos-U85, with adapters
    **dict.fromkeys(("npu_same", "itcm", "sram", "dtcm", "isram", "qspi", "ddr_end", "system"), 1),
    **dict.fromkeys(("adapter_0", "adapter_1"), 0x1117),
    "ddr": 0,  # each 256 MB are another part
    "rom_load": 0,
    **dict.fromkeys(("nothing", "tcm_end"), PRECISE_BUS_ERROR),
    "hints": 0,  # hints of PACBTI do nothing, as on cores without it
    # A Cortex-M85 has CPDLPSTATE, too: three fields of 2 bits, all OFF after a reset.
    **{"power": 0x333, "power_set": 0x310},
}
CORTEX_M55 = 0xD22


def test_the_machine_is_that_of_its_sources(image, each_qemu):
    done = firmware_run.run(emulated(BOARD, firmware=image), until="ready", timeout=20)
    found = values(done.output.partition("ready")[0])
    assert found.pop("cpu") >> 4 & 0xFFF == CORTEX_M55
    assert found == EXAMINED


@pytest.mark.parametrize("name", ["PACG", "AUTG", "BXAUT"])
def test_other_instructions_of_pacbti_end_the_run_with_their_name(image, each_qemu, name):
    """Other instructions of PACBTI end the run; QEMU would multiply instead, even into the PC."""
    ended = f"QEMU ended with 1: .*ethosu: fatal: the instruction {name} at 0x1200"
    with pytest.raises(BoardError, match=ended):
        firmware_run.run(emulated(BOARD, firmware=image), arguments=[name.lower()], timeout=20)


def test_uart0_has_interrupts_for_both_directions(image, each_qemu, tmp_path):
    ends = []
    for name in ("line.in", "line.out"):
        os.mkfifo(tmp_path / name)
        ends.append(os.open(tmp_path / name, os.O_RDWR))
    os.write(ends[0], b"hello\n")
    options = qemu.options(emulated(BOARD, "ethos-u85-256", firmware=image, coherence="off"))
    line = ["-chardev", f"pipe,id=line,path={tmp_path / 'line'}", "-serial", "chardev:line"]
    semihosting = firmware_run.semihosting(None, [image.name])
    done = deadline.run([qemu.find_qemu(), *options, *line, *semihosting], 20)
    printed = os.read(ends[1], 1 << 16).decode()
    for end in ends:
        os.close(end)
    assert done.returncode == 0, done.stderr
    assert printed.endswith("\nreceived 6\nsent 1\n")
    assert printed.split("hints 0\n")[1].count("l") == 2, "the echo"


def test_the_vectors_can_be_elsewhere(ethosu, plugin):  # noqa: F811
    """Vectors can be elsewhere, as Zephyr's at the start of ITCM with INITSVTOR_RST 0."""
    image = in_itcm()
    words = "qemu", "--firmware", image, "--board", BOARD, "--until", "ready", "--timeout", "20"
    code, out, _ = ethosu(*words, "--vectors", "0")
    assert code == 0 and "vectors 0\n" in out
    code, _, err = ethosu(*words)
    assert code == 5 and "Lockup" in err
    code, _, err = ethosu(*words, "--vectors", "0x44")
    assert code == 5 and "vectors=0x44: expected an address that is a multiple of 128" in err


@pytest.fixture
def client(archives, compiled, small_models, tmp_path, plugin):  # noqa: F811
    """Link the client of test_library.py, with this machine's NPU, interrupt and UART."""

    def link(npu: str, *options: str) -> Path:
        own = ["-DNPU_AT=0x50004000u", "-DNPU_IRQ=16u", "-DUART=0x58203000u", "-DCLIENT_NO_HOOKS"]
        model = small_models["small_cnn"]
        files = archives("as it comes"), npu, model, compiled(model, npu)
        return test_library.link(tmp_path, *files, *own, *options, script=SOURCES / "program.ld")

    return link


@pytest.mark.parametrize("npu", NPUS)
def test_arms_interface_runs_a_model_exactly(npu, client):
    """A model's result equals LiteRT's reference kernels', with and without a data cache."""
    image = client(npu)
    for mode in ("off", "strict"):
        setup = emulated(BOARD, npu, firmware=image, coherence=mode)
        found = values(firmware_run.run(setup).output)
        assert found["init"] == found["failed"] == found["wrong"] == 0
        assert found["results_ok"] == found["seen"] == 5


def adapters(latency: int, words: int) -> list[str]:
    """Return the client's options for adapters that pass so many words in 4,000 cycles."""
    row = f"{{{latency}, {latency}, 3999, 1, {words}}}"
    return [f"-DCLIENT_ADAPTERS={row}, {row}", "-DCLIENT_ADAPTERS_AT=0x50006000u, 0x50006800u"]


def test_adapters_change_the_time_of_a_model_only_where_they_are_the_limit(client):
    """Adapters slow a model only if they, not the memories, are the limit, and with `timed`.

    With fewer MACs the model waits less for memory.
    """

    def cycles(latency: int, words: int, *, timed: bool = True) -> int:
        image = client(NPUS[0], *adapters(latency, words))
        found = values(
            firmware_run.run(emulated(BOARD, NPUS[0], firmware=image), timed=timed).output
        )
        assert found["failed"] == found["wrong"] == 0
        return found["cycles"]

    free = cycles(0, 0)
    assert cycles(0, 30) == pytest.approx(2 * cycles(0, 60), rel=0.1)
    assert free < cycles(0, 2000) < 1.1 * free
    assert cycles(32, 0) > free + 5 * 32
    assert cycles(4000, 1, timed=False) == free


def test_it_is_for_firmware_of_others(ethosu, image, monkeypatch):  # noqa: F811
    code, _, err = ethosu("qemu", "--board", BOARD)
    assert code == 2 and f"{BOARD} has no firmware of this project: add --firmware IMAGE" in err
    own = paths.firmware("MPS3_AN547")
    code, _, err = ethosu("qemu", "--board", BOARD, "--firmware", own)
    assert code == 2 and "has no firmware of this project" in err
    code, _, err = ethosu("qemu", "--board", BOARD, "--firmware", image, "--console", "uart")
    assert code == 2 and "--console is not possible on CORSTONE_320" in err
    monkeypatch.setenv(boards.VARIABLE, BOARD)
    code, _, err = ethosu("qemu")
    assert code == 2 and "has no firmware of this project" in err


def test_a_machine_is_no_board_with_firmware():
    assert BOARD in boards.machines() and BOARD not in boards.names()
    assert boards.machine(BOARD).npus == ("ethos-u85-256",)
