# SPDX-License-Identifier: MIT
"""Every output of models on all hosts equals the reference's, bit by bit.

A new model is a row of models.py, a new host one of hosts.py; ROWS says which run where. The
simulator on the PC runs all models, one board most kinds. The other hosts share the arithmetic, so
a few models show that they move tensors, constants and state correctly.
"""

import functools
import itertools
import operator

import pytest
from ethosu_tools import boards
from ethosu_tools.boards import targets

from host_tests.exactness import hosts, models
from host_tests.exactness.hosts import EMULATED, Row
from host_tests.exactness.models import (
    LEFT,
    LSTM,
    MIXED,
    NETWORKS,
    SMALL,
    SMOKE,
    WAKE_WORDS,
    TfliteModel,
)
from host_tests.kit import found
from host_tests.kit.models.reference_cases import assert_exact

# Hosts, models and rows of add-ons.
ADDED = tuple(found.modules("exact_rows"))
HOSTS = functools.reduce(operator.or_, (each.HOSTS for each in ADDED), hosts.HOSTS)
MODELS = functools.reduce(operator.or_, (each.MODELS for each in ADDED), models.MODELS)
U55, U65, U85 = ([npu for npu in targets.NPUS if family in npu] for family in ("u55", "u65", "u85"))
U55_128, U65_256, U65_512, U85_256 = (
    *("ethos-u55-128", "ethos-u65-256", "ethos-u65-512", "ethos-u85-256"),
)


def u85_system(name: str, mode: str) -> tuple[str, ...]:
    return "--system-config", f"Ethos_U85_SYS_{name}", "--memory-mode", mode


U85_SYSTEMS = (
    u85_system("DRAM_Low", "Shared_Sram"),
    u85_system("DRAM_Mid", "Dedicated_Sram_384KB"),
    u85_system("DRAM_Mid", "Dedicated_Sram"),
    u85_system("Flash_Low", "Shared_Sram"),
    u85_system("DRAM_Low", "Sram_Only"),
)
# Location of the arena, and of separate fast scratch.
U85_MODES = (
    u85_system("Flash_High", "Sram_Only"),
    u85_system("Flash_High", "Shared_Sram"),
    u85_system("DRAM_Mid", "Dedicated_Sram"),
    u85_system("DRAM_Mid", "Dedicated_Sram_256KB"),
)
ROWS = (
    # All kinds of models in this process.
    Row("sim", (*U55, *U65), SMALL),
    # The sizes of a family differ in Vela's blocks and in the order of weights: each size has a few
    # models here, and the generator's graphs.
    Row("sim", ("ethos-u55-32", "ethos-u55-256"), WAKE_WORDS),
    Row("sim", (*U55, *U65, *U85), WAKE_WORDS, slow=True),
    Row("sim", (U55_128, U65_512), NETWORKS),
    Row("sim", ["ethos-u55-64"], ("kws_ref_model", "vww_96_int8")),
    Row("sim", U85, ["kws_ref_model"]),
    Row("sim", ("ethos-u85-128", "ethos-u85-1024"), ("vww_96_int8", "ad01_int8")),
    Row("sim", (*U55, *U85), NETWORKS, slow=True),
    Row("sim", (U55_128, U65_512, "ethos-u85-128", "ethos-u85-1024"), [LSTM]),
    Row("sim", [U65_256], NETWORKS, slow=True),
    Row("sim", ["ethos-u55-64"], NETWORKS, ("--optimise", "Size"), slow=True),
    Row("sim", ["ethos-u55-64"], NETWORKS, ("--debug-force-legacy-core",), slow=True),
    Row("sim", ["ethos-u55-64"], NETWORKS, ("--cop-format", "COP2"), slow=True),
    *(Row("sim", U85, NETWORKS, system, slow=True) for system in U85_SYSTEMS),
    *(
        Row("sim", [U85_256], NETWORKS, (*U85_SYSTEMS[0], "--optimise", "Size", without), slow=True)
        for without in ("--disable-chaining", "--disable-fwd", "--disable-cascading")
    ),
    *(
        Row("sim", [npu], ["small_cnn"], ("--memory-mode", mode))
        for mode, npu in zip(targets.MEMORY_MODES, itertools.cycle(U85), strict=False)
    ),
    # With operators of the CPU.
    Row("sim", [U55_128], (*MIXED, *LEFT)),
    *(Row("sim", [npu], MIXED) for npu in (U65_256, U85_256)),
    # The same models on one board.
    Row("board", [None], (*SMALL, *WAKE_WORDS, *NETWORKS, *MIXED)),
    Row("MPS3_AN547", ["ethos-u55-256"], SMOKE),
    *(
        Row("MPS3_AN547", [U85_256], ["small_cnn"], (*mode, "--cop-format", form), slow=slow)
        for row, mode in enumerate(U85_MODES)
        for form, slow in (("COP1", row % 2 > 0), ("COP2", row % 2 == 0))
    ),
    Row("MPS3_AN547", [U85_256], (*NETWORKS, LSTM), slow=True),
    # One on each NPU of each board. All fit: arenas of up to 75 KB, heaps of at least 1 MB.
    # boards/test_every_board.py runs small_cnn on each.
    *(
        Row(name, [npu], [model])
        for (name, npu), model in zip(
            ((name, npu) for name in EMULATED for npu in boards.load(name).npus),
            itertools.cycle(SMOKE[1:]),
            strict=False,
        )
    ),
    *(Row(name, boards.load(name).npus, (*SMOKE, *NETWORKS), slow=True) for name in EMULATED),
    Row("sanitized", [U55_128], SMOKE),
    Row("sanitized", [U55_128], ["small_cnn"], ("--cop-format", "COP2")),
    Row("sanitized", [U55_128], NETWORKS, slow=True),
    # An add-on's rows for the host of another one that is not here are left out.
    *(row for each in ADDED for row in each.ROWS if row.host in HOSTS),
)


def cells() -> list[object]:
    """List all cells once; a slow row omits those of a quick one."""
    parameters = {}
    for row in sorted(ROWS, key=lambda row: row.slow):
        for cell in itertools.product([row.host], row.npus, row.models, [row.vela]):
            host, npu, model, options = cell
            name = "-".join((host, npu or "own NPU", model, *options))
            marks = (*HOSTS[host].marks, *([pytest.mark.slow] if row.slow else []))
            parameters.setdefault(name, pytest.param(*cell, id=name, marks=marks))
    return list(parameters.values())


@pytest.fixture(scope="session")
def prepared(request):
    """Make a compiled model and its case, once each: `prepared(model, npu, options)`."""

    @functools.cache
    def make(model, npu, options):
        return MODELS[model](request.getfixturevalue, model, npu, options)

    return make


@pytest.mark.parametrize(("host", "npu", "model", "options"), cells())
def test_exact(request, prepared, host, npu, model, options):
    npu = npu or request.getfixturevalue("board_npu")
    path, case = prepared(model, npu, options)
    assert_exact(case, HOSTS[host].run(request.getfixturevalue, npu, path, case.inputs))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("host", "npu"),
    [
        *(("sim", npu) for npu in (U55_128, U65_512, "ethos-u85-128", "ethos-u85-2048")),
        ("sanitized", U55_128),
    ],
)
def test_16_bit_operators(request, shared_models, host, npu):
    checked = 0
    for source in sorted((shared_models / "ops").glob("*.tflite")):
        if "quantize" not in source.name:  # Vela leaves these two on the CPU
            make = TfliteModel(source, 3)
            path, case = make(request.getfixturevalue, source.stem, npu, ())
            assert_exact(case, HOSTS[host].run(request.getfixturevalue, npu, path, case.inputs))
            checked += 1
    assert checked == 62
