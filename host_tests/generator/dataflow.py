# SPDX-License-Identifier: MIT
"""What a command stream reads and writes, byte by byte, decoded here and not by the model.

A right stream writes all of the outputs, reads nothing that nobody wrote, and, where the graph
drops nothing, lets no result go unread.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Flag, auto

import numpy as np
from ethosu_tools import payload
from ethosu_tools.npu.program import Graph, Operator, Tensor, parse

from . import coverage
from .registers import CHAINED, INTERNAL, State, parameter, strides, word

_SPACE = 1 << 22  # bytes of a region that are looked at; generated graphs need far less
_WRITTEN, _UNREAD, _GIVEN = 1, 2, 4
_CONSTANTS = 0
UNARY = (5, 6, 7, 36)  # LRELU, ABS, CLZ, NOT
_SCALAR = 1 << 7

_U85 = 2
_POOL_NONE, _FROM_IFM2 = 4, 2
_SRC_STRIDE = "DMA0_SKIP"  # so U65 calls what is DMA0_SRC_STRIDE
_SCALAR_U85, _INDEXED = 1 << 3, 1 << 11
# The axes of a transposed output, in memory.
_TRANSPOSES = {0: "HWC", 1: "WHC", 2: "HCW", 3: "WCH", 6: "CHW", 7: "CWH"}


class Hole(Flag):
    """What is wrong with the flow of data."""

    NONE = 0
    OUTPUT_UNWRITTEN = auto()
    READ_UNWRITTEN = auto()
    OUTSIDE = auto()  # a region has less memory
    INPUT_DAMAGED = auto()  # one map is read of an input of the graph and of a result
    RESULT_UNREAD = auto()
    RESULT_DAMAGED = auto()  # another lies upon a part of it that nobody read; the rest is read


def holes(model: bytes) -> Hole:
    """What is wrong with a compiled model of one NPU operator."""
    graph = parse(model)[0]
    operator = next(node for node in graph.operators if node.name == "ethos-u")
    content = payload.read(graph.tensors[operator.inputs[0]].content)
    kind = _MemoryU85 if (content.config or 0) >> 28 == _U85 else _Memory
    memory = kind(graph, operator, content.separate_io)
    for name, mode, state in _operations(content.stream):
        memory.run(name, mode, state)
    return memory.verdict()


def _operations(stream: bytes) -> Iterator[tuple[str, int, State]]:
    state: dict[str, tuple[int, int]] = {}
    for name, mode, value in coverage.commands(stream):
        if name in ("CONV", "DEPTHWISE", "POOL", "ELEMENTWISE", "RESIZE", "DMA_START"):
            yield name, mode, state
        else:
            state[name] = (mode, value)


class _Memory:
    """Regions, and of each byte whether it was written, and read since."""

    def __init__(self, graph: Graph, operator: Operator, separate_io: bool) -> None:
        one = np.zeros(_SPACE, np.uint8)
        fast = one if operator.inputs[3] == operator.inputs[2] else np.zeros(_SPACE, np.uint8)
        ends = [np.zeros(_SPACE, np.uint8) for _ in range(2)] if separate_io else [one, one]
        self._regions = {1: one, 2: fast, 3: ends[0], 4: ends[1]}
        self._sizes = {i: graph.tensors[operator.inputs[i + 1]].size for i in (1, 2)}
        self._outputs = [(ends[1], graph.tensors[i]) for i in graph.outputs]
        self._hole = Hole.NONE
        # Whose result each byte is; what wrote each result; and the damaged ones. 0 is nobody.
        self._owners = {id(region): np.zeros(_SPACE, np.int32) for region in (one, fast, *ends)}
        self._writers = [("", 0, 0, 0)]
        self._damaged: set[int] = set()
        for index in graph.inputs:
            _bytes(ends[0], graph.tensors[index])[:] = _WRITTEN | _UNREAD | _GIVEN
        for tensor in graph.tensors:
            if tensor.variable:
                _bytes(one, tensor)[:] = _WRITTEN

    def run(self, name: str, mode: int, state: State) -> None:
        """Read the inputs of an operation, and write its output."""
        if name == "DMA_START":
            self._copy(state)
            return
        self._read(state, "IFM", input_size(name, state))
        broadcast = parameter(state, "IFM2_BROADCAST")
        if name == "ELEMENTWISE" and mode not in UNARY and not broadcast & _SCALAR:
            size: tuple[int, ...] = output_size(state)
            size = tuple(1 if broadcast >> axis & 1 else n for axis, n in enumerate(size))
            self._read(state, "IFM2", size)
        self._write(name, state, output_size(state))

    def verdict(self) -> Hole:
        """All that was found, when the stream has ended."""
        for region, tensor in self._outputs:
            if tensor.offset < 0 or not (_bytes(region, tensor) & _WRITTEN).all():
                self._hole |= Hole.OUTPUT_UNWRITTEN
            self._look_for_damage(_bytes(self._owners[id(region)], tensor))
            _bytes(region, tensor)[:] = _WRITTEN
        if any((region & _UNREAD).any() for region in self._regions.values()):
            self._hole |= Hole.RESULT_UNREAD
        return self._hole

    def _read(self, state: State, kind: str, size: tuple[int, ...]) -> None:
        if parameter(state, f"{kind}_REGION") == _CONSTANTS:
            return
        region, places = self._open(state, kind, size)
        seen = region[places]
        if not (seen & _WRITTEN).all():
            self._hole |= Hole.READ_UNWRITTEN
        if (seen & _GIVEN).any() and not (seen & _GIVEN).all():
            self._hole |= Hole.INPUT_DAMAGED
        region[places] &= ~np.uint8(_UNREAD)
        self._look_for_damage(self._owners[id(region)][places])

    def _look_for_damage(self, owners: np.ndarray) -> None:
        if self._damaged and np.isin(owners, list(self._damaged)).any():
            self._hole |= Hole.RESULT_DAMAGED

    def _write(self, name: str, state: State, size: tuple[int, ...]) -> None:
        region, where = self._open(state, "OFM", size)
        owners = self._owners[id(region)]
        writer = (name, *strides(state, "OFM"))
        for owner in np.unique(owners[where[region[where] & (_UNREAD | _GIVEN) == _UNREAD]]):
            other = self._writers[owner]
            if other == writer or other[0] == name == "CONV":
                continue  # more of the same; what fills a transposed convolution with zeros
            self._hole |= Hole.RESULT_UNREAD
            if owner:
                self._damaged.add(int(owner))
        self._writers.append(writer)
        owners[where] = len(self._writers) - 1
        region[where] = _WRITTEN | _UNREAD

    def _open(
        self, state: State, kind: str, size: tuple[int, ...]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The region of a feature map, and the places of its bytes there."""
        number = parameter(state, f"{kind}_REGION")
        where = places(state, kind, size)
        if where.size and (where.min() < 0 or where.max() >= self._sizes.get(number, _SPACE)):
            self._hole |= Hole.OUTSIDE
        return self._regions[number], where.clip(0, _SPACE - 1)

    def _copy(self, state: State) -> None:
        length = word(state, "DMA0_LEN")
        source, target = parameter(state, "DMA0_SRC_REGION"), parameter(state, "DMA0_DST_REGION")
        if source != _CONSTANTS:
            start = word(state, "DMA0_SRC")
            self._regions[source][start : start + length] &= ~np.uint8(_UNREAD)
        if not target & INTERNAL:
            start = word(state, "DMA0_DST")
            self._regions[target][start : start + length] = _WRITTEN
            self._owners[id(self._regions[target])][start : start + length] = 0


class _MemoryU85(_Memory):
    """The same for an Ethos-U85; what stays in a chain is not looked at."""

    def __init__(self, graph: Graph, operator: Operator, separate_io: bool) -> None:
        """Variables are inputs of the operator alone: they have their values."""
        super().__init__(graph, operator, separate_io)
        for index in set(operator.inputs[4:]) - set(graph.inputs):
            _bytes(self._regions[1], graph.tensors[index])[:] = _WRITTEN

    def run(self, name: str, mode: int, state: State) -> None:
        """Read the inputs of an operation, and write its output."""
        if name == "DMA_START":
            self._copy(state)
            return
        output = output_size(state)
        if name == "ELEMENTWISE":
            self._read_operand(state, "IFM", output)
            if mode not in UNARY:
                self._read_operand(state, "IFM2", output)
        elif name == "RESIZE":
            rows, columns = (parameter(state, f"KERNEL_{d}_M1") + 1 for d in ("HEIGHT", "WIDTH"))
            self._read_stored(state, "IFM", (rows, columns, output[2]))
        elif (name, mode) != ("POOL", _POOL_NONE):
            self._read_stored(state, "IFM", input_size(name, state))
        if name == "CONV" and mode:
            self._read_stored(state, "IFM2", (1, output[2], parameter(state, "IFM_DEPTH_M1") + 1))
        elif name != "ELEMENTWISE" and parameter(state, "ACC_FORMAT") >> 4 & 3 == _FROM_IFM2:
            self._read_stored(state, "IFM2", output)
        precision = parameter(state, "OFM_PRECISION")
        if precision >> 14 < CHAINED:
            order = _TRANSPOSES[precision >> 11 & 7]
            self._write(name, state, tuple(output["HWC".index(axis)] for axis in order))

    def _read_operand(self, state: State, kind: str, output: tuple[int, ...]) -> None:
        broadcast = parameter(state, f"{kind}_BROADCAST")
        if not broadcast & _SCALAR_U85:
            size = tuple(1 if broadcast >> axis & 1 else n for axis, n in enumerate(output))
            self._read_stored(state, kind, size)

    def _read_stored(self, state: State, kind: str, size: tuple[int, ...]) -> None:
        if parameter(state, f"{kind}_PRECISION") >> 14 < CHAINED:
            self._read(state, kind, size)

    def _copy(self, state: State) -> None:
        source, target = parameter(state, "DMA0_SRC_REGION"), parameter(state, "DMA0_DST_REGION")
        dimensions = source >> 9 & 3
        rows = parameter(state, "DMA0_SIZE0") if dimensions else 1
        planes = parameter(state, "DMA0_SIZE1") if dimensions > 1 else 1
        if (source | target) & _INDEXED:
            self._touch(parameter(state, "DMA0_IDX_REGION"), word(state, "DMA0_IDX"), 4 * rows)
        for end, region in (("SRC", source), ("DST", target)):
            if region & INTERNAL:
                continue
            for start, length in _ranges(state, end, region, rows, planes):
                if end == "SRC":
                    self._touch(region & 7, start, length)
                else:
                    self._regions[region & 7][start : start + length] = _WRITTEN
                    self._owners[id(self._regions[region & 7])][start : start + length] = 0

    def _touch(self, region: int, start: int, length: int) -> None:
        if region != _CONSTANTS:
            self._regions[region][start : start + length] &= ~np.uint8(_UNREAD)


def _ranges(
    state: State, end: str, region: int, rows: int, planes: int
) -> Iterator[tuple[int, int]]:
    """Starts and lengths of what one end of a copy touches; all of it, if rows have indices."""
    start, length = word(state, f"DMA0_{end}"), word(state, "DMA0_LEN")
    stride = _SRC_STRIDE if end == "SRC" else "DMA0_DST_STRIDE"
    row_step, plane_step = (word(state, f"{stride}{n}") for n in (0, 1))
    if region & _INDEXED:
        yield start, (word(state, "DMA0_IDX_MAX") + 1) * row_step
        return
    for plane in range(planes):
        for row in range(rows):
            yield start + plane * plane_step + row * row_step, length


def _bytes(region: np.ndarray, tensor: Tensor) -> np.ndarray:
    return region[tensor.offset : tensor.offset + tensor.size]


def output_size(state: State) -> tuple[int, int, int]:
    """Height, width and depth of an operation's OFM."""
    height, width, depth = (
        parameter(state, f"OFM_{d}_M1") + 1 for d in ("HEIGHT", "WIDTH", "DEPTH")
    )
    return height, width, depth


def input_size(name: str, state: State) -> tuple[int, int, int]:
    """Height, width and depth of an operation's IFM, as its output and window imply them."""
    height, width, _ = output_size(state)
    depth = parameter(state, "IFM_DEPTH_M1") + 1
    if name == "ELEMENTWISE":
        return height, width, depth
    stride = parameter(state, "KERNEL_STRIDE")
    down, across = 1 + (stride >> 1 & 1) + (stride >> 8 & 2), 1 + (stride & 1) + (stride >> 5 & 2)
    pads = {
        side: parameter(state, f"IFM_PAD_{side}") for side in ("TOP", "LEFT", "RIGHT", "BOTTOM")
    }
    height = (height - 1) * down + parameter(state, "KERNEL_HEIGHT_M1") + 1
    width = (width - 1) * across + parameter(state, "KERNEL_WIDTH_M1") + 1
    height -= pads["TOP"] + pads["BOTTOM"]
    width -= pads["LEFT"] + pads["RIGHT"]
    if parameter(state, "IFM_UPSCALE"):
        height, width = -(-height // 2), -(-width // 2)
    return height, width, depth


def places(state: State, kind: str, size: tuple[int, ...]) -> np.ndarray:
    """Offsets of all bytes of a feature map."""
    precision = parameter(state, f"{kind}_PRECISION")
    item = 1 << (precision >> (1 if kind == "OFM" else 2) & 3)
    row, column, channel = np.ogrid[: size[0], : size[1], : size[2]]
    width = parameter(state, f"{kind}_WIDTH0_M1") + 1
    right = column >= width
    height = np.where(right, *(parameter(state, f"{kind}_HEIGHT{n}_M1") + 1 for n in (1, 0)))
    lower = row >= height
    bases = np.array([word(state, f"{kind}_BASE{n}") for n in range(4)])
    y, x, c = map(signed, strides(state, kind))
    offset = bases[2 * lower + right] + (row - lower * height) * y + (column - right * width) * x
    if precision >> 6 & 3:
        offset = offset + channel // 16 * c + channel % 16 * item
    else:
        offset = offset + channel * item
    every: np.ndarray = offset[..., None] + np.arange(item)
    return every


def signed(word: int) -> int:
    """A 32-bit number of two's complement."""
    return word - (1 << 32) if word >> 31 else word
