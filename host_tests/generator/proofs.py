# SPDX-License-Identifier: MIT
"""What a command stream must show before a difference counts as a known defect of Vela.

Each proof looks for something that no right stream for such a graph has. A case that differs
without it is a failure like any other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from ethosu_tools import payload
from ethosu_tools.npu.program import Graph, Operator, Tensor, parse

from . import coverage, dataflow
from .dataflow import Hole, State

Proof = Callable[[bytes], bool]


_PRODUCT, _DIFFERENCE = ("ELEMENTWISE", 0), ("ELEMENTWISE", 2)
_EXTREMES, _SUM = (("POOL", 0), ("POOL", 5)), ("POOL", 2)
_SHIFT = 0x3F
_NEAREST = ("RESIZE", 2)
_STEPS = 16  # of whole elements that RESIZE can go
_Y_OFFSET = "AB_START"  # so U55 calls what is RESIZE_Y_OFFSET
_AND, _CHAINED = ("ELEMENTWISE", 33), 2
_SCALAR = 1 << 7
_ONE = (1).to_bytes(4, "little")
_INTERNAL = 1 << 8
_NO_ROWS = 0xFFFF  # 0, less one
_BYTE_TABLE = 256
_PLACE = 16  # tensors begin at multiples of it


@dataclass(frozen=True)
class Defect:
    """A known defect of Vela, and how it shows in a compiled model."""

    text: str
    proof: Proof


def operations(model: bytes) -> Iterator[tuple[str, int, State]]:
    """Opcode, mode and registers of every operation on feature maps."""
    for stream in coverage.streams(model):
        state: dict[str, tuple[int, int]] = {}
        for name, param, word in coverage.commands(stream):
            if name in ("CONV", "DEPTHWISE", "POOL", "ELEMENTWISE", "RESIZE"):
                yield name, param, dict(state)
            else:
                state[name] = (param, word)


def lopsided_padding(model: bytes) -> bool:
    """Padding on one side exceeds that on the other by more than one, or leaves no input at all."""
    # Stripes of one operation have the padding of their own edges only: take them together.
    for before, behind in (("TOP", "BOTTOM"), ("LEFT", "RIGHT")):
        sides: dict[tuple[object, ...], list[int]] = {}
        for name, _, state in operations(model):
            if name == "ELEMENTWISE":
                continue
            if _param(state, "IFM_HEIGHT0_M1") == _NO_ROWS:
                return True
            window = tuple(state.get(f"KERNEL_{what}") for what in ("HEIGHT_M1", "WIDTH_M1"))
            pair = sides.setdefault((name, *window), [0, 0])
            for at, side in enumerate((before, behind)):
                pair[at] = max(pair[at], _param(state, f"IFM_PAD_{side}"))
        if any(abs(first - last) > 1 for first, last in sides.values()):
            return True
    return False


def overlapping_output(model: bytes) -> bool:
    """An output in NHWC whose elements lie upon each other: its shape is not that of its memory."""
    for _, _, state in operations(model):
        precision = _param(state, "OFM_PRECISION")
        if precision >> 6 & 3:
            continue
        pixel = (_param(state, "OFM_DEPTH_M1") + 1) << (precision >> 1 & 3)
        row = (_param(state, "OFM_WIDTH_M1") + 1) * _payload(state, "OFM_STRIDE_X")
        next_tile = _payload(state, "OFM_BASE1") - _payload(state, "OFM_BASE0")
        if (
            pixel > _payload(state, "OFM_STRIDE_X")
            or (_param(state, "OFM_HEIGHT_M1") > 0 and row > _payload(state, "OFM_STRIDE_Y"))
            or (_param(state, "OFM_WIDTH_M1") > _param(state, "OFM_WIDTH0_M1") and not next_tile)
        ):
            return True
    return False


def shifted_product(model: bytes) -> bool:
    """A 32-bit product is shifted, where TFLite's int32 MUL has no scale."""
    return any(
        (name, mode) == _PRODUCT
        and _param(state, "IFM_PRECISION") >> 2 & 3 == 2
        and _param(state, "OFM_SCALE") & _SHIFT != 0
        for name, mode, state in operations(model)
    )


def shared_scales(model: bytes) -> bool:
    """Convolutions of different inputs have the same biases and scales."""
    seen: dict[tuple[int, int], tuple[int, int]] = {}
    for name, _, state in operations(model):
        scales = _param(state, "SCALE_REGION"), _payload(state, "SCALE_BASE")
        if name == "CONV" and seen.setdefault(scales, _at(state, "IFM")) != _at(state, "IFM"):
            return True
    return False


def pixel_centres(model: bytes) -> bool:
    """A RESIZE to the nearest begins beside its first element, where TFLite begins upon it."""
    return any(
        (name, mode) == _NEAREST and (_param(state, "RESIZE_X_OFFSET") or _param(state, _Y_OFFSET))
        for name, mode, state in operations(model)
    )


def lost_step(model: bytes) -> bool:
    """A RESIZE ends more rows or columns before the end of its input than a step can have."""
    for name, _, state in operations(model):
        for size, axis in (("HEIGHT", "Y"), ("WIDTH", "X")) if name == "RESIZE" else ():
            parts = _param(state, f"RESIZE_{axis}_SCALE_N_M1") + 1
            step = _param(state, f"RESIZE_{axis}_STEP") % _STEPS * parts
            step += _payload(state, f"RESIZE_{axis}_STEP")
            reached = _param(state, f"OFM_{size}_M1") * step // parts
            if _param(state, f"KERNEL_{size}_M1") - reached >= _STEPS:
                return True
    return False


def moved_state(model: bytes) -> bool:
    """A tensor that two graphs share by its name has another place in the arena in each."""
    main, *others = parse(model)
    places = {tensor.name: tensor.offset for tensor in main.tensors}
    return any(
        places.get(tensor.name, tensor.offset) != tensor.offset
        for graph in others
        for tensor in graph.tensors
        if ":" in tensor.name
    )


def signed_clamp(model: bytes) -> bool:
    """An int8 output is clamped to less than its type has, in a graph without any int8 tensor."""
    return any(
        _param(state, "OFM_PRECISION") & 7 == 1
        and (_param(state, "ACTIVATION_MIN"), _param(state, "ACTIVATION_MAX")) != (0xFF80, 0x7F)
        for _, _, state in operations(model)
    )


def table_beyond_memory(model: bytes) -> bool:
    """A table is loaded to the end of SHRAM or past it."""
    for graph, operator in _npu_operators(model):
        content = payload.read(graph.tensors[operator.inputs[0]].content)
        shram = ((content.config or 0) >> 8 & 0xFF) * 1024
        if any(target >= shram for _, target, _ in _tables(content.stream)):
            return True
    return False


def falling_table(model: bytes) -> bool:
    """A table of an exponential has a smaller entry behind a larger one."""
    for graph, operator in _npu_operators(model):
        stream = payload.read(graph.tensors[operator.inputs[0]].content).stream
        constants = graph.tensors[operator.inputs[1]].content
        for source, _, length in _tables(stream):
            table = np.frombuffer(constants, np.int8)[source : source + length]
            if length == _BYTE_TABLE and (np.diff(table.astype(int)) < 0).any():
                return True
    return False


def unit_multiplier(model: bytes) -> bool:
    """A 32-bit product has the constant 1 for a multiplier, which is 2^30 at least."""
    for graph, operator in _npu_operators(model):
        constants = np.frombuffer(graph.tensors[operator.inputs[1]].content, np.uint8)
        for name, mode, state in operations(model):
            if (name, mode) != _PRODUCT or _param(state, "IFM_PRECISION") >> 2 & 3 != 2:
                continue
            start = _payload(state, "IFM2_BASE0")
            if _param(state, "IFM2_REGION") == 0 and constants[start : start + 4].tobytes() == _ONE:
                return True
    return False


def shared_output(model: bytes) -> bool:
    """A 64-bit output lies upon other data: it was planned with half its size."""
    for graph, operator in _npu_operators(model):
        ends = {i: graph.tensors[i] for i in (*operator.inputs[4:], *operator.outputs)}
        for index, wide in ends.items():
            if wide.dtype != "int64":
                continue
            others = [tensor for other, tensor in ends.items() if other != index]
            if any(_overlap(wide, tensor) for tensor in others) or _used_later(model, wide):
                return True
    return False


def _used_later(model: bytes, output: Tensor) -> bool:
    """Whether operations reach into an output after those that write its 32-bit words."""
    within = []
    for name, _, state in operations(model):
        reached = dataflow.places(state, "OFM", dataflow.output_size(state))
        read = dataflow.places(state, "IFM", dataflow.input_size(name, state))
        ends = [
            places
            for places, kind in ((reached, "OFM"), (read, "IFM"))
            if _param(state, f"{kind}_REGION")
        ]
        inside = any(((p >= output.offset) & (p < output.offset + output.size)).any() for p in ends)
        mine = _payload(state, "OFM_BASE0") == output.offset and (
            _param(state, "OFM_PRECISION") >> 1 & 3 == 2
        )
        within.append((mine, inside))
    last = max((at for at, (mine, _) in enumerate(within) if mine), default=len(within))
    return any(inside for _, inside in within[last + 1 :])


def _overlap(a: Tensor, b: Tensor) -> bool:
    return a.offset < b.offset + b.size and b.offset < a.offset + a.size


def _npu_operators(model: bytes) -> Iterator[tuple[Graph, Operator]]:
    graph = parse(model)[0]
    yield from ((graph, node) for node in graph.operators if node.name == "ethos-u")


def _tables(stream: bytes) -> Iterator[tuple[int, int, int]]:
    """Where each table comes from, where it goes, and its length."""
    state: dict[str, tuple[int, int]] = {}
    for name, param, word in coverage.commands(stream):
        state[name] = (param, word)
        if name == "DMA_START" and _param(state, "DMA0_DST_REGION") & _INTERNAL:
            source, target = _payload(state, "DMA0_SRC"), _payload(state, "DMA0_DST")
            yield source, target, _payload(state, "DMA0_LEN")


def unwritten(model: bytes) -> bool:
    """The stream reads what nothing wrote or what another result lies upon, or the like."""
    return bool(dataflow.holes(model) & ~Hole.RESULT_UNREAD)


def unread(model: bytes) -> bool:
    """Some results are written for nobody, in a graph that drops nothing."""
    return bool(dataflow.holes(model) & Hole.RESULT_UNREAD)


# Any graph may meet these.
TABLE_BEYOND_MEMORY = Defect("a table is loaded beyond the end of SHRAM", table_beyond_memory)
UNWRITTEN = Defect(
    "data flow: something is read or put out that was never written there", unwritten
)
SIGNED_CLAMP = Defect("TRANSPOSE of uint8: Vela copies int8, in the range of uint8", signed_clamp)


@dataclass(frozen=True)
class OtherSize:
    """A graph of one sum: its last operation makes more than the output, or there is padding."""

    elements: int

    def __call__(self, model: bytes) -> bool:
        """Whether the stream shows it."""
        found = list(operations(model))
        _, _, last = found[-1]
        sizes = [_param(last, f"OFM_{axis}_M1") + 1 for axis in ("HEIGHT", "WIDTH", "DEPTH")]
        deep = any(
            (name, mode) == _SUM and _param(state, "OFM_DEPTH_M1") for name, mode, state in found
        )
        return _is_padded(last) or deep or math.prod(sizes) != self.elements


@dataclass(frozen=True)
class UnwrittenChannels:
    """No operation that fills a padded tensor, row by row, writes all of its channels."""

    row: int  # bytes from one row to the next, and from one pixel to the next
    pixel: int

    def __call__(self, model: bytes) -> bool:
        """Whether the stream shows it."""
        written = np.zeros(self.pixel, bool)
        found = False
        for _, _, state in operations(model):
            strides = _payload(state, "OFM_STRIDE_Y"), _payload(state, "OFM_STRIDE_X")
            if strides != (self.row, self.pixel):
                continue
            found = True
            if self._copies_rows(state):
                continue
            size = (_param(state, "OFM_DEPTH_M1") + 1) << (_param(state, "OFM_PRECISION") >> 1 & 3)
            written[(_payload(state, "OFM_BASE0") + np.arange(size)) % self.pixel] = True
        return found and not written.all()

    def _copies_rows(self, state: State) -> bool:
        """Pixels of the tensor become others of it, channel by channel."""
        strides = _payload(state, "IFM_STRIDE_Y"), _payload(state, "IFM_STRIDE_X")
        apart = _payload(state, "IFM_BASE0") - _payload(state, "OFM_BASE0")
        return strides == (self.row, self.pixel) and apart % self.pixel == 0


@dataclass(frozen=True)
class LostStart:
    """A slice is reduced from the start of what it was cut from."""

    start: int  # where the slice begins, bytes in NHWC

    def __call__(self, model: bytes) -> bool:
        """Whether the stream shows it."""
        places = {
            _payload(state, "IFM_BASE0")
            for state in _extremes_of(model)
            if not _param(state, "IFM_PRECISION") >> 6 & 3
        }
        for graph, operator in _npu_operators(model):
            starts = {graph.tensors[i].offset for i in operator.inputs[4:]}
            if places & starts and not places & {start + self.start for start in starts}:
                return True
        return bool(places) and self.start % _PLACE not in {place % _PLACE for place in places}


def beyond_tile(model: bytes) -> bool:
    """An input is larger than its first tile, and the next is the same, or of other rows."""
    for name, _, state in operations(model):
        if name == "ELEMENTWISE":
            continue
        size = dataflow.input_size(name, state)
        for at, tile, other, axis in ((0, "HEIGHT0", 2, "Y"), (1, "WIDTH0", 1, "X")):
            step = _payload(state, f"IFM_STRIDE_{axis}")
            apart = _payload(state, "IFM_BASE0") - _payload(state, f"IFM_BASE{other}")
            beyond = size[at] > _param(state, f"IFM_{tile}_M1") + 1
            if beyond and (apart == 0 or (step and apart % step)):
                return True
    return False


@dataclass(frozen=True)
class TruthAsMask:
    """An operation takes for a mask what was made a truth, 0 or 1, for an output of the graph."""

    reader: tuple[str, int]

    def __call__(self, model: bytes) -> bool:
        """Whether the stream shows it."""
        for graph, operator in _npu_operators(model):
            constants = graph.tensors[operator.inputs[1]].content
            truths: set[tuple[int, int]] = set()
            for name, mode, state in operations(model):
                if (name, mode) == self.reader and truths & {_at(state, "IFM"), _at(state, "IFM2")}:
                    return True
                if _param(state, "OFM_PRECISION") >> 14 >= _CHAINED:
                    continue
                region, one = _at(state, "IFM2")
                if (name, mode) == _AND and region == 0 and constants[one : one + 1] == _ONE[:1]:
                    truths.add(_at(state, "OFM"))
                else:
                    truths.discard(_at(state, "OFM"))
        return False


def _at(state: State, kind: str) -> tuple[int, int]:
    return _param(state, f"{kind}_REGION"), _payload(state, f"{kind}_BASE0")


def repeated(model: bytes) -> bool:
    """An operand is repeated along an axis, where both have one shape."""
    return any(
        name == "ELEMENTWISE"
        and _param(state, "IFM2_BROADCAST") & 7
        and not _param(state, "IFM2_BROADCAST") & _SCALAR
        for name, _, state in operations(model)
    )


def either(*proofs: Proof) -> Proof:
    """The stream shows one of several things."""
    return lambda model: any(proof(model) for proof in proofs)


class WrongWindow:
    """A reduction of some axes, one pool for each: the pools have other lengths, or padding.

    REDUCE_MIN is that of the complement, -1 - x: it may also repeat a part of x.
    """

    def __init__(self, lengths: Iterable[int]) -> None:
        self.lengths = frozenset(lengths) - {1}

    def __call__(self, model: bytes) -> bool:
        """Whether the stream shows it."""
        spans = {_span(state) for state in _extremes_of(model)}
        repeated = any(
            (name, mode) == _DIFFERENCE
            and _param(state, "IFM2_BROADCAST") & 7
            and not _param(state, "IFM2_BROADCAST") & _SCALAR
            for name, mode, state in operations(model)
        )
        padded = any(_is_padded(state) for state in _extremes_of(model))
        return padded or repeated or spans - {1} != self.lengths

    def padded(self, model: bytes) -> bool:
        """Whether one of its pools, and no other, has padding."""
        return any(
            _span(state) in self.lengths and _is_padded(state) for state in _extremes_of(model)
        )


def _extremes_of(model: bytes) -> list[State]:
    return [state for name, mode, state in operations(model) if (name, mode) in _EXTREMES]


def _span(state: State) -> int:
    return (_param(state, "KERNEL_HEIGHT_M1") + 1) * (_param(state, "KERNEL_WIDTH_M1") + 1)


def _is_padded(state: State) -> bool:
    return any(_param(state, f"IFM_PAD_{side}") for side in ("TOP", "BOTTOM", "LEFT", "RIGHT"))


def _param(state: State, name: str) -> int:
    return state.get(name, (0, 0))[0]


def _payload(state: State, name: str) -> int:
    return state.get(name, (0, 0))[1]
