# SPDX-License-Identifier: MIT
"""Speed of the simulator and of an emulated board; `pytest -s -m slow` on this file prints it.

Times are not repeatable on a busy machine, but ratios are: one inference of ours and one of
LiteRT's run alternately, both on one thread, and the median of many such pairs counts. No
assertion is on time.
"""

import statistics
import time

import numpy as np
import pytest
from ethosu_tools import arrays, make_model, oracle, vela
from ethosu_tools.oracle import Oracle
from ethosu_tools.remote import EmulatedRunner
from ethosu_tools.sim import Simulation

PAIRS = 15
# Each measured piece repeats its inference until it takes about this long.
SAMPLE_S = 0.01

# Its DMA controller is as slow as the bus that it models, so the CPU copies.
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


def seconds(step, inputs):
    """One inference; the first, which also fills caches, determines the number of repetitions."""
    start = time.perf_counter()
    step(inputs)
    count = max(1, round(SAMPLE_S / (time.perf_counter() - start)))
    start = time.perf_counter()
    for _ in range(count):
        step(inputs)
    return (time.perf_counter() - start) / count


def in_turns(ours, rival, inputs):
    """Seconds of each, measured alternately, each first in every second pair."""
    turns = []
    for pair in range(PAIRS):
        steps = (ours, rival) if pair % 2 else (rival, ours)
        times = [seconds(step, inputs) for step in steps]
        turns.append(times if pair % 2 else times[::-1])
    return turns


def show(rival, pairs):
    ours, theirs = (1e3 * statistics.median(times) for times in zip(*pairs, strict=True))
    ratio = statistics.median(a / b for a, b in pairs)
    print(f"\nsimulator {ours:.3f} ms, {rival} {theirs:.3f} ms, ratio {ratio:.3f}", end="")


@pytest.fixture(scope="module")
def mobilenet(tmp_path_factory):
    """The project's own model with 300 million MACs, before and after compiling."""
    folder = tmp_path_factory.mktemp("mobilenet")
    model, compiled = folder / "mobilenet_v2.tflite", folder / "compiled.tflite"
    model.write_bytes(make_model.LARGE_MODELS["mobilenet_v2"]())
    estimate = vela.compile_model(model, "ethos-u55-256", compiled)["estimate"]
    assert estimate["macs"] == pytest.approx(300e6, rel=0.02)
    return model, compiled


@pytest.mark.parametrize("coherence", ["off", "strict"])
def test_mobilenet_is_exact(mobilenet, coherence):
    model, compiled = mobilenet
    with Simulation(compiled, coherence=coherence) as simulation:
        inputs = arrays.random_inputs(simulation.inputs, np.random.default_rng(0))
        pairs = zip(simulation.step(inputs), Oracle(model).step(inputs), strict=True)
        assert all(np.array_equal(found, expected) for found, expected in pairs)


@pytest.mark.slow
def test_times_are_printed(mobilenet):
    model, compiled = mobilenet
    with (
        Simulation(compiled, coherence="off") as ours,
        Simulation(compiled, coherence="strict") as strict,
        EmulatedRunner(compiled) as emulated,
    ):
        inputs = arrays.random_inputs(ours.inputs, np.random.default_rng(0))
        for name, rival in {
            "LiteRT's built-in kernels": Oracle(model, kernels=oracle.BUILTIN, here=True),
            "LiteRT with XNNPACK": Oracle(model, kernels=oracle.XNNPACK, here=True),
            "with strict coherence": strict,
        }.items():
            show(name, in_turns(ours.step, rival.step, inputs))
        sizes = ([tensor.size for tensor in ends] for ends in (emulated.inputs, emulated.outputs))
        names = dict(zip(("inputs", "outputs"), sizes, strict=True))
        emulated.board.exec(ON_BOARD.format(model=emulated.name, **names))
        once = emulated.board.eval("_seconds(1)", timeout=120)
        code = f"_seconds({max(1, round(SAMPLE_S / once))})"
        show(
            "an emulated board",
            [
                (seconds(ours.step, inputs), emulated.board.eval(code, timeout=120))
                for _ in range(PAIRS)
            ],
        )
