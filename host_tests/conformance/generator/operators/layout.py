# SPDX-License-Identifier: MIT
"""Operators that move elements and compute nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..builder import Builder, UnsuitableError, Value

_RANKS = (4, 3, 2)


def like(b: Builder, x: Value, shape: Sequence[int]) -> Value:
    """An output with the quantisation of `x`."""
    return b.tensor(shape, x.dtype, x.scale, x.zero_point)


def _part(b: Builder, x: Value, shape: Sequence[int]) -> Value:
    """An output that is a part of `x`."""
    out = like(b, x, shape)
    b.parts.add(out.index)
    return out


def concatenation(b: Builder) -> None:
    """CONCATENATION along any axis, of values and constants."""
    x = b.pick(ranks=_RANKS, avoid=b.standalone)
    axis = b.draws.integer(1, x.rank - 1) * -1 + x.rank
    parts = [x]
    for _ in range(b.draws.integer(1, 3)):
        size = b.draws.size(24) if not b.draws.chance(15) else x.shape[axis]
        shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
        quant = (x.scale, x.zero_point)
        if b.draws.chance(20):
            parts.append(b.random_constant(shape, x.dtype, *quant))
        else:
            parts.append(b.input(shape, x.dtype, *quant))
    total = sum(part.shape[axis] for part in parts)
    out = like(b, x, (*x.shape[:axis], total, *x.shape[axis + 1 :]))
    shift = b.draws.choice((0, x.rank))
    b.operator("CONCATENATION", parts, [out], "ConcatenationOptions", axis=axis - shift)


def pack(b: Builder) -> None:
    """PACK: a new axis."""
    x = b.pick(ranks=(3, 2), avoid=b.standalone | b.unpacked)  # Vela defect: unpack-of-channels
    others = [
        b.input(x.shape, x.dtype, x.scale, x.zero_point) for _ in range(b.draws.integer(0, 2))
    ]
    parts = [x, *others]
    axis = b.draws.integer(0, x.rank)
    shape = (*x.shape[:axis], len(parts), *x.shape[axis:])
    b.operator("PACK", parts, [like(b, x, shape)], "PackOptions", axis=axis, valuesCount=len(parts))


def unpack(b: Builder) -> None:
    """UNPACK: an axis less."""
    x = b.pick(ranks=(3, 4), accept=lambda value: any(size <= 4 for size in value.shape[1:]))
    axes = [axis for axis, size in enumerate(x.shape) if size <= 4 and axis > 0]
    if not axes:
        raise UnsuitableError("no short axis")
    axis = b.draws.choice(axes)
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    outs = [_part(b, x, shape) for _ in range(x.shape[axis])]
    if axis == x.rank - 1:
        b.unpacked |= {out.index for out in outs}
    b.operator("UNPACK", [x], outs, "UnpackOptions", axis=axis, num=len(outs))


def pad(b: Builder) -> None:
    """PAD with zeros (that is, the zero point)."""
    x, out, table = _padded(b, 4)
    b.operator("PAD", [x, table], [out], "PadOptions")


def pad_v2(b: Builder) -> None:
    """PADV2 with a value."""
    x, out, table = _padded(b, 4)
    value = b.random_constant((1,), x.dtype, x.scale, x.zero_point)
    b.operator("PADV2", [x, table, value], [out], "PadV2Options")


def mirror_pad(b: Builder) -> None:
    """MIRROR_PAD, both modes."""
    mode = b.draws.choice((0, 1))  # REFLECT leaves the edge out, SYMMETRIC doubles it
    x, out, table = _padded(b, 3, mirror=mode)
    b.standalone.add(out.index)  # Vela defect: shared-between-shapes
    b.operator("MIRROR_PAD", [x, table], [out], "MirrorPadOptions", mode=mode)


def _padded(b: Builder, most: int, mirror: int | None = None) -> tuple[Value, Value, Value]:
    x = b.pick(ranks=_RANKS, avoid=b.standalone, batch=True)
    rows = []
    for axis, size in enumerate(x.shape):
        limit = most if mirror is None else min(most, size - 1 + mirror)
        # Vela defect: mirror-pad-of-channels
        channels = axis == x.rank - 1 and (mirror is not None or not b.draws.chance(40))
        # Vela defect: mirror-pad-of-batch
        batch = axis == 0 and x.rank > 2 and (mirror is not None or not b.draws.chance(15))
        if batch or channels:
            limit = 0
        rows.append([b.draws.integer(0, max(limit, 0)), b.draws.integer(0, max(limit, 0))])
    shape = [size + before + after for size, (before, after) in zip(x.shape, rows, strict=True)]
    return x, like(b, x, shape), b.constant(np.array(rows, np.int32))


def _renamed(b: Builder, x: Value, shape: Sequence[int]) -> Value:
    """An output with the same elements under other axes."""
    out = _part(b, x, shape) if x.index in b.parts else like(b, x, shape)
    b.reshaped.add(out.index)
    return out


def reshape(b: Builder) -> None:
    """RESHAPE to fewer or more axes."""
    x = b.pick_to_reshape(ranks=_RANKS)
    *outer, depth = x.shape
    rows = int(np.prod(outer))
    shape = b.draws.choice(
        ((1, x.elements), (rows, depth), (1, rows, depth), (1, 1, depth, rows), (1, rows, 1, depth))
    )
    target = b.integers(*shape)
    out = _renamed(b, x, shape)
    b.operator("RESHAPE", [x, target], [out], "ReshapeOptions", newShape=list(shape))


def expand_dims(b: Builder) -> None:
    """EXPAND_DIMS."""
    x = b.pick_to_reshape(ranks=(3, 2))
    axis = b.draws.integer(0, x.rank)
    out = _renamed(b, x, (*x.shape[:axis], 1, *x.shape[axis:]))
    b.operator("EXPAND_DIMS", [x, b.integers(axis)], [out], "ExpandDimsOptions")


def squeeze(b: Builder) -> None:
    """SQUEEZE of one axis of length 1."""
    x = b.pick_to_reshape(ranks=(4, 3), accept=lambda value: 1 in value.shape)
    if 1 not in x.shape:
        raise UnsuitableError("no axis of length 1")
    axis = b.draws.choice([axis for axis, size in enumerate(x.shape) if size == 1])
    out = _renamed(b, x, (*x.shape[:axis], *x.shape[axis + 1 :]))
    b.operator("SQUEEZE", [x], [out], "SqueezeOptions", squeezeDims=[axis])


def reverse(b: Builder) -> None:
    """REVERSE_V2 of one axis."""
    x = b.pick(ranks=_RANKS)
    axis = b.draws.integer(1, x.rank - 1)
    b.operator("REVERSE_V2", [x, b.integers(axis)], [like(b, x, x.shape)], "ReverseV2Options")


def _cut(b: Builder, x: Value) -> tuple[list[int], list[int]]:
    begin = [b.draws.integer(0, size - 1) if b.draws.chance(60) else 0 for size in x.shape]
    size = [
        b.draws.integer(1, whole - first) if b.draws.chance(60) else whole - first
        for whole, first in zip(x.shape, begin, strict=True)
    ]
    return begin, size


def slice_(b: Builder) -> None:
    """SLICE."""
    x = b.pick(ranks=_RANKS)
    begin, size = _cut(b, x)
    inputs = [x, b.integers(*begin), b.integers(*size)]
    out = _part(b, x, size)
    b.operator("SLICE", inputs, [out], "SliceOptions")


def strided_slice(b: Builder) -> None:
    """STRIDED_SLICE, also with strides over height and width."""
    x = b.pick(ranks=_RANKS)
    begin, size = _cut(b, x)
    strides = [1] * x.rank
    if x.rank == 4 and b.draws.chance(50):
        strides[1], strides[2] = b.draws.integer(1, 3), b.draws.integer(1, 3)
    end = [first + count for first, count in zip(begin, size, strict=True)]
    shape = [-(-count // stride) for count, stride in zip(size, strides, strict=True)]
    inputs = [x, b.integers(*begin), b.integers(*end), b.integers(*strides)]
    out = _part(b, x, shape)
    b.operator("STRIDED_SLICE", inputs, [out], "StridedSliceOptions")


def split(b: Builder) -> None:
    """SPLIT into equal parts."""
    x = b.pick(ranks=_RANKS)
    options = [
        (axis, parts)
        for axis in range(x.rank - 1, 0, -1)
        for parts in (2, 3, 4)
        if x.shape[axis] % parts == 0
    ]
    if not options:
        raise UnsuitableError("no axis to split")
    axis, parts = b.draws.choice(options)
    shape = (*x.shape[:axis], x.shape[axis] // parts, *x.shape[axis + 1 :])
    outs = [_part(b, x, shape) for _ in range(parts)]
    b.operator("SPLIT", [b.integers(axis), x], outs, "SplitOptions", numSplits=parts)


def split_v(b: Builder) -> None:
    """SPLIT_V into unequal parts."""
    x = b.pick(ranks=_RANKS)
    axis = x.rank - b.draws.integer(1, x.rank - 1)
    if x.shape[axis] < 2:
        raise UnsuitableError("too short to split")
    first = b.draws.integer(1, x.shape[axis] - 1)
    sizes = (first, x.shape[axis] - first)
    outs = [_part(b, x, (*x.shape[:axis], size, *x.shape[axis + 1 :])) for size in sizes]
    inputs = [x, b.integers(*sizes), b.integers(axis)]
    b.operator("SPLIT_V", inputs, outs, "SplitVOptions", numSplits=2)


def tile(b: Builder) -> None:
    """TILE along any axes."""
    x = b.pick(dtypes=("int8",), ranks=_RANKS, largest=8)
    times = [b.draws.integer(1, 3) if b.draws.chance(50) else 1 for _ in x.shape]
    if x.rank == 4:
        times[0] = 1
    shape = [size * count for size, count in zip(x.shape, times, strict=True)]
    b.operator("TILE", [x, b.integers(*times)], [like(b, x, shape)], "TileOptions")


def transpose(b: Builder) -> None:
    """TRANSPOSE by any permutation."""
    x = b.pick_to_reshape(ranks=_RANKS, batch=True)
    rest = list(range(x.rank))
    order = []
    while rest:
        order.append(rest.pop(b.draws.integer(0, len(rest) - 1)))
    shape = [x.shape[axis] for axis in order]
    out = _renamed(b, x, shape)
    if b.npu in ("ethos-u55-32", "ethos-u55-64"):
        b.without_table.add(out.index)  # Vela defect: table-of-transpose
    b.operator("TRANSPOSE", [x, b.integers(*order)], [out], "TransposeOptions")


OPERATORS: dict[str, Callable[[Builder], None]] = {
    "CONCATENATION": concatenation,
    "EXPAND_DIMS": expand_dims,
    "MIRROR_PAD": mirror_pad,
    "PACK": pack,
    "PAD": pad,
    "PADV2": pad_v2,
    "RESHAPE": reshape,
    "REVERSE_V2": reverse,
    "SLICE": slice_,
    "SPLIT": split,
    "SPLIT_V": split_v,
    "SQUEEZE": squeeze,
    "STRIDED_SLICE": strided_slice,
    "TILE": tile,
    "TRANSPOSE": transpose,
    "UNPACK": unpack,
}
