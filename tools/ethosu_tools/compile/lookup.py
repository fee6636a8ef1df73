# SPDX-License-Identifier: MIT
"""Moves float operators between DEQUANTIZE and QUANTIZE to the NPU, as lookup tables.

A converter leaves an operator in floats if TensorFlow Lite has no quantised kernel for it: NEG,
SQRT, ABS and others. If all of the operators between an 8-bit tensor and a QUANTIZE are
element-wise functions of that tensor, the result is a function of 256 codes. LiteRT's reference
kernels compute it for each of them, so the table is exact by definition.

No operator of TensorFlow Lite carries a table. So a LEAKY_RELU stands in for the operators: Vela
writes a table of 256 bytes for it and a command that copies this to the NPU's table memory. LiteRT
computes these bytes, so that they can be found and replaced in Vela's output. Two RESHAPEs around
the stand-in, for which Vela writes nothing, set zero points in the middle: half of the codes are
then negative, and the slope makes the bytes of each table different.

The NPU's tables of 16 bits interpolate, so they are not exact. Between int16 tensors, ABS or MUL by
a constant replaces the operators if LiteRT then computes the same result for each of the 65,536
codes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.errors import InputError, SetupError
from ..model import Graph, ModelFile, Tensor, debug_table, reading
from ..sim.oracle import REFERENCE, Oracle, kernels_for

CODES = 256
_TYPES = ("int8", "uint8", "int16")
# Element-wise functions of inputs that have one value or the same shape.
_ELEMENT_WISE = (
    "ABS ADD CAST CEIL COS DIV ELU EXP FLOOR FLOOR_DIV FLOOR_MOD GELU HARD_SWISH LEAKY_RELU LOG "
    "LOGISTIC MAXIMUM MINIMUM MUL NEG POW PRELU RELU RELU6 RELU_0_TO_1 RELU_N1_TO_1 ROUND RSQRT "
    "SIGN SIN SQRT SQUARE SQUARED_DIFFERENCE SUB TANH"
)
_FAR = 1000  # the slope is measured between codes at this distance from 0
_LONGEST = 64  # most operators of an island
_STAND_IN, _, _OPTIONS = "LEAKY_RELU with LeakyReluOptions".split()  # noqa: SIM905
_CONSTANTS = 0  # the region of the constants, in Vela's streams
# Slopes of the stand-ins, in codes; each gives a different table.
_SLOPES = [(64 + step) / CODES * 2 for step in range(1, 64)]


@dataclass(frozen=True)
class Island:
    """Float operators that are a function of one integer tensor, by their numbers.

    The last one is the QUANTIZE; the first one reads `tensor`.
    """

    operators: tuple[int, ...]
    tensor: int
    output: int


@dataclass(frozen=True)
class Table:
    """A table that Vela writes for the stand-in, and the wanted table that replaces it.

    written: b"" if ABS or MUL replaces int16 operators.
    """

    name: str
    kinds: tuple[str, ...]
    written: bytes
    wanted: bytes

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON; "values" counts the codes, for all of which it is exact."""
        values = CODES if self.written else CODES**2
        return {"output": self.name, "operators": list(self.kinds), "values": values}


@dataclass(frozen=True)
class Replaced:
    """A model for Vela, its tables, and the number of each operator in the source."""

    file: ModelFile
    tables: tuple[Table, ...]
    numbers: tuple[int, ...]


def find(graph: Graph) -> list[Island]:
    """Find the islands of a graph."""
    writers = {tensor: i for i, each in enumerate(graph.operators) for tensor in each.outputs}
    found = []
    for number, operator in enumerate(graph.operators):
        if operator.name != "QUANTIZE" or len(operator.outputs) != 1:
            continue
        inside: set[int] = {number}
        ends: set[int] = set()
        if all(_trace(graph, writers, tensor, inside, ends) for tensor in operator.inputs):
            source, target = min(ends, default=-1), operator.outputs[0]
            if len(ends) == 1 and len(inside) > 2 and _is_table(graph, source, target):
                found.append(Island(tuple(sorted(inside)), source, target))
    return found


def _trace(
    graph: Graph, writers: dict[int, int], tensor: int, inside: set[int], ends: set[int]
) -> bool:
    """Collect the operators that a float tensor depends on; False if one is not element-wise."""
    one = graph.tensors[tensor]
    if one.constant:
        return one.dtype == "float32" and one.size == np.dtype(one.dtype).itemsize
    number = writers.get(tensor, -1)
    if number in inside:
        return True
    if number < 0 or len(inside) > _LONGEST:
        return False
    operator = graph.operators[number]
    inside.add(number)
    if operator.name == "DEQUANTIZE":
        ends.add(operator.inputs[0])
        return True
    return operator.name in _ELEMENT_WISE.split() and all(
        _trace(graph, writers, each, inside, ends) for each in operator.inputs if each >= 0
    )


def _is_table(graph: Graph, source: int, target: int) -> bool:
    """Whether two tensors have the same shape and type, of 8 or 16 bits, and a single scale."""
    one, other = graph.tensors[source], graph.tensors[target]
    return (
        one.dtype == other.dtype
        and one.dtype in _TYPES
        and one.shape == other.shape
        and len(one.shape) > 0
        and bool(one.scale and other.scale)
        and not one.constant
    )


def unchanged(source: ModelFile) -> Replaced:
    """Return the model without stand-ins."""
    return Replaced(source, (), tuple(range(len(source.graph.operators))))


def replace(source: ModelFile, left: Sequence[str] = ()) -> Replaced:
    """Put stand-ins in place of the islands, except those with an output in `left`."""
    same = unchanged(source)
    islands = [each for each in find(source.graph) if _name(source.graph, each) not in left]
    if not islands:
        return same
    try:
        with reading(source):
            return _replace(source, islands)
    except SetupError:  # without LiteRT, the operators stay on the CPU
        return same


def _name(graph: Graph, island: Island) -> str:
    return graph.tensors[island.output].name


def _replace(source: ModelFile, islands: list[Island]) -> Replaced:
    from ..model.tflite.cut import Whole
    from ..model.tflite.edit import Document

    whole, document = Whole(source), Document(source.data)
    graph, numbers = source.graph, list(range(len(source.graph.operators)))
    kernels = kernels_for(source)  # kernels chosen for a part may round differently
    taken = {float(getattr(each.builtinOptions, "alpha", 0)) for each in document.graph.operators}
    tables: list[Table] = []
    for island in reversed(islands):  # numbers of operators before the last one stay as they are
        ends = graph.tensors[island.tensor], graph.tensors[island.output]
        wanted = _codes(whole.cut(island.operators).data, ends[0].dtype, kernels)
        last = island.operators[-1]
        site = document.at(last)
        written = b""
        if ends[0].dtype == "int16":
            done = _put_operator(site, island, wanted)
        else:
            slope, written = _choose(ends, wanted, tables, taken)
            done = bool(wanted and written)
            if done:
                _put_stand_in(site, island, slope)
        if not done:
            continue
        document.replace(last, site)
        numbers[last : last + 1] = [last] * len(site.operators)
        names = [graph.operators[number].name for number in island.operators[:-1]]
        kinds = tuple(name for name in names if name != "DEQUANTIZE")
        tables.append(Table(_name(graph, island), kinds, written, wanted))
    floats = {number for island in islands for number in island.operators[:-1]}
    kept = _used(document.graph, [number in floats for number in numbers])
    document.graph.operators = [document.graph.operators[number] for number in kept]
    changed = source.with_data(document.data())
    return Replaced(changed, tuple(tables[::-1]), tuple(numbers[each] for each in kept))


def _put_stand_in(site: Any, island: Island, slope: float) -> None:
    shape = site.shape(island.tensor)
    first, second = (_middled(site, tensor) for tensor in (island.tensor, island.output))
    site.reshape(island.tensor, shape, first)
    _add(site, _STAND_IN, slope, first, second)
    site.reshape(second, shape, island.output)


def _put_operator(site: Any, island: Island, wanted: bytes) -> bool:
    """Replace an island by ABS, or MUL by a constant, if that is exact for all int16 codes."""
    codes = np.frombuffer(wanted, np.int16).astype(np.float64)
    if not codes.size:
        return False
    zero, scales = CODES**2 // 2, [site.scale(end) for end in (island.tensor, island.output)]
    slope = (codes[zero + _FAR] - codes[zero - _FAR]) / (2 * _FAR)
    operators = [("MUL", slope * scales[1] / scales[0])] if slope else []
    for kind, factor in (("ABS", 0.0), *operators):
        alone = _alone(kind, factor, [("int16", scale, 0) for scale in scales])
        if _codes(alone, "int16") == wanted:
            _add(site, kind, factor, island.tensor, island.output)
            return True
    return False


def _add(graph: Any, kind: str, factor: float, source: int, target: int) -> None:
    """Add ABS, MUL by this factor, or a stand-in with this slope."""
    if kind == "ABS":
        graph.operator(kind, [source], [target], "AbsOptions")
    elif kind == "MUL":
        value = np.array([np.sign(factor)], np.int16)
        constant = graph.constant("factor", value, abs(factor))
        graph.operator(kind, [source, constant], [target], "MulOptions")
    else:
        graph.operator(kind, [source], [target], _OPTIONS, alpha=factor)


def _alone(kind: str, factor: float, ends: Sequence[tuple[str, float, int]]) -> bytes:
    """Write a model of one operator of `_add`, given type, scale and zero point of both ends."""
    from ..model.tflite.writer import Graph as Writer
    from ..model.tflite.writer import write

    graph = Writer("operator")
    first, second = (graph.tensor("", (1, 1), *end) for end in ends)
    graph.inputs, graph.outputs = [first], [second]
    _add(graph, kind, factor, first, second)
    return write([graph], "one operator")


def _middled(site: Any, tensor: int) -> int:
    """Add a tensor like another one, but with the zero point in the middle."""
    new = site.new_like(tensor, site.shape(tensor))
    site.find(new).quantization.zeroPoint = [_middle(site.dtype(tensor))]
    return int(new)


def _middle(dtype: str) -> int:
    return 0 if dtype == "int8" else CODES // 2


def _used(graph: Any, removable: Sequence[bool]) -> list[int]:
    """Return the operators, except removable ones whose outputs nothing reads."""
    kept: list[int] = []
    read = {int(tensor) for tensor in graph.outputs}
    for number in reversed(range(len(graph.operators))):
        operator = graph.operators[number]
        if removable[number] and read.isdisjoint(map(int, operator.outputs)):
            continue
        kept.append(number)
        if operator.inputs is not None:
            read |= set(map(int, operator.inputs))
    return kept[::-1]


def _choose(
    ends: tuple[Tensor, Tensor], wanted: bytes, tables: Sequence[Table], taken: Collection[float]
) -> tuple[float, bytes]:
    """Choose a stand-in's slope and compute the table that Vela writes for it; b"" if none is free.

    `taken`: slopes of the model's own operators.
    """
    known = {table.written: table.wanted for table in tables}
    for step in _SLOPES:
        slope = float(np.float32(step * ends[1].scale / ends[0].scale))
        if slope in taken:
            continue
        places = [(end.dtype, end.scale, _middle(end.dtype)) for end in ends]
        written = _codes(_alone(_STAND_IN, slope, places), ends[0].dtype)
        if not written or known.get(written, wanted) == wanted:
            return slope, written
    return 0.0, b""


def _codes(data: bytes, dtype: str, kernels: str = REFERENCE) -> bytes:
    """Run a model with one input and output on each code; b"" if LiteRT has no kernel."""
    from ..model.tflite.edit import Document

    limits = np.iinfo(dtype)
    codes = np.arange(limits.min, limits.max + 1).astype(dtype)
    document = Document(data)
    graph = document.graph
    graph.outputs = graph.operators[-1].outputs  # not the floats that other operators read
    for tensor in graph.tensors:
        content = document.model.buffers[tensor.buffer].data
        if content is None or len(content) == 0:
            rank = 1 if tensor.shape is None else len(tensor.shape)
            tensor.shape = [*[1] * (rank - 1), codes.size]
            tensor.shapeSignature = None
    file = ModelFile(document.data())
    try:
        oracle = Oracle(file, kernels=kernels)
        (found,) = oracle.step([codes.reshape(oracle.inputs[0].shape)])
    except InputError:
        return b""
    return found.tobytes()


def fill(result: bytes, tables: Sequence[Table]) -> tuple[bytes, list[str]]:
    """Insert the tables into Vela's output; also returns the names of missing ones."""
    if not tables:
        return result, []
    file = ModelFile(result)
    on_cpu = {
        file.graph.tensors[output].name
        for operator in file.graph.operators
        if not operator.on_npu
        for output in operator.outputs
    }
    places = {
        result.index(bytes(call.constants)) + offset
        for call in file.calls()
        for offset in _copies(call.stream)
    }
    filled = bytearray(result)
    for table in tables:
        for at in places:
            if result[at : at + CODES] == table.written:
                filled[at : at + CODES] = table.wanted
    # Equal constants of several calls were found only once above, so check each call.
    left = {
        bytes(call.constants[at : at + CODES])
        for call in ModelFile(bytes(filled)).calls()
        for at in _copies(call.stream)
    }
    missing = [
        table.name
        for table in tables
        if table.written
        and (table.written in left or table.wanted not in left or table.name in on_cpu)
    ]
    return bytes(filled), missing


def _copies(stream: bytes | memoryview) -> Iterator[int]:
    """Return the offsets of copied constants that have the size of a table."""
    values = {debug_table.DMA_SRC_REGION: 0, debug_table.DMA_SRC: 0, debug_table.DMA_LEN: 0}
    for _, code, parameter, second in debug_table.commands(stream):
        if code in values:
            values[code] = parameter if second is None else second
        elif code == debug_table.DMA_START:
            region, offset, size = values.values()
            if region == _CONSTANTS and size == CODES:
                yield offset
