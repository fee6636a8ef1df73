# SPDX-License-Identifier: MIT
"""Comparisons of int8 numbers of any scales on Ethos-U85, compared with TFLite's.

TFLite shifts a number up by 8 bits and scales it with two roundings, the NPU with one. Each scaled
number differs by at most 1/256, so the comparison may only differ if the numbers differ by 2/256
or less.
"""

import numpy as np
import pytest
from ethosu_tools.oracle import Oracle
from ethosu_tools.sim import Simulation
from ethosu_tools.tflite.writer import Graph, write

from . import vela
from .case import Case
from .families import U85

KINDS = {
    "EQUAL": "EqualOptions",
    "NOT_EQUAL": "NotEqualOptions",
    "GREATER": "GreaterOptions",
    "LESS_EQUAL": "LessEqualOptions",
}
SCALES = ((0.0123, 0.0456), (0.9, 0.031), (0.07, 0.07), (0.0039, 0.5))


def comparison(kind, scales):
    """Every pair of int8 numbers."""
    graph = Graph("main")
    graph.inputs = [
        graph.tensor(name, (1, 256, 256), "int8", scale, zero_point)
        for name, scale, zero_point in (("x", scales[0], 3), ("y", scales[1], -7))
    ]
    graph.outputs = [graph.tensor("truth", (1, 256, 256), "bool")]
    graph.operator(kind, graph.inputs, graph.outputs, KINDS[kind])
    numbers = np.arange(-128, 128, dtype=np.int8)
    feed = tuple(np.ascontiguousarray(grid)[None] for grid in np.meshgrid(numbers, numbers))
    options = ("--system-config", "Ethos_U85_SYS_DRAM_Mid", "--memory-mode", "Sram_Only")
    model = write([graph], kind)
    return Case(U85, None, (), model, "ethos-u85-256", options, (kind,), (feed,))


@pytest.mark.parametrize("scales", SCALES)
@pytest.mark.parametrize("kind", KINDS)
def test_differences_are_between_neighbours(kind, scales):
    case = comparison(kind, scales)
    (x, y), (wanted,) = case.feeds[0], Oracle(case.model).step(case.feeds[0])
    with Simulation(vela.compile_case(case).model) as simulation:
        (found,) = simulation.step(case.feeds[0])
    apart = np.abs((x.astype(float) - 3) * scales[0] - (y.astype(float) + 7) * scales[1])
    assert not (wanted != found)[apart > 2 / 256].any()
    assert np.count_nonzero(wanted != found) < 0.01 * wanted.size
