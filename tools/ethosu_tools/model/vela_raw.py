# SPDX-License-Identifier: MIT
"""Reads Vela's raw output, the driver's arguments for one command stream; makes a model of it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import InputError
from ..base.files import read_whole, unpack
from . import arrays
from .description import OFFSETS_NAME
from .file import ModelFile

# Regions of a command stream: the weights, the arena, and its fast part.
_SCRATCH, _FAST = 1, 2
_ALIGNMENT = 16
# The file has no types, only sizes.
_TYPES = {1: "int8", 2: "int16", 4: "int32"}


@dataclass(frozen=True)
class Io:
    """An input or output in NPU memory; a dimension of 0 counts as 1."""

    shape: tuple[int, ...]
    element_size: int
    offset: int
    region: int

    @property
    def size(self) -> int:
        """Bytes."""
        return math.prod(dimension or 1 for dimension in self.shape) * self.element_size


@dataclass(frozen=True)
class VelaRaw:
    """The driver's arguments."""

    commands: bytes
    weights: bytes
    scratch_size: int
    inputs: tuple[Io, ...]
    outputs: tuple[Io, ...]
    fast_scratch_size: int = 0


def read(npz: Path) -> VelaRaw:
    """Description of the one command stream in the file."""
    return _of(npz, _contents(npz))


def _contents(npz: Path) -> dict[str, Any]:
    """Read the arrays, without the quantisation, which Vela pickles: that would run its code."""
    try:
        entries = [(name.removesuffix(".npy"), data) for name, data in unpack(read_whole(npz))]
    except InputError as error:
        raise InputError(f"{npz} is not a valid .npz file: {error}") from error
    plain = [(name, data) for name, data in entries if not name.endswith("_quantization")]
    try:
        return {name: arrays.load_one(npz, data) for name, data in plain}
    except InputError as error:
        what = "Vela's raw output" if "cmd_data" in dict(plain) else "a .npz file"
        raise InputError(f"{npz} is {what}, but damaged: {error}") from error


def _of(npz: Path, file: Mapping[str, Any]) -> VelaRaw:
    def ios(end: str) -> tuple[Io, ...]:
        rows = zip(
            *(file[f"{end}_{name}"] for name in ("shape", "elem_size", "offset", "region")),
            strict=True,
        )
        return tuple(
            Io(tuple(int(size) for size in shape), int(element), int(offset), int(region))
            for shape, element, offset, region in rows
        )

    try:
        return VelaRaw(
            commands=file["cmd_data"].tobytes(),
            weights=file["weight_data"].tobytes(),
            scratch_size=int(file["scratch_size"]),
            inputs=ios("input"),
            outputs=ios("output"),
            fast_scratch_size=int(file["scratch_fast_size"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{npz} is not the raw output of Vela: {error}") from error


def find(path: Path) -> ModelFile | None:
    """Make a compiled model of Vela's raw output; None if the file is another one.

    It runs the same command stream with the same base pointers. Shapes are without leading ones.
    """
    if path.suffix != ".npz" or "cmd_data" not in (file := _contents(path)):
        return None
    raw = _of(path, file)
    wrong = [io for io in (*raw.inputs, *raw.outputs) if io.region != _SCRATCH]
    kinds = [io for io in (*raw.inputs, *raw.outputs) if io.element_size not in _TYPES]
    if wrong or kinds or len(file.get("variable_shape", ())):
        raise InputError(
            f"{path} has variables, or inputs and outputs that are not integers in the region "
            f"{_SCRATCH}: let Vela write a .tflite"
        )
    return ModelFile(_model(raw), name=str(path))


def _model(raw: VelaRaw) -> bytes:
    """Encode a model whose only operator has this command stream."""
    from .tflite.metadata import put
    from .tflite.writer import Graph, write

    graph, offsets = Graph("main"), [-1, -1, 0]
    end = -(-max(raw.scratch_size, *(io.offset + io.size for io in raw.inputs)) // _ALIGNMENT)
    call = [
        graph.constant("commands", np.frombuffer(raw.commands, np.uint8)),
        graph.constant("weights", np.frombuffer(raw.weights, np.uint8)),
        graph.tensor("scratch", (raw.scratch_size,), "uint8"),
    ]
    if raw.fast_scratch_size:
        call.append(graph.tensor("scratch_fast", (raw.fast_scratch_size,), "uint8"))
        offsets.append(end * _ALIGNMENT)
    else:
        call.append(call[-1])
    for ends, ios, name in ((graph.inputs, raw.inputs, "in"), (graph.outputs, raw.outputs, "out")):
        for number, io in enumerate(ios):
            ends.append(graph.tensor(f"{name}put{number}", _shape(io), _TYPES[io.element_size]))
            offsets.append(io.offset)
    graph.operator("ethos-u", [*call, *graph.inputs], graph.outputs)
    # Version, number of subgraphs, and an offset for each tensor.
    table = np.array([0, 1, len(offsets), *offsets], "<i4").tobytes()
    return put(write([graph], "Vela's raw output"), {OFFSETS_NAME: table})


def _shape(io: Io) -> tuple[int, ...]:
    """Vela writes six dimensions; the first ones are 1, apart from a batch of 1."""
    shape = [size or 1 for size in io.shape]
    while len(shape) > 2 and shape[0] == shape[1] == 1:
        del shape[0]
    return tuple(shape)
