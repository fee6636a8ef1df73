# SPDX-License-Identifier: MIT
"""An LSTM layer differs because its gates use TFLite's TANH and LOGISTIC, exactly.

TFLite's own LSTM kernel computes them differently, in fixed point; that is the only difference.
"""

from contextlib import suppress

import numpy as np
import pytest
from ethosu_tools.sim.oracle import Oracle
from ethosu_tools.sim.simulation import Simulation

from host_tests.kit.process import isolated

from .. import case as cases
from .. import coverage, vela
from ..operators import GENERATORS

LSTM = "UNIDIRECTIONAL_SEQUENCE_LSTM"
FUNCTIONS = {3: "TANH", 4: "LOGISTIC"}
ADD = ("ELEMENTWISE", 1)

# Vela clamps the sigmoid to TFLite's range afterwards.
RANGE = {"TANH": (-32768, 32767), "LOGISTIC": (11, 32757)}


LAYERS = 4


@pytest.fixture(scope="module")
def layers():
    """Return compiled graphs of one LSTM layer; Vela crashes on some."""
    found = []
    for seed in range(list(GENERATORS).index(LSTM), 2_000, len(GENERATORS)):
        case = cases.make(seed)
        if case.operators != (LSTM,):
            continue
        with suppress(isolated.DiedError, vela.RefusedError):
            found.append((case, vela.compile_case(case).model))
        if len(found) == LAYERS:
            break
    return found


def sums(case, model):
    """Return (function, sum, result) of every addition with a function, in stream order."""
    kinds = list(coverage.operations(model))
    results, rows = {}, []

    with Simulation(model, case.npu) as simulation:

        def values(fmap):
            return simulation.feature_map(fmap).reshape(-1).astype(int)

        for feed in case.feeds:
            place = iter(kinds)

            def observe(operation, place=place):
                if operation.ofm is None:
                    return
                name, mode, state = next(place)
                function = FUNCTIONS.get(state["ACTIVATION"][0] & 0x1F)
                if (name, mode) == ADD and function:
                    # Results may overwrite operands: use those from the time they were written.
                    parts = [
                        results[one.region, one.base[0]] for one in (operation.ifm, operation.ifm2)
                    ]
                    rows.append((function, sum(parts), values(operation.ofm)))
                results[operation.ofm.region, operation.ofm.base[0]] = values(operation.ofm)

            simulation.observe(observe)
            simulation.step(feed)
            simulation.observe(None)
    return rows


def kernel(function, numbers):
    """Run TFLite's operator on numbers in units of 1/4096."""
    feed = (numbers.astype(np.int16)[None],)
    case = cases.of_operator(function, feed, [(1 / 4096, 0)], ("int16", 1 / 32768, 0))
    (result,) = Oracle(case.model).step(feed)
    return result.reshape(-1)


@pytest.mark.parametrize("layer", range(LAYERS))
def test_gates_of_an_lstm_are_tanh_and_logistic_of_tflite(layers, layer):
    rows = sums(*layers[layer])
    for function in FUNCTIONS.values():
        parts = [(added, result) for name, added, result in rows if name == function]
        added, result = (np.concatenate(column) for column in zip(*parts, strict=True))
        expected = kernel(function, added.clip(-32768, 32767))
        np.testing.assert_array_equal(result.clip(*RANGE[function]), expected)
