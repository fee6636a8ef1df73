# SPDX-License-Identifier: MIT
"""Makes inputs for a model, and the outputs of TFLite's reference kernels."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ethosu_tools.link.board import Board
from ethosu_tools.link.open import open_runner
from ethosu_tools.model.arrays import Array, Feed
from ethosu_tools.sim.oracle import Oracle


@dataclass(frozen=True)
class Case:
    """A model before compilation, with inputs and expected outputs for each step."""

    model: Path | bytes
    inputs: Sequence[Sequence[Array]]
    outputs: Sequence[Sequence[Array]]


def make_case(model: Path | bytes, steps: int, *, extremes: bool = True, seed: int = 7) -> Case:
    """Make random inputs, then the two extremes; state persists from step to step."""
    oracle = Oracle(model)
    random = np.random.default_rng(seed)
    rows = [[_values(random, tensor) for tensor in oracle.inputs] for _ in range(steps)]
    for extreme in ("min", "max") if extremes else ():
        rows.append(
            [np.full(t.shape, getattr(np.iinfo(t.dtype), extreme), t.dtype) for t in oracle.inputs]
        )
    return Case(model, rows, [oracle.step(row) for row in rows])


def _values(random: np.random.Generator, tensor: Any) -> Any:
    if tensor.dtype == "float32":
        return random.normal(0, 1, tensor.shape).astype(np.float32)
    if tensor.dtype == "int32":  # word indices into a table of mixed_models's models
        return random.integers(0, 50, tensor.shape, np.int32)
    limit = np.iinfo(tensor.dtype)
    return random.integers(limit.min, limit.max, tensor.shape, tensor.dtype, endpoint=True)


def assert_exact(case: Case, found: Iterable[Sequence[Array]]) -> None:
    """Check that every output of every step equals the reference, bit by bit."""
    for step, (row, expected) in enumerate(zip(found, case.outputs, strict=True)):
        for index, (ours, reference) in enumerate(zip(row, expected, strict=True)):
            assert (ours.dtype, ours.shape) == (reference.dtype, reference.shape)
            assert ours.tobytes() == reference.tobytes(), f"step {step}, output {index} differs"


def outputs_of(
    model: Path, inputs: Sequence[Sequence[Array]], where: str | Board = "sim", **options: Any
) -> list[list[Array]]:
    """Run a compiled model step by step, anywhere that `open_runner` knows."""
    feed = Feed(tuple(map(np.stack, zip(*inputs, strict=True))), len(inputs), has_time=True)
    with open_runner(model, where, **options) as runner:
        assert runner.npu == options.get("npu", runner.npu)
        return list(runner.run(feed))


def check(case: Case, compiled: Path, where: str | Board = "sim", **options: Any) -> None:
    """Check that a compiled model's results equal the reference's."""
    assert_exact(case, outputs_of(compiled, case.inputs, where, **options))
