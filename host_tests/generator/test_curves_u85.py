# SPDX-License-Identifier: MIT
"""LOGISTIC and TANH on Ethos-U85 with Vela's tables: every possible input, bit by bit."""

import numpy as np
import pytest
from ethosu_tools.model.tflite.writer import Graph, write
from ethosu_tools.sim.oracle import REFERENCE, Oracle
from ethosu_tools.sim.simulation import Simulation

from . import vela
from .case import Case
from .families import U85

# At 1/16, -170 is on the border of the outermost segments of LOGISTIC.
SCALES = (1 / 16, 1 / 4096, 0.0007, 0.0123, 0.031)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", ["LOGISTIC", "TANH"])
def test_every_int16_number_is_exact(kind, scale):
    numbers = np.arange(-32768, 32768, dtype=np.int16).reshape(1, 256, 256)
    graph = Graph("main")
    graph.inputs = [graph.tensor("x", numbers.shape, "int16", scale, 0)]
    graph.outputs = [graph.tensor("y", numbers.shape, "int16", 1 / 32768, 0)]
    graph.operator(kind, graph.inputs, graph.outputs)
    options = ("--system-config", "Ethos_U85_SYS_DRAM_Mid", "--memory-mode", "Sram_Only")
    model = write([graph], kind)
    case = Case(U85, None, (), model, "ethos-u85-256", options, (kind,), ((numbers,),))
    (wanted,) = Oracle(model, kernels=REFERENCE).step((numbers,))
    with Simulation(vela.compile_case(case).model) as simulation:
        (found,) = simulation.step((numbers,))
    np.testing.assert_array_equal(found.reshape(wanted.shape), wanted)
