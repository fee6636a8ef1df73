# SPDX-License-Identifier: MIT
"""Runs each controller's DMA copy on this machine, with a worst-case data cache."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from host_tests.kit import sharing

COPIES = 75
# enum ethosu_cache
WRITE_BACK, WRITE_THROUGH, UNCACHED = range(3)
FRAME = "dma_copy.c"

# The data structure each driver shares with its controller, if any.
DRIVERS = {"350": None, "dw": "descriptor", "pl081": "list", "pl330": "microcode"}

# Lines that maintain caches and addresses, or keep the CPU from sleeping without a wake-up, with
# their replacements.
UPKEEP = {
    "source cleaned": ("    ethosu_ext_memory_clean_in(memories.source, from, size);\n", ""),
    "destination invalidated before": (
        "from, size);\n    ethosu_ext_memory_discard_in(memories.destination, to, size);\n",
        "from, size);\n",
    ),
    "destination invalidated after": (
        "    ethosu_ext_memory_discard_in(memories.destination, to, size);\n"
        "    ethosu_ext_memory_barrier",
        "    ethosu_ext_memory_barrier",
    ),
    "whole lines only": ("head = -(uintptr_t)to % DMA_LINE;", "head = -(uintptr_t)to % 8;"),
    "not in a handler": ("__get_IPSR() == 0 && ", ""),
    "not with interrupts masked": ("__get_PRIMASK() | ", ""),
    "source as the bus sees it": (
        "dma_copy_bus_address(memories.source, from)",
        "(uintptr_t)from",
    ),
    "destination as the bus sees it": (
        "dma_copy_bus_address(memories.destination, to)",
        "(uintptr_t)to",
    ),
}
UPKEEP_OF_DRIVERS = {
    ("350", "units by both ends"): ("rest->to | rest->from | DMA_LINE", "rest->to | DMA_LINE"),
    ("350", "sizes of 16 bits"): ("? rest->size : most;", "? rest->size : rest->size;"),
    ("350", "secure transfers"): ("| 0x44u)", "| 1u << 10 | 0x44u)"),
    ("350", "the channel has stopped"): ("to->command & ENABLE) {", "false) {"),
    ("dw", "descriptor cleaned"): (
        "ethosu_ext_memory_clean_in(descriptor_memory, &descriptor, sizeof descriptor);",
        "",
    ),
    ("dw", "descriptor as the bus sees it"): (
        "dma_copy_bus_address(descriptor_memory, &descriptor)",
        "(uintptr_t)&descriptor",
    ),
    ("dw", "units by the source"): ("shift_for(rest->from)", "shift_for(0)"),
    ("dw", "rows of 256 units"): ("#define COUNT_MAX 256u", "#define COUNT_MAX 512u"),
    ("dw", "the channel is off"): ("to->control & ENABLED) {", "false) {"),
    ("pl081", "list cleaned"): ("ethosu_ext_memory_clean_in(list_memory, list, sizeof list);", ""),
    ("pl081", "list as the bus sees it"): (
        "dma_copy_bus_address(list_memory, list)",
        "(uintptr_t)list",
    ),
    ("pl081", "units by the source"): ("shift_for(rest->from)", "shift_for(0)"),
    ("pl330", "microcode cleaned"): (
        "ethosu_ext_memory_clean_in(microcode_memory, &microcode, sizeof microcode);",
        "",
    ),
    ("pl330", "microcode as the bus sees it"): (
        "dma_copy_bus_address(microcode_memory, microcode.bytes)",
        "(uintptr_t)microcode.bytes",
    ),
    ("pl330", "beats by both ends"): ("shift_for(rest->to | rest->from)", "shift_for(rest->to)"),
    ("pl330", "the channel has stopped"): (
        "!cleared(&controller()->channels[CHANNEL].status, STATUS)",
        "false",
    ),
}
# Without a cache, only barriers complete the stores that a transfer needs.
BEFORE_START = "    ethosu_ext_memory_barrier(); // complete writes that the controller reads\n"
BARRIERS = {driver: (f"dma_{driver}.c", (BEFORE_START, "")) for driver in DRIVERS}
BARRIERS["after a transfer"] = (FRAME, ("    ethosu_ext_memory_barrier();\n", ""))
BARRIERS["after the start"] = (
    "dma_pl081.c",
    (
        BEFORE_START + "    controller()->channel.configuration = ENABLE | INTERRUPTS;\n",
        "    controller()->channel.configuration = ENABLE | INTERRUPTS;\n" + BEFORE_START,
    ),
)
# With this, a copy takes several transfers, each started by the previous one's interrupt.
SHORT = {
    "350": ("#define UNITS_MAX 0xFFFFu", "#define UNITS_MAX 0xFFu"),
    "dw": ("#define COUNT_MAX 256u", "#define COUNT_MAX 24u"),
    "pl081": ("#define LIST_LENGTH 32", "#define LIST_LENGTH 4"),
    "pl330": ("#define LOOP_MAX 256u", "#define LOOP_MAX 16u"),
}


SANITIZE = ["-g1", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def _build(
    repo: Path, driver: str, changes: dict[str, tuple[str, str]], how: Sequence[str] = SANITIZE
) -> Path:
    """Compile the test with a driver; `changes` gives text replacements by file."""
    here = repo / "host_tests/firmware/drivers/c"
    names = {"FRAME": FRAME, "DRIVER": f"dma_{driver}.c"}
    sources = {"FAKE": here / f"fake_{driver}.h"}
    for macro, name in names.items():
        sources[macro] = repo / "firmware/drivers" / name
        if name in changes:
            text = sources[macro].read_text()
            assert text.count(changes[name][0]) == 1
            sources[macro] = sharing.folder_with(name, text.replace(*changes[name])) / name
    module = repo / "modules/ethosu"
    folders = (here, repo / "firmware/drivers", module, module / "driver/include")
    folders += (repo / "firmware/include", repo / "tools/npu_sim")
    cache = sorted((repo / "tools/npu_sim/coherence").glob("*.c"))
    return sharing.program(
        "caches",
        ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Wno-unused-parameter"]
        + ["-Wno-unused-function", "-no-pie", *how]
        + [f'-D{macro}="{path}"' for macro, path in sources.items()]
        + ([f"-DSHARED={DRIVERS[driver]}"] if DRIVERS[driver] else [])
        + ["-DETHOSU_IO_HEADER=<dma_io.h>", *(f"-I{folder}" for folder in folders)]
        + [here / "dma_caches.c", *cache, module / "driver/board/ethosu_memory.c", "-o"],
    )


def _run(
    program: Path, copies: int, seed: int, cache: int = WRITE_BACK
) -> subprocess.CompletedProcess[str]:
    command = [program, *map(str, (copies, seed, cache))]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture(scope="module", params=DRIVERS)
def program(repo, request):
    return _build(repo, request.param, {})


def _check(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    counts = [int(count) for count in done.stdout.split()]
    assert all(counts), "transfers, copies by the CPU, errors, time-outs: each has happened"


@pytest.mark.parametrize("cache", [WRITE_BACK, WRITE_THROUGH, UNCACHED])
def test_every_copy_is_right(program, cache):
    _check(_run(program, COPIES, 1, cache))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 10))
def test_many_more_copies(program, seed):
    _check(_run(program, 40 * COPIES, seed))


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_copy_of_several_transfers_is_right(repo, driver):
    changes = {f"dma_{driver}.c": SHORT[driver]}
    _check(_run(_build(repo, driver, changes), COPIES, 1))


def _goes_wrong(
    repo: Path, driver: str, file: str, change: tuple[str, str], cache: int = WRITE_BACK
) -> None:
    """Check that the copy's result is wrong, without help from sanitizers."""
    done = _run(_build(repo, driver, {file: change}, ["-O0"]), COPIES, 1, cache)
    assert done.returncode == 1, done.stdout + done.stderr


# The drivers share a frame, so each of its lines is left out with only one of the drivers.
@pytest.mark.parametrize(
    ("driver", "name"),
    [
        pytest.param(
            driver, name, marks=[] if (row - column) % len(DRIVERS) == 0 else pytest.mark.slow
        )
        for row, name in enumerate(UPKEEP)
        for column, driver in enumerate(DRIVERS)
    ],
)
def test_copies_fail_without_each_cache_operation(repo, driver, name):
    _goes_wrong(repo, driver, FRAME, UPKEEP[name])


@pytest.mark.parametrize(("driver", "name"), UPKEEP_OF_DRIVERS)
def test_the_controller_fails_without_each_cache_operation(repo, driver, name):
    _goes_wrong(repo, driver, f"dma_{driver}.c", UPKEEP_OF_DRIVERS[driver, name])


@pytest.mark.parametrize("name", BARRIERS)
def test_copies_fail_without_each_barrier(repo, name):
    file, change = BARRIERS[name]
    _goes_wrong(repo, name if name in DRIVERS else "pl081", file, change, UNCACHED)
