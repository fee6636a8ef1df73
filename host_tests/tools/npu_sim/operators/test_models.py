# SPDX-License-Identifier: MIT
"""TFLite's LSTM, the only inexact operator, stays within its bound."""

import numpy as np
import pytest
from ethosu_tools.sim.simulation import Simulation


@pytest.mark.parametrize("npu", [f"ethos-u{n}" for n in ("55-128", "65-512", "85-128", "85-1024")])
def test_lstm(case_of, compiled, shared_models, npu):
    """The LSTM differs by no more than the bound in tools/npu_sim/README.md."""
    model = shared_models / "trained_lstm_int8.tflite"
    case, differences = case_of(model, 40), []
    with Simulation(compiled(model, npu)) as simulation:
        for inputs, (expected,) in zip(case.inputs, case.outputs, strict=True):
            (found,) = simulation.step(inputs)
            differences.append(np.abs(found.astype(int) - expected.astype(int)).max())
    assert max(differences[:-2]) <= 4, "random inputs"
    assert max(differences[-2:]) <= 12, "the extremes"
    assert np.count_nonzero(differences) <= len(differences) // 4
