# SPDX-License-Identifier: MIT
"""The board in node computes what TFLite's reference kernels compute, bit by bit: each model on
four NPUs. test_runners.py has a few of them in `make test`."""

import numpy as np
import pytest
from ethosu_tools import arrays, cli, tflite
from ethosu_tools.oracle import Oracle
from ethosu_tools.runner import open_runner

from host_tests.kit import needs

from .conftest import NAMES

pytestmark = pytest.mark.slow
NPUS = ("ethos-u55-128", "ethos-u55-256", "ethos-u65-512", "ethos-u85-256")
STEPS = 3


def test_enough_models_are_tested():
    assert len(NAMES) >= 20


@pytest.mark.parametrize("npu", NPUS)
def test_equals_the_reference(model, npu, tmp_path):
    needs.web()
    compiled = tmp_path / "compiled.tflite"
    assert cli.main(["compile", str(model), "--npu", npu, "-o", str(compiled), "--quiet"]) == 0
    ends = tflite.describe(model).inputs
    random = np.random.default_rng(2026)
    steps = [arrays.random_inputs(ends, random) for _ in range(STEPS)]
    feed = arrays.check(
        {str(i): np.stack(each) for i, each in enumerate(zip(*steps, strict=True))}, ends
    )
    oracle = Oracle(model)
    with open_runner(compiled, "web") as runner:
        assert runner.npu == npu
        for step, outputs in enumerate(runner.run(feed)):
            expected = oracle.step(feed.step(step))
            assert [each.tobytes() for each in outputs] == [each.tobytes() for each in expected]
    assert step + 1 == STEPS
