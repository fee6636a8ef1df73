# SPDX-License-Identifier: MIT
"""Values of a model's layers while the simulator runs its compiled form.

The table that `ethosu compile` stores names the operator of each NPU operation. An operator's last
operation writes its output, unless Vela fused the next operator, which then has no operations of
its own: in that case, the operation writes the next operator's output. Outputs that are written in
several parts are joined; outputs that stay inside the NPU (chains) are not seen.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from ...base.errors import BoardError, InputError
from ...model import ModelFile, Tensor
from ...model.arrays import Array
from ...model.tflite.cut import Whole
from ...sim.simulation import Simulation
from ...sim.table import Names
from ...sim.trace import FeatureMap, Operation
from .ways import Outcome, Steps

_IMAGE = 4  # dimensions of an image
_BRICK = 16  # channels of NHCWB16
_RESHAPES = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS")


@dataclass
class Record:
    """Operations of one inference, their names, and their outputs in each step (None: unseen)."""

    outcome: Outcome
    operations: list[Operation]
    names: list[str]
    maps: list[list[Array | None]]


def record(compiled: ModelFile, steps: Steps) -> Record:
    """Run a compiled model and look at the output of each operation."""
    operations: list[Operation] = []
    maps: list[list[Array | None]] = []
    step: list[Array | None] = []

    def look(operation: Operation) -> None:
        if not maps:
            operations.append(operation)
        ofm = operation.ofm
        step.append(simulation.feature_map(ofm) if ofm and not ofm.chained else None)

    outputs: list[list[Array]] = []
    error = ""
    try:
        with Simulation(compiled) as simulation:
            simulation.observe(look)
            for inputs in steps:
                step = []
                outputs.append(simulation.step(inputs))
                maps.append(step)
    except (InputError, BoardError) as failure:
        error = str(failure)
    if any(len(each) != len(operations) for each in maps):
        # The first inference also sets variables (CALL_ONCE), so it has more rows than later ones.
        operations, maps = [], [[] for _ in maps]
    names = Names(compiled).of(operations) if maps else []
    return Record(error or outputs, operations, names, maps)


def values(seen: Record, compiled: ModelFile, whole: Whole) -> dict[int, list[Array]]:
    """Find the values of the source model's tensors in each step."""
    rows: dict[int, list[int]] = {}
    for row, name in enumerate(seen.names):
        layer = _layer(name, whole)
        if layer is not None and seen.operations[row].ofm:
            rows.setdefault(layer, []).append(row)
    elsewhere = {
        compiled.graph.tensors[tensor].name
        for operator in compiled.graph.operators
        if not operator.on_npu
        for tensor in operator.outputs
    }
    found: dict[int, list[Array]] = {}
    for layer, numbers in rows.items():
        tensors = _written(layer, whole, {*rows}, elsewhere)
        if not tensors:
            continue
        wanted = whole.graph.tensors[tensors[0]]
        each = [_join(step, numbers, seen.operations, wanted) for step in seen.maps]
        joined = [array for array in each if array is not None]
        if len(joined) == len(seen.maps):
            for tensor in tensors:
                found[tensor] = [each.reshape(_shape(whole, tensor)) for each in joined]
    return found


def _layer(name: str, whole: Whole) -> int | None:
    """Return the operator that a name of the debug table refers to."""
    match = re.match(r"(\d+) (\w+)", name)
    number = int(match[1]) if match else -1
    if match and number < len(whole.operators) and whole.operators[number].name == match[2]:
        return number
    return None


def _written(layer: int, whole: Whole, named: set[int], elsewhere: set[str]) -> list[int]:
    """Find the tensors with the values that the last operation of a layer writes.

    These are the layer's output or that of a fused operator, and reshaped copies. `named` layers
    have operations of their own; tensors with a name in `elsewhere` are the CPU's.
    """
    outputs = whole.operators[layer].outputs
    if len(outputs) != 1:
        return []
    tensors = [outputs[0]]
    while len(whole.readers.get(tensors[-1], ())) == 1:
        (reader,) = whole.readers[tensors[-1]]
        after = whole.operators[reader].outputs
        alone = len(after) == 1 and reader not in named and tensors[-1] not in whole.graph.outputs
        if not alone or whole.graph.tensors[after[0]].name in elsewhere:
            break
        if math.prod(_shape(whole, after[0])) != math.prod(_shape(whole, tensors[-1])):
            break
        same = whole.operators[reader].name in _RESHAPES
        tensors = [*tensors, after[0]] if same else [after[0]]
    return tensors


def _shape(whole: Whole, tensor: int) -> tuple[int, ...]:
    return whole.graph.tensors[tensor].shape


def _join(
    step: list[Array | None], rows: list[int], operations: list[Operation], wanted: Tensor
) -> Array | None:
    """Join the last feature maps that make up a tensor; None if they do not match it."""
    size, count = math.prod(wanted.shape), 0
    parts: list[tuple[FeatureMap, Array]] = []
    for row in reversed(rows):
        part, map_ = step[row], operations[row].ofm
        if part is None or map_ is None or part.dtype.name != wanted.dtype:
            return None
        parts.insert(0, (map_, part))
        count += part.size
        if count >= size:
            break
    if count != size:
        return None
    if len(parts) == 1:
        return _in_memory_order(*parts[0]).reshape(wanted.shape)
    if len(wanted.shape) != _IMAGE or wanted.shape[0] != 1:
        return None
    placed = _placed(parts, wanted.shape[1:])
    if placed is None and all(part.shape[1:] == wanted.shape[2:] for _, part in parts):
        placed = np.concatenate([part for _, part in parts])  # stripes in a rolling buffer
    return None if placed is None else placed.reshape(wanted.shape)


def _in_memory_order(map_: FeatureMap, part: Array) -> Array:
    """Sort values by address, since a TRANSPOSE swaps the strides of rows and columns."""
    if map_.format == "NHCWB16":
        return part
    ordered: Array = part.ravel()[np.argsort(map_.offsets(), axis=None)]
    return ordered


def _placed(parts: list[tuple[FeatureMap, Array]], shape: tuple[int, ...]) -> Array | None:
    """Assemble an image from parts by their addresses; None if the addresses do not fit."""
    first, image = parts[0][0], np.zeros(shape, parts[0][1].dtype)
    filled = np.zeros(shape, bool)
    start = min(int(map_.offsets().min()) for map_, _ in parts)
    for map_, part in parts:
        if _layout(map_) != _layout(first):
            return None
        place = _place(map_, map_.offsets() - start)
        if any(place[axis].max() >= shape[axis] for axis in range(len(shape))):
            return None
        image[place], filled[place] = part, True
    return image if filled.all() else None


def _layout(map_: FeatureMap) -> tuple[object, ...]:
    """Return what all parts of an image share; NHWC has no stride between bricks."""
    used = 3 if map_.format == "NHCWB16" else 2
    return map_.format, map_.region, map_.strides[:used]


def _place(map_: FeatureMap, offset: Array) -> tuple[Array, ...]:
    """Convert byte offsets from the start of an image to row, column and channel."""
    stride_y, stride_x, stride_c = map_.strides
    row, rest = np.divmod(offset, stride_y)
    if map_.format == "NHCWB16":
        brick, rest = np.divmod(rest, stride_c)
        column, rest = np.divmod(rest, _BRICK * map_.item_size)
        return row, column, brick * _BRICK + rest // map_.item_size
    column, rest = np.divmod(rest, stride_x)
    return row, column, rest // map_.item_size
