# SPDX-License-Identifier: MIT
"""Results are exact with a write-back data cache; each clean, invalidate and barrier is needed.

The models are in RAM, as if loaded from a file: command stream, constants and arena are dirty in
the CPU's cache when passed to the driver. Each of MUTATIONS removes one piece of the driver's cache
maintenance; the run named with it must then fail.
"""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools.sim.oracle import Oracle

from host_tests.kit import sharing
from host_tests.modules.ethosu.driver import cbuild, coherent_runs

DRIVER = Path("modules/ethosu/driver")
# On U65 and U85, fast scratch is separate memory (Dedicated_Sram), which the CPU zeroes.
NPUS = ("ethos-u55-128", "ethos-u65-512", "ethos-u85-256")
STEPS = 3
SEEDS = range(1, 9)
MANY_SEEDS = range(1, 1001)
EVICTIONS = [f"evict:{seed}" for seed in SEEDS]

# Mutations: file, text and replacement, and the modes, one of which must fail, or the C test that
# fails if no model does.
MUTATIONS = {
    "clean before each run": (
        "ethosu_driver.c",
        "    ethosu_ext_clean_caches(program);\n",
        "",
        ["strict"],
    ),
    "barrier before the start": (
        "device.h",
        "    ethosu_io_barrier();\n",
        "",
        ["strict"],
    ),
    "invalidate after the run": (
        "ethosu_driver.c",
        "    ethosu_ext_invalidate_caches(drv->job.run);\n",
        "",
        ["strict"],
    ),
    "barrier after the run": (
        "ethosu_driver.c",
        "    ethosu_io_barrier(); // the CPU must not read results earlier\n",
        "",
        ["strict"],
    ),
    "clean of the command stream": (
        "ethosu_prepare.c",
        "    ethosu_ext_memory_clean((const void *)program->cpu_stream, program->stream_bytes);\n",
        "",
        ["strict"],
    ),
    "clean of the constants": (
        "ethosu_prepare.c",
        "        bool once = own || (index == CONSTANTS && !written);\n"
        "        *(once ? &program->clean_once : &program->clean) |= (uint8_t)bit;\n",
        "        bool once = own;\n"
        "        *(once ? &program->clean_once : &program->clean) |= "
        "(uint8_t)(index == CONSTANTS ? 0 : bit);\n",
        ["strict"],
    ),
    "clean of the fast scratch": (
        "ethosu_prepare.c",
        "        *(once ? &program->clean_once : &program->clean) |= (uint8_t)bit;\n",
        "        *(once ? &program->clean_once : &program->clean) |= "
        "index == FAST_SCRATCH ? 0 : bit;\n",
        EVICTIONS,
    ),
    "invalidate of all that two base pointers of one scratch write": (
        "ethosu_prepare.c",
        "    scratch->invalidate_size = (size_t)(end - scratch->invalidate);\n",
        "    (void)end;\n    scratch->invalidate_size = 32;\n",
        "shared_scratch_is_invalidated_in_one_call",
    ),
    "clean of constants that moved": (
        "ethosu_prepare.c",
        "    ethosu_ext_clean(made);\n",
        "    if (!(flags & ETHOSU_EXT_KNOWN_WRITES)) {\n        ethosu_ext_clean(made);\n    }\n",
        "constants_that_moved_are_cleaned_again",
    ),
    "lines of its own": (
        "ethosu_prepare.c",
        "    return flags & ETHOSU_EXT_OWN_LINES ? 0 : check_lines(&buffer, &span, fault);\n",
        "    (void)flags;\n    (void)check_lines;\n    (void)fault;\n    return 0;\n",
        "written_lines_that_other_data_shares_are_refused",
    ),
}


def feeds_of(model: Path, folder: Path) -> Path:
    """Make random inputs and the reference's outputs for some steps."""
    oracle, dice, arrays = Oracle(model), np.random.default_rng(1), {}
    for step in range(STEPS):
        inputs = [
            dice.integers(-128, 128, tensor.shape).astype(tensor.dtype) for tensor in oracle.inputs
        ]
        arrays |= {f"{step}.{index}": array for index, array in enumerate(inputs)}
        arrays |= {f"{step}={index}": array for index, array in enumerate(oracle.step(inputs))}
    path = folder / "feeds.npz"
    np.savez(path, **arrays)
    return path


@pytest.fixture(scope="module", autouse=True)
def built():
    sharing.make("tools/sim_host")


@pytest.fixture(
    scope="module",
    params=[(model, npu) for model in ("small_cnn", "small_streaming") for npu in NPUS],
    ids="-".join,
)
def runs(request, small_models, compiled, tmp_path_factory):
    """Return a compiled model with its feeds."""
    model, npu = request.param
    source = small_models[model]
    folder = tmp_path_factory.mktemp("coherence")
    return compiled(source, npu), feeds_of(source, folder)


def outcomes(runs, modes) -> dict[str, str]:
    """Return the results of the library's runs, by mode."""
    model, feeds = runs[0].read_bytes(), dict(np.load(runs[1]))
    return {mode: coherent_runs.run(model, feeds, mode) for mode in modes}


def outcomes_of(library: Path, runs, modes) -> dict[str, str]:
    """Return the results of another library, run in a process of its own."""
    module = "host_tests.modules.ethosu.driver.coherent_runs"
    command = ["env", f"ETHOSU_SIM_LIBRARY={library}", sys.executable, "-m", module, *runs, *modes]
    return dict(line.split(" ", 1) for line in sharing.run(command, cbuild.REPO).splitlines())


def objects_of(*folders: str) -> list[Path]:
    """Return the objects of the host library, except those of deleted sources."""
    build = cbuild.REPO / "build/sim_host"
    objects = [path for folder in folders for path in sorted((build / folder).rglob("*.o"))]
    sources = {path: cbuild.REPO / path.relative_to(build).with_suffix(".c") for path in objects}
    return [path for path in objects if sources[path].is_file()]


def mutated(name: str, folder: Path) -> Path:
    """Build the host library with one mutation of the driver's file."""
    file, text, instead, _ = MUTATIONS[name]
    build = cbuild.REPO / "build/sim_host"
    for path in sorted((cbuild.REPO / DRIVER).glob("*/*.[chd]*")):
        content = path.read_text()
        copy = folder / path.relative_to(cbuild.REPO / DRIVER.parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.name == file:
            assert content.count(text) == 1, f"{file}: {name}"
            content = content.replace(text, instead)
        copy.write_text(content)
    name = "ethosu_driver.c" if file.endswith(".h") else file
    (source,) = folder.glob(f"driver/*/{name}")
    flags = ["-O2", *cbuild.STRICT, "-fPIC", f"-I{folder}", *cbuild.INCLUDES]
    cbuild.run(["gcc", *flags, "-c", source, "-o", folder / "mutated.o"])
    left_out = build / DRIVER.parent / source.relative_to(folder).with_suffix(".o")
    objects = [path for path in objects_of("modules", "tools") if path != left_out]
    library = folder / "libethosu_sim.so"
    archive = cbuild.REPO / "build/npu_sim/libnpu_sim.a"
    link = ["gcc", "-pthread", "-shared", "-Wl,-z,defs", "-o", library, folder / "mutated.o"]
    cbuild.run([*link, *objects, archive, "-lm"])
    return library


def test_results_are_exact_behind_a_cache(runs):
    modes = ["off", "strict", "off+8", "strict+8", *(f"{mode}+8" for mode in EVICTIONS)]
    modes += [f"evict:{seed}" for seed in range(40)]
    assert outcomes(runs, modes) == dict.fromkeys(modes, "exact")


@pytest.mark.slow
def test_no_eviction_of_1000_seeds_changes_a_result(runs, capsys):
    counts = Counter(outcomes(runs, [f"evict:{seed}" for seed in MANY_SEEDS]).values())
    with capsys.disabled():
        print(f"\n{runs[0].stem}: {dict(counts)}")
    assert counts == {"exact": len(MANY_SEEDS)}


@pytest.fixture(scope="module")
def dedicated(small_models, compiled, tmp_path_factory):
    """Return a model with separate memory for fast scratch."""
    source = small_models["small_cnn"]
    folder = tmp_path_factory.mktemp("dedicated")
    return compiled(source, "ethos-u65-512"), feeds_of(source, folder)


C_TESTS = [name for name, row in MUTATIONS.items() if isinstance(row[3], str)]


@pytest.mark.parametrize("name", C_TESTS)
def test_driver_tests_fail_without_each_operation(name, tmp_path):
    library = mutated(name, tmp_path)
    program = tmp_path / "test_memory"
    compiler = ["gcc", *cbuild.STRICT, *cbuild.INCLUDES]
    frame = [cbuild.HERE / name for name in ("board/test_memory.c", *cbuild.FRAME)]
    objects = [path for path in objects_of(str(DRIVER)) if path.name != "ethosu_prepare.o"]
    objects += [*sharing.objects(compiler, frame), library.parent / "mutated.o"]
    host = cbuild.group(*cbuild.archives("", *cbuild.HOST))
    cbuild.run([*compiler, *objects, *host, "-lm", "-o", program])
    assert "test_memory.c:" in cbuild.refuse([program, MUTATIONS[name][3]])


@pytest.mark.parametrize("name", [name for name in MUTATIONS if name not in C_TESTS])
def test_results_are_wrong_without_each_operation(name, dedicated, tmp_path, capsys):
    modes = MUTATIONS[name][3]
    found = outcomes_of(mutated(name, tmp_path), dedicated, modes)
    wrong = {mode: outcome for mode, outcome in found.items() if outcome != "exact"}
    with capsys.disabled():
        print(f"\nwithout {name}: {len(wrong)} of {len(modes)} runs wrong")
    assert wrong
