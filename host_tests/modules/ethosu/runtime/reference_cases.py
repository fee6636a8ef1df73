# SPDX-License-Identifier: MIT
"""Inputs for a model, and the outputs of TFLite's reference kernels for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ethosu_tools.arrays import Array
from ethosu_tools.oracle import Oracle

WAKE_WORDS = ("okay_nabu", "hey_jarvis", "alexa", "hey_mycroft")
SHARED = (
    "kws_ref_model",
    "ad01_int8",
    "pretrainedResnet_quant",
    "vww_96_int8",
    "hello_world_int8",
)


@dataclass(frozen=True)
class Case:
    """A model before compilation, with the inputs and the expected outputs of each step."""

    model: Path
    inputs: Sequence[Sequence[Array]]
    outputs: Sequence[Sequence[Array]]


def make_case(model: Path, steps: int, *, extremes: bool = True, seed: int = 7) -> Case:
    """Random inputs, then the two extremes; state is kept from step to step."""
    oracle = Oracle(model)
    random = np.random.default_rng(seed)
    limits = [np.iinfo(tensor.dtype) for tensor in oracle.inputs]
    rows = [
        [
            random.integers(limit.min, limit.max, tensor.shape, tensor.dtype, endpoint=True)
            for limit, tensor in zip(limits, oracle.inputs, strict=True)
        ]
        for _ in range(steps)
    ]
    for extreme in ("min", "max") if extremes else ():
        rows.append(
            [
                np.full(tensor.shape, getattr(limit, extreme), tensor.dtype)
                for limit, tensor in zip(limits, oracle.inputs, strict=True)
            ]
        )
    return Case(model, rows, [oracle.step(row) for row in rows])


def assert_equal(found: Sequence[Array], expected: Sequence[Array], step: int) -> None:
    """Every output of a step equals the reference, bit by bit."""
    assert len(found) == len(expected)
    for index, (ours, reference) in enumerate(zip(found, expected, strict=True)):
        assert ours.tobytes() == reference.tobytes(), f"step {step}, output {index} differs"
