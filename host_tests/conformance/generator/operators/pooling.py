# SPDX-License-Identifier: MIT
"""Operators that combine a neighbourhood or an axis: pools, reductions, resizing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..builder import Builder, UnsuitableError, Value
from .convolution import SAME, VALID, paddings, window


def _pool(kind: str) -> Callable[[Builder], None]:
    def make(b: Builder) -> None:
        draws = b.draws
        # Vela defect: unpack-of-channels
        x = b.pick(batch=True, avoid=b.unpacked if kind == "AVERAGE_POOL_2D" else ())
        n, h, w, c = x.shape
        kh, kw = draws.integer(1, 8), draws.integer(1, 8)
        if draws.chance(10):
            kh, kw = min(h, 20), min(w, 20)
        sh = draws.integer(1, 3)
        sw = sh if draws.chance(60) else draws.integer(1, 3)
        padding = paddings(b, x)
        if (b.free or padding == VALID) and draws.chance(50 if b.free else 15):
            sh, sw = draws.integer(1, 8), draws.integer(1, 8)
        if n > 1 and kind == "AVERAGE_POOL_2D" and padding == SAME:
            sh, sw = min(sh, 3), min(sw, 3)  # Vela defect: average-pool-of-batch
        shape = (n, window(h, kh, sh, 1, padding), window(w, kw, sw, 1, padding), c)
        out = b.tensor(shape, x.dtype, x.scale, x.zero_point)
        if b.free and kind == "AVERAGE_POOL_2D" and padding == SAME and max(sh, sw) > 3:
            b.standalone.add(out.index)  # Vela defect: average-pool-before-pad
        b.operator(
            kind,
            [x],
            [out],
            "Pool2DOptions",
            padding=padding,
            strideH=sh,
            strideW=sw,
            filterHeight=kh,
            filterWidth=kw,
            fusedActivationFunction=b.activation(),
        )

    return make


def axes_of(b: Builder, x: Value) -> list[int]:
    """Axes that MEAN, REDUCE_MAX and REDUCE_MIN can reduce on the NPU."""
    candidates = ((1, 2), (1,), (2,), (3,), (1, 2, 3)) if x.rank == 4 else ((1,), (x.rank - 1,))
    return sorted(set(b.draws.choice(candidates)))


def reduced(x: Value, axes: Sequence[int], keep: bool) -> tuple[int, ...]:
    """The shape after the reduction."""
    if keep:
        return tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
    shape = tuple(size for axis, size in enumerate(x.shape) if axis not in axes)
    if not shape:
        raise UnsuitableError("nothing is left")
    return shape


def mean(b: Builder) -> None:
    """MEAN along one or several axes."""
    x = b.pick(ranks=(4, 3, 2), avoid=b.unpacked)  # Vela defect: unpack-of-channels
    axes, keep = axes_of(b, x), b.draws.chance(50)
    scale = x.scale * b.draws.choice((1.0, 0.7, 1.9))
    out = b.tensor(reduced(x, axes, keep), x.dtype, scale)
    b.operator("MEAN", [x, b.integers(*axes)], [out], "ReducerOptions", keepDims=keep)


def sum_(b: Builder) -> None:
    """SUM along the last axis."""
    # Vela defect: sum-of-several-axes
    x = b.pick(dtypes=("int8",), ranks=(4, 3, 2), accept=_is_long)
    if not _is_long(x):
        raise UnsuitableError("an axis of length 1")
    axes = [x.rank - 1]
    out = b.tensor(reduced(x, axes, True), x.dtype, x.scale, x.zero_point)
    b.operator("SUM", [x, b.integers(*axes)], [out], "ReducerOptions", keepDims=True)


def _is_long(x: Value) -> bool:
    return x.shape[-1] > 1


def _extreme(kind: str) -> Callable[[Builder], None]:
    """REDUCE_MAX or REDUCE_MIN."""

    def make(b: Builder) -> None:
        # Vela defect: reduce-of-slice
        # Vela defect: shared-between-shapes
        x = b.pick(ranks=(4, 3, 2), avoid=b.parts | b.reshaped)
        axes = axes_of(b, x)
        if all(x.shape[axis] == 1 for axis in axes):
            raise UnsuitableError("Vela defect: reduce-without-dims")
        out = b.tensor(reduced(x, axes, True), x.dtype, x.scale, x.zero_point)
        b.standalone |= {x.index, out.index}  # Vela defect: reduce-before-pad
        b.operator(kind, [x, b.integers(*axes)], [out], "ReducerOptions", keepDims=True)

    return make


def arg_max(b: Builder) -> None:
    """ARG_MAX along the last axis."""
    x = b.pick(dtypes=("int8",), ranks=(4, 3, 2))
    out = b.tensor(x.shape[:-1], "int32", 1.0, 0)  # Vela defect: arg-max-to-int64
    axis = b.integers(x.rank - 1)
    b.operator("ARG_MAX", [x, axis], [out], "ArgMaxOptions", outputType=2)


def _resize(kind: str, options: str, halves: tuple[int, ...]) -> Callable[[Builder], None]:
    def make(b: Builder) -> None:
        draws = b.draws
        x = b.pick(largest=8)
        n, h, w, c = x.shape
        corners, centres = draws.choice(((False, False), (True, False), (False, True)))
        factor = draws.choice(halves if centres else (2, 4, 8))
        if h == 1 and w == 1 and draws.chance(50):
            size = (draws.integer(1, 12), draws.integer(1, 12))
        elif corners:
            size = ((h - 1) * factor + 1, (w - 1) * factor + 1)
        else:
            size = (h * factor, w * factor)
        out = b.tensor((n, *size, c), x.dtype, x.scale, x.zero_point)
        if kind == "RESIZE_BILINEAR" and centres:
            # Vela defect: resize-bilinear-before-pad
            b.standalone.add(out.index)
        b.operator(
            kind,
            [x, b.integers(*size)],
            [out],
            options,
            alignCorners=corners,
            halfPixelCenters=centres,
        )

    return make


OPERATORS = {
    "ARG_MAX": arg_max,
    "AVERAGE_POOL_2D": _pool("AVERAGE_POOL_2D"),
    "MAX_POOL_2D": _pool("MAX_POOL_2D"),
    "MEAN": mean,
    "REDUCE_MAX": _extreme("REDUCE_MAX"),
    "REDUCE_MIN": _extreme("REDUCE_MIN"),
    "RESIZE_BILINEAR": _resize("RESIZE_BILINEAR", "ResizeBilinearOptions", (2,)),
    "RESIZE_NEAREST_NEIGHBOR": _resize(
        "RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions", (2, 4, 8)
    ),
    "SUM": sum_,
}
