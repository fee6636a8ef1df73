# SPDX-License-Identifier: MIT
"""Proofs that a command stream reads or writes another place than any right stream would."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from ethosu_tools import payload
from ethosu_tools.npu.program import Tensor, parse

from . import dataflow
from .dataflow import Hole
from .proofs import Defect, extremes
from .registers import (
    CHAINED,
    State,
    npu_operators,
    operations,
    parameter,
    place,
    strides,
    tables,
    word,
)

_MATMUL = ("CONV", 1)
_SCALAR, _SCALAR_U85, _ACROSS = 1 << 7, 1 << 3, 1 << 1
_PLACE = 16  # tensors begin at multiples of it
_BRICK = 16  # channels
_WIDE = (0xFFFF, 0)  # a tile that nothing exceeds

# Offsets of what was written, by region and strides.
_Written = defaultdict[tuple[int, tuple[int, int, int]], list[np.ndarray]]


def overlapping_output(model: bytes) -> bool:
    """An output in NHWC whose elements lie upon each other: its shape is not that of its memory."""
    for _, _, state in operations(model):
        precision = parameter(state, "OFM_PRECISION")
        if precision >> 6 & 3:
            continue
        pixel = (parameter(state, "OFM_DEPTH_M1") + 1) << (precision >> 1 & 3)
        row = (parameter(state, "OFM_WIDTH_M1") + 1) * word(state, "OFM_STRIDE_X")
        next_tile = word(state, "OFM_BASE1") - word(state, "OFM_BASE0")
        if (
            pixel > word(state, "OFM_STRIDE_X")
            or (parameter(state, "OFM_HEIGHT_M1") > 0 and row > word(state, "OFM_STRIDE_Y"))
            or (
                parameter(state, "OFM_WIDTH_M1") > parameter(state, "OFM_WIDTH0_M1")
                and not next_tile
            )
        ):
            return True
    return False


def shared_scales(model: bytes) -> bool:
    """Convolutions of different inputs have the same biases and scales."""
    seen: dict[tuple[int, int], tuple[int, int]] = {}
    for name, _, state in operations(model):
        scales = parameter(state, "SCALE_REGION"), word(state, "SCALE_BASE")
        if name == "CONV" and seen.setdefault(scales, place(state, "IFM")) != place(state, "IFM"):
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


def table_beyond_memory(model: bytes) -> bool:
    """A table is loaded to the end of SHRAM or past it."""
    for graph, operator in npu_operators(model):
        content = payload.read(graph.tensors[operator.inputs[0]].content)
        shram = ((content.config or 0) >> 8 & 0xFF) * 1024
        if any(target >= shram for _, target, _ in tables(content.stream)):
            return True
    return False


def shared_output(model: bytes) -> bool:
    """A 64-bit output lies upon other data: it was planned with half its size."""
    for graph, operator in npu_operators(model):
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
            if parameter(state, f"{kind}_REGION")
        ]
        inside = any(((p >= output.offset) & (p < output.offset + output.size)).any() for p in ends)
        mine = word(state, "OFM_BASE0") == output.offset and (
            parameter(state, "OFM_PRECISION") >> 1 & 3 == 2
        )
        within.append((mine, inside))
    last = max((at for at, (mine, _) in enumerate(within) if mine), default=len(within))
    return any(inside for _, inside in within[last + 1 :])


def _overlap(a: Tensor, b: Tensor) -> bool:
    return a.offset < b.offset + b.size and b.offset < a.offset + a.size


def unwritten(model: bytes) -> bool:
    """The stream reads what nothing wrote or what another result lies upon, or the like."""
    return bool(dataflow.holes(model) & ~(Hole.RESULT_UNREAD | Hole.RESULT_DAMAGED))


def damaged(model: bytes) -> bool:
    """A result is read that another lies upon, in part, before anybody read that part."""
    return bool(dataflow.holes(model) & Hole.RESULT_DAMAGED)


def unread(model: bytes) -> bool:
    """Some results are written for nobody, in a graph that drops nothing."""
    return bool(dataflow.holes(model) & Hole.RESULT_UNREAD)


@dataclass(frozen=True)
class LargeQuarter:
    """An operation for every other row and column of an image twice the size makes too many."""

    rows: int  # of the image that is resized
    columns: int

    def __call__(self, model: bytes) -> bool:
        """Whether the stream shows it."""
        for name, _, state in operations(model):
            precision = parameter(state, "OFM_PRECISION")
            depth = _BRICK if precision >> 6 & 3 else parameter(state, "OFM_DEPTH_M1") + 1
            doubled = word(state, "OFM_STRIDE_X") == 2 * (depth << (precision >> 1 & 3))
            large = (
                parameter(state, "OFM_HEIGHT_M1") >= self.rows
                or parameter(state, "OFM_WIDTH_M1") >= self.columns
            )
            if name == "DEPTHWISE" and doubled and large:
                return True
        return False


@dataclass(frozen=True)
class UnwrittenChannels:
    """No operation that fills a padded tensor, row by row, writes all of its channels."""

    row: int  # bytes from one row to the next, and from one pixel to the next
    pixel: int
    size: int  # of the tensor, bytes

    def __call__(self, model: bytes) -> bool:
        """Whether the stream shows it."""
        tensors: list[tuple[int, int, np.ndarray]] = []  # and what of a pixel is written
        for region, base, size in sorted(self._parts(model)):
            if not tensors or tensors[-1][0] != region or base - tensors[-1][1] >= self.size:
                tensors.append((region, base, np.zeros(self.pixel, bool)))
            tensors[-1][2][(base + np.arange(size)) % self.pixel] = True
        return any(not written.all() for _, _, written in tensors)

    def _parts(self, model: bytes) -> Iterator[tuple[int, int, int]]:
        """Where some channels are written, and how many bytes of each pixel."""
        for _, _, state in operations(model):
            depth = parameter(state, "OFM_DEPTH_M1") + 1
            size = depth << (parameter(state, "OFM_PRECISION") >> 1 & 3)
            part = size < self.pixel and self._has_its_steps(state, "OFM")
            if part and not self._copies_rows(state):
                yield (*place(state, "OFM"), size)

    def _has_its_steps(self, state: State, kind: str) -> bool:
        steps = tuple(abs(dataflow.signed(step)) for step in strides(state, kind)[:2])
        return steps == (self.row, self.pixel)

    def _copies_rows(self, state: State) -> bool:
        """Pixels of the tensor become others of it, channel by channel."""
        apart = word(state, "IFM_BASE0") - word(state, "OFM_BASE0")
        return self._has_its_steps(state, "IFM") and apart % self.pixel == 0


@dataclass(frozen=True)
class LostStart:
    """A slice is reduced from the start of what it was cut from."""

    start: int  # where the slice begins, bytes in NHWC

    def __call__(self, model: bytes) -> bool:
        """Whether the stream shows it."""
        found = {
            word(state, "IFM_BASE0")
            for state in extremes(model)
            if not parameter(state, "IFM_PRECISION") >> 6 & 3
        }
        for graph, operator in npu_operators(model):
            starts = {graph.tensors[i].offset for i in operator.inputs[4:]}
            if found & starts and not found & {start + self.start for start in starts}:
                return True
        return bool(found) and self.start % _PLACE not in {base % _PLACE for base in found}


class BesideSlice:
    """A reduction that begins where a slice of an input does reads as much, but not the slice."""

    def __init__(self, part: np.ndarray) -> None:
        """Where the elements of the slice are, bytes from the start of what it was cut from."""
        self.part = np.unique(part)

    def __call__(self, model: bytes) -> bool:
        """Whether the stream shows it."""
        starts = {
            graph.tensors[i].offset
            for graph, operator in npu_operators(model)
            for i in operator.inputs[4:]
        }
        same, other = 0, 0
        for state in extremes(model):
            start = word(state, "IFM_BASE0") - int(self.part[0])
            if start not in starts or parameter(state, "IFM_PRECISION") >> 6 & 3:
                continue
            size = dataflow.input_size("POOL", state)
            read = np.unique(dataflow.places(state, "IFM", size)[..., 0]) - start
            if read.size == self.part.size:
                equal = np.array_equal(read, self.part)
                same, other = same + equal, other + (not equal)
        return other > 0 and same == 0


def beyond_tile(model: bytes) -> bool:
    """An input is larger than its first tile, and the next is the same, or of other rows."""
    for name, _, state in operations(model):
        if name == "ELEMENTWISE":
            continue
        size = dataflow.input_size(name, state)
        for at, tile, other, axis in ((0, "HEIGHT0", 2, "Y"), (1, "WIDTH0", 1, "X")):
            step = word(state, f"IFM_STRIDE_{axis}")
            apart = word(state, "IFM_BASE0") - word(state, f"IFM_BASE{other}")
            beyond = size[at] > parameter(state, f"IFM_{tile}_M1") + 1
            if beyond and (apart == 0 or (step and apart % step)):
                return True
    return False


def beyond_width(model: bytes) -> bool:
    """An operand is wider than its first tile; Vela cuts into tiles along the height alone."""
    for name, mode, state in operations(model):
        kinds = ("IFM",) if mode in dataflow.UNARY else ("IFM", "IFM2")
        for kind in kinds if name == "ELEMENTWISE" else ():
            repeats = parameter(state, f"{kind}_BROADCAST")
            chained = parameter(state, f"{kind}_PRECISION") >> 14 >= CHAINED
            if chained or repeats & (_ACROSS | _SCALAR | _SCALAR_U85):
                continue
            if parameter(state, "OFM_WIDTH_M1") > parameter(state, f"{kind}_WIDTH0_M1"):
                return True
    return False


def beside_zeros(model: bytes) -> bool:
    """A transposed convolution reads or begins elsewhere than what fills its output with zeros.

    The fill is a 1x1 convolution whose input ends before its output does. The parts that follow
    write every other row and column of the same output, from its first or second ones on.
    """
    fill: State | None = None
    for name, _, state in operations(model):
        if name != "CONV":
            continue
        if _fills(state):
            fill = fill or state
        elif fill:
            if _is_part(state, fill) and not _begins_in(state, fill):
                return True
            fill = None
    return False


def _fills(state: State) -> bool:
    window = ("KERNEL_HEIGHT_M1", "KERNEL_WIDTH_M1", "IFM_PAD_TOP", "IFM_PAD_LEFT")
    beyond = (parameter(state, f"IFM_PAD_{side}") for side in ("BOTTOM", "RIGHT"))
    return not any(parameter(state, name) for name in window) and any(beyond)


def _is_part(state: State, fill: State) -> bool:
    """Whether a convolution has the fill's input, and every other row and column of its output."""
    (y, x, _), (rows, columns, _) = strides(state, "OFM"), strides(fill, "OFM")
    width, of = (parameter(each, "OFM_WIDTH_M1") + 1 for each in (state, fill))
    return (
        _alike(state, fill)
        and parameter(state, "OFM_REGION") == parameter(fill, "OFM_REGION")
        and (y, x) == (2 * rows, 2 * columns)
        and of // 2 <= width <= (of + 1) // 2
    )


def _alike(a: State, b: State) -> bool:
    """Whether two inputs may be of one tensor."""
    same = ("IFM_REGION", "IFM_PRECISION", "IFM_DEPTH_M1")
    return strides(a, "IFM") == strides(b, "IFM") and all(
        parameter(a, name) == parameter(b, name) for name in same
    )


def _begins_in(state: State, fill: State) -> bool:
    y, x, _ = strides(fill, "OFM")
    begun = word(state, "OFM_BASE0") - word(fill, "OFM_BASE0")
    return place(state, "IFM") == place(fill, "IFM") and begun in (0, x, y, x + y)


@dataclass(frozen=True)
class LostPlace:
    """A convolution reads a part of a tensor as if it began in the first row and column."""

    whole: tuple[int, ...]  # rows, columns and channels
    part: tuple[int, ...]
    begin: tuple[int, ...]
    steps: tuple[int, ...]

    def __call__(self, model: bytes) -> bool:
        """Whether the stream shows it."""
        lost: list[tuple[int, int, int]] = []
        reads: set[tuple[int, int]] = set()
        written = self._given(model)
        for name, _, state in operations(model):
            if name == "CONV" and dataflow.input_size(name, state) == self.part:
                at = place(state, "IFM")
                reads.add(at)
                lost += [(*at, further) for further in self._lost(state, written) if further]
            made = dataflow.places(state, "OFM", dataflow.output_size(state))
            written[parameter(state, "OFM_REGION"), strides(state, "OFM")].append(made.ravel())
        return any((region, base + further) not in reads for region, base, further in lost)

    def _given(self, model: bytes) -> _Written:
        """The bytes of the graph's inputs, by region and strides, of whatever type they are."""
        written: _Written = defaultdict(list)
        _, columns, channels = self.whole
        for graph, operator in npu_operators(model):
            for tensor in (graph.tensors[i] for i in operator.inputs[4:]):
                places = np.arange(tensor.offset, tensor.offset + tensor.size)
                for item in (1, 2, 4):
                    dense = (columns * channels * item, channels * item, item)
                    written[1, dense].append(places)
        return written

    def _lost(self, state: State, written: _Written) -> Iterator[int]:
        """How much further the part begins, if all of the tensor lies where this reads from."""
        item = 1 << (parameter(state, "IFM_PRECISION") >> 2 & 3)
        nhwc = not parameter(state, "IFM_PRECISION") >> 6 & 3
        bricks, within = divmod(self.begin[2], _BRICK)
        y, x, c = strides(state, "IFM")
        channels = self.begin[2] * item if nhwc else bricks * c + within * item
        # Where only one row or column is left, Vela may keep the step or not.
        ways = [
            {step, step if size > 1 else 1}
            for step, size in zip(self.steps, self.part, strict=True)
        ]
        for down, across in itertools.product(*ways[:2]):
            apart = (y // down, x // across, c)
            whole = {
                **state,
                "IFM_BASE0": (0, word(state, "IFM_BASE0") - channels),
                **{f"IFM_STRIDE_{axis}": (0, n) for axis, n in zip("YXC", apart, strict=True)},
                "IFM_HEIGHT0_M1": _WIDE,
                "IFM_WIDTH0_M1": _WIDE,
            }
            made = written.get((parameter(state, "IFM_REGION"), apart))
            places = dataflow.places(whole, "IFM", self.whole)
            if made and np.isin(places, np.concatenate(made)).all():
                yield self.begin[0] * apart[0] + self.begin[1] * apart[1]


@dataclass(frozen=True)
class PartsApart:
    """Parts of one transposed convolution begin to read at different places.

    Each makes every other row and column of the output: none needs what lies before the input.
    """

    rows: int  # of the output
    columns: int

    def __call__(self, model: bytes) -> bool:
        """Whether the stream shows it."""
        parts = [
            state for name, _, state in operations(model) if name == "CONV" and self._fits(state)
        ]
        return any(
            _alike(a, b) and word(a, "IFM_BASE0") != word(b, "IFM_BASE0") and _interleave(a, b)
            for a, b in itertools.combinations(parts, 2)
        )

    def _fits(self, state: State) -> bool:
        y, x, _ = strides(state, "OFM")
        sizes = dataflow.output_size(state)
        halves = all(
            whole // 2 <= size <= (whole + 1) // 2
            for size, whole in zip(sizes, (self.rows, self.columns), strict=False)
        )
        return halves and y >= self.columns * x


def _interleave(a: State, b: State) -> bool:
    """Whether two outputs are every other row and column of one tensor."""
    y, x, _ = strides(a, "OFM")
    apart = abs(word(a, "OFM_BASE0") - word(b, "OFM_BASE0"))
    return (
        strides(a, "OFM") == strides(b, "OFM")
        and parameter(a, "OFM_REGION") == parameter(b, "OFM_REGION")
        and apart in (x // 2, y // 2, (x + y) // 2, abs(y - x) // 2)
    )


@dataclass(frozen=True)
class LostStep:
    """Rows of a matrix are further apart than the matrices that the parts of a product begin at."""

    columns: int

    def __call__(self, model: bytes) -> bool:
        """Whether the stream shows it."""
        first: dict[tuple[int, ...], int] = {}
        for name, mode, state in operations(model):
            if (name, mode) != _MATMUL or parameter(state, "IFM_PRECISION") >> 6 & 3:
                first.clear()
                continue
            region, base = place(state, "IFM")
            y, x, c = strides(state, "IFM")
            apart = base - first.setdefault((region, y, x, c), base)
            if y and apart % y >= self.columns * x:
                return True
        return False


# Any graph may meet these.
TABLE_BEYOND_MEMORY = Defect("a table is loaded beyond the end of SHRAM", table_beyond_memory)
UNWRITTEN = Defect(
    "data flow: something is read or put out that was never written there", unwritten
)
