# SPDX-License-Identifier: MIT
"""ELU differs by one because TFLite fills its table in single precision, Vela in double."""

import numpy as np
import pytest
from ethosu.vela.tflite.Model import Model

from .. import case as cases
from ..check import Verdict, check

# Scales whose ratio puts results close to a tie.
SEEDS = (1_823, 3_143, 4_188)


def elu(x, scale, out_scale, precision):
    """Compute the table's entries for steps above the zero point, in steps of the output."""
    value = precision(scale) * x.astype(precision)
    value = np.where(value < 0, np.expm1(value), value)
    steps = value * (precision(1) / precision(out_scale))
    return np.sign(steps) * np.floor(np.abs(steps) + precision(0.5))


@pytest.mark.parametrize("seed", SEEDS)
def test_elu_is_the_double_precision_table(seed):
    case = cases.make(seed)
    result = check(case)
    assert result.verdict is Verdict.BOUNDED
    graph = Model.GetRootAs(case.model, 0).Subgraphs(0)
    operator = graph.Operators(0)
    ends = [graph.Tensors(i).Quantization() for i in (operator.Inputs(0), operator.Outputs(0))]
    (scale, zero), (out_scale, out_zero) = [(end.Scale(0), end.ZeroPoint(0)) for end in ends]
    for feed, expected, found in zip(case.feeds, result.expected, result.found, strict=True):
        x = feed[0].astype(int) - zero
        for outputs, precision in ((expected, np.float32), (found, np.float64)):
            table = (elu(x, scale, out_scale, precision) + out_zero).clip(-128, 127)
            np.testing.assert_array_equal(outputs[0], table)
