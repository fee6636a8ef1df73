# SPDX-License-Identifier: MIT
"""State that persists between inferences: variables that a graph reads and assigns."""

from __future__ import annotations

from ethosu_tools.model.tflite.writer import Graph

from ..builder import Builder
from .layout import like


def streaming(b: Builder) -> None:
    """READ_VARIABLE, CONCATENATION with the newest input, ASSIGN_VARIABLE of the last part."""
    x = b.pick(ranks=(4, 3))
    name = f"state{len(b.graph.tensors)}"
    past = b.draws.integer(1, 4)
    before = like(b, x, (x.shape[0], past, *x.shape[2:]))
    first = b.random_data(before.shape, x.dtype)
    init = Graph("init")
    place = init.tensor(name, (), "resource")
    values = init.constant("first", first, x.scale, x.zero_point)
    init.operator("VAR_HANDLE", [], [place], "VarHandleOptions", sharedName=name)
    init.operator("ASSIGN_VARIABLE", [place, values], [], "AssignVariableOptions")
    graph = b.graph
    graph.operator("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=b.add_graph(init))
    handle = graph.tensor(name, (), "resource")
    graph.operator("VAR_HANDLE", [], [handle], "VarHandleOptions", sharedName=name)
    graph.operator("READ_VARIABLE", [handle], [before.index], "ReadVariableOptions")
    window = like(b, x, (x.shape[0], past + x.shape[1], *x.shape[2:]))
    b.operator("CONCATENATION", [before, x], [window], "ConcatenationOptions", axis=1)
    newest = like(b, x, before.shape)
    begin = (0, x.shape[1], *[0] * (x.rank - 2))
    inputs = [window, b.integers(*begin), b.integers(*before.shape)]
    b.operator("SLICE", inputs, [newest], "SliceOptions")
    graph.operator("ASSIGN_VARIABLE", [handle, newest.index], [], "AssignVariableOptions")
    b.operators += ["READ_VARIABLE", "ASSIGN_VARIABLE"]


OPERATORS = {"ASSIGN_VARIABLE": streaming, "READ_VARIABLE": streaming}
