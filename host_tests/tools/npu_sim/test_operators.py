# SPDX-License-Identifier: MIT
"""Every operator that Vela places on U55 and U65, in random graphs, equals the reference."""

from pathlib import Path

import numpy as np
import pytest
from ethosu_tools.npu import Session
from ethosu_tools.oracle import Oracle

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
    with Session(vela(content, config, *options)) as session:
        for _ in range(2):
            inputs = random_inputs(session.inputs, random)
            (found,), (expected,) = session.run(inputs), oracle.step(inputs)
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


def test_all_operators_reach_the_npu(vela):
    """A graph that stayed on the CPU would prove nothing; Session refuses such graphs."""
    compiled: Path = vela(single_operators.make("softmax", "int8", 0), "ethos-u55-128")
    with Session(compiled) as session:
        random = np.random.default_rng(0)
        names = {
            operation.name for operation in session.trace(random_inputs(session.inputs, random))
        }
    assert {"NPU_OP_POOL", "NPU_OP_ELEMENTWISE", "NPU_OP_DMA_START"} <= names
