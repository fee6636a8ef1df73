# SPDX-License-Identifier: MIT
"""Every operator that Vela places on U55 and U65, in random graphs, equals the reference."""

from pathlib import Path

import numpy as np
import pytest
from ethosu_tools import tflite
from ethosu_tools.oracle import Oracle
from ethosu_tools.sim import Simulation

from tools.npu_sim import single_operators
from tools.npu_sim.conftest import CONFIGS, random_inputs

# Where TFLite computes otherwise than Vela programs the NPU: see tools/npu_sim/README.md.
TOLERANCE = {("absolute", "int16"): 1}
# Vela 5.2 fills its tables of EXP with wrapped values where the result overflows int32.
COMPILER_OVERFLOWS = {("exponential", "int8"), ("exponential", "int16")}


def check(vela, name: str, dtype: str, seed: int, *options: str) -> None:
    """One graph on the config that its seed chooses, with two random inputs."""
    content = single_operators.make(name, dtype, seed)
    position = list(single_operators.CASES).index((name, dtype))
    config = CONFIGS[(seed * 5 + position) % len(CONFIGS)]
    what = f"{name} {dtype} seed {seed} on {config}"
    oracle = Oracle(content)
    random = np.random.default_rng(seed)
    compiled = vela(content, config, *options)
    assert set(tflite.describe(compiled).cpu_operators) <= {"RESHAPE"}, "the CPU computes it"
    with Simulation(compiled) as simulation:
        for _ in range(2):
            inputs = random_inputs([(t.shape, t.dtype) for t in oracle.inputs], random)
            (found,), (expected,) = simulation.step(inputs), oracle.step(inputs)
            if (name, dtype) in COMPILER_OVERFLOWS:
                usable = expected != np.iinfo(dtype).max
                found, expected = found[usable], expected[usable]
            difference = np.abs(found.astype(int) - expected.astype(int))
            worst = difference.max(initial=0)
            assert worst <= TOLERANCE.get((name, dtype), 0), f"{what}: {worst} off"


@pytest.mark.parametrize(("name", "dtype"), single_operators.CASES)
def test_operator_is_exact(vela, name, dtype):
    check(vela, name, dtype, 0)


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--optimise", "Size")])
@pytest.mark.parametrize(("name", "dtype"), single_operators.CASES)
def test_operator_is_exact_often(vela, name, dtype, options):
    for seed in range(1, 6):
        check(vela, name, dtype, seed, *options)


def test_operations_of_a_softmax(vela):
    compiled: Path = vela(single_operators.make("softmax", "int8", 0), "ethos-u55-128")
    names = set()
    with Simulation(compiled) as simulation:
        simulation.observe(lambda operation: names.add(operation.name))
        simulation.step([np.zeros(t.shape, t.dtype) for t in simulation.inputs])
    assert {"NPU_OP_POOL", "NPU_OP_ELEMENTWISE", "NPU_OP_DMA_START"} <= names
