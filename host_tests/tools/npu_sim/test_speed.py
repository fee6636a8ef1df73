# SPDX-License-Identifier: MIT
"""Measures the simulator's and an emulated board's speed, which `pytest -s -m slow` prints.

Times are not repeatable on a busy machine, but ratios are: inferences of ours and of LiteRT's
alternate in this process, each on one thread, and the least CPU time of many rounds counts. No
assertion is on time. ETHOSU_SPEED_MODELS=FILE:FILE adds models as trained.
"""

import os
import statistics
import time
import timeit
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools.compile import vela
from ethosu_tools.link.remote import EmulatedRunner
from ethosu_tools.model import arrays, make_model
from ethosu_tools.sim import litert, oracle
from ethosu_tools.sim.oracle import Oracle
from ethosu_tools.sim.simulation import Simulation

NPUS = ("ethos-u55-128", "ethos-u65-512", "ethos-u85-256")
OWN_MODELS = ("mobilenet_v2", "mobilenet_v2_nchw")
ROUNDS = 25
PAIRS = 15
# Each measured piece repeats its inference until it takes about this long.
ROUND_S = 0.002
SAMPLE_S = 0.01

# The DMA controller is as slow as the modelled bus, so the CPU copies.
ON_BOARD = """\
import dma, time
dma.enable(False)
_ends = [[bytearray(size) for size in sizes] for sizes in ({inputs}, {outputs})]
def _seconds(count):
    start = time.ticks_us()
    for _ in range(count):
        {model}.run_into(*_ends)
    return time.ticks_diff(time.ticks_us(), start) / count / 1e6
"""


def seconds(step, inputs, count, timer=time.perf_counter):
    """Return the time of one of so many inferences."""
    return timeit.timeit(lambda: step(inputs), timer=timer, number=count) / count


def least_seconds(steps, inputs):
    """Return the least CPU times of alternating steps in this thread."""

    def cpu_seconds(step, count):
        return seconds(step, inputs, count, time.thread_time)

    counts = [
        max(1, round(ROUND_S / min(cpu_seconds(step, 1) for _ in range(3)))) for step in steps
    ]
    rounds = [list(map(cpu_seconds, steps, counts)) for _ in range(ROUNDS)]
    return [min(each) for each in zip(*rounds, strict=True)]


def own_model(folder, name):
    model = folder / f"{name}.tflite"
    model.write_bytes(make_model.LARGE_MODELS[name]())
    return model


@pytest.fixture(scope="module", params=OWN_MODELS)
def mobilenet(request, tmp_path_factory):
    """Return the project's models with 300 million MACs, before and after compiling."""
    folder = tmp_path_factory.mktemp("mobilenet")
    model, compiled = own_model(folder, request.param), folder / "compiled.tflite"
    estimate = vela.compile_model(model, "ethos-u55-256", compiled)["vela_estimate"]
    assert estimate["macs"] == pytest.approx(300e6, rel=0.02)
    return model, compiled


@pytest.mark.parametrize("coherence", ["off", "strict"])
def test_mobilenet_is_exact(mobilenet, coherence):
    model, compiled = mobilenet
    with Simulation(compiled, coherence=coherence) as simulation:
        inputs = arrays.random_inputs(simulation.inputs)
        pairs = zip(simulation.step(inputs), Oracle(model).step(inputs), strict=True)
        assert all(np.array_equal(found, expected) for found, expected in pairs)


@pytest.mark.slow
@pytest.mark.parametrize("npu", NPUS)
def test_ratios_to_litert_are_printed(npu, tmp_path):
    models = [own_model(tmp_path, name) for name in OWN_MODELS]
    models += map(Path, filter(None, os.environ.get("ETHOSU_SPEED_MODELS", "").split(":")))
    for model in models:
        compiled = tmp_path / "compiled.tflite"
        vela.compile_model(model, npu, compiled)
        rivals = {
            "XNNPACK": Oracle(model, kernels=litert.XNNPACK, here=True),
            "built-in kernels": Oracle(model, kernels=oracle.BUILTIN, here=True),
        }
        with (
            Simulation(compiled, coherence="off") as ours,
            Simulation(compiled, coherence="strict") as strict,
        ):
            inputs = arrays.random_inputs(ours.inputs)
            steps = [ours.step, *(rival.step for rival in rivals.values()), strict.step]
            for found, expected in zip(ours.step(inputs), Oracle(model).step(inputs), strict=True):
                assert np.array_equal(found, expected), f"{model} on {npu}"
            least, *others = least_seconds(steps, inputs)
            print(f"\n{model.stem} on {npu}: {1e3 * least:.3f} ms, ratio to", end="")
            for name, other in zip((*rivals, "strict coherence"), others, strict=True):
                print(f" {name} {least / other:.3f}", end=";")


@pytest.mark.slow
def test_ratio_to_an_emulated_board_is_printed(tmp_path):
    model, compiled = own_model(tmp_path, "mobilenet_v2"), tmp_path / "compiled.tflite"
    vela.compile_model(model, "ethos-u55-256", compiled)
    with (
        Simulation(compiled, coherence="off") as ours,
        EmulatedRunner(compiled) as emulated,
    ):
        inputs = arrays.random_inputs(ours.inputs)
        sizes = ([tensor.size for tensor in ends] for ends in (emulated.inputs, emulated.outputs))
        names = dict(zip(("inputs", "outputs"), sizes, strict=True))
        emulated.board.exec(ON_BOARD.format(model=emulated.name, **names))
        once = emulated.board.eval("_seconds(1)", timeout=120)
        code = f"_seconds({max(1, round(SAMPLE_S / once))})"
        # The first inference also fills caches.
        count = max(1, round(SAMPLE_S / seconds(ours.step, inputs, 1)))
        pairs = [
            (seconds(ours.step, inputs, count), emulated.board.eval(code, timeout=120))
            for _ in range(PAIRS)
        ]
        ratio = statistics.median(a / b for a, b in pairs)
        print(f"\nsimulator {1e3 * min(pairs)[0]:.3f} ms, ratio to an emulated board {ratio:.3f}")
