# SPDX-License-Identifier: MIT
"""Operators that gather a neighbourhood or an axis: pools, reductions, resizing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import places, proofs
from ..builder import Builder, UnsuitableError
from .convolution import SAME, VALID, window


def _pool(kind: str) -> Callable[[Builder], None]:
    def make(b: Builder) -> None:
        draws = b.draws
        x = b.pick(batch=True)
        n, h, w, c = x.shape
        kh, kw = draws.integer(1, 8), draws.integer(1, 8)
        if draws.chance(10):
            kh, kw = min(h, 20), min(w, 20)
        sh = draws.integer(1, 3)
        sw = sh if draws.chance(60) else draws.integer(1, 3)
        padding = draws.choice((SAME, VALID))
        if padding == SAME:
            b.padded(x)
        if padding == VALID and draws.chance(15):
            sh, sw = draws.integer(1, 8), draws.integer(1, 8)
        shape = (n, window(h, kh, sh, 1, padding), window(w, kw, sw, 1, padding), c)
        out = b.tensor(shape, x.dtype, x.scale, x.zero_point)
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


def _reduce(kind: str, dtypes: tuple[str, ...], same: bool) -> Callable[[Builder], None]:
    def make(b: Builder) -> None:
        x = b.pick(dtypes=dtypes, ranks=(4, 3, 2))
        candidates = ((1, 2), (1,), (2,), (3,), (1, 2, 3)) if x.rank == 4 else ((1,), (x.rank - 1,))
        axes = sorted(set(b.draws.choice(candidates)))
        keep = b.draws.chance(50)
        shape = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
        if not keep:
            shape = [size for axis, size in enumerate(x.shape) if axis not in axes]
        if not shape:
            raise UnsuitableError("nothing is left")
        if same:
            out = b.tensor(shape, x.dtype, x.scale, x.zero_point)
        else:
            out = b.tensor(shape, x.dtype, x.scale * b.draws.choice((1.0, 0.7, 1.9)))
        wrong_window = proofs.WrongWindow(x.shape[axis] for axis in axes)
        other_size = proofs.OtherSize(out.elements)
        if kind.startswith("REDUCE"):
            b.windows.append(wrong_window)
            b.known_defect(f"{kind} before a PAD: Vela pads its input", wrong_window.padded)
        if kind != "MEAN" and (not keep or all(x.shape[axis] == 1 for axis in axes)):
            b.known_defect(
                f"{kind} that drops axes or reduces axes of length 1 only: Vela's shape is wrong",
                other_size if kind == "SUM" else wrong_window,
            )
        if kind.startswith("REDUCE") and x.index in b.sliced:
            part = b.sliced[x.index] * np.dtype(x.dtype).itemsize
            lost = proofs.either(
                wrong_window, places.LostStart(int(part.min())), places.BesideSlice(part)
            )
            b.known_defect(f"{kind} of a slice: Vela takes the output's shape or start", lost)
        if kind == "SUM" and (len(axes) > 1 or (x.zero_point and axes != [x.rank - 1])):
            b.known_defect(
                "SUM of other axes than the last: Vela sums along one of them, or none", other_size
            )
        indices = b.integers(*axes)
        b.operator(kind, [x, indices], [out], "ReducerOptions", keepDims=keep)

    return make


def arg_max(b: Builder) -> None:
    """ARG_MAX along the last axis."""
    x = b.pick(dtypes=("int8",), ranks=(4, 3, 2))
    output = b.draws.choice(("int32", "int64"))
    out = b.tensor(x.shape[:-1], output, 1.0, 0)
    kinds = {"int32": 2, "int64": 4}
    if output == "int64":
        b.known_defect(
            "ARG_MAX to int64: Vela gives the output half of its memory", places.shared_output
        )
    axis = b.integers(x.rank - 1)
    b.operator("ARG_MAX", [x, axis], [out], "ArgMaxOptions", outputType=kinds[output])


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
            b.known_defect(
                "RESIZE_BILINEAR into a PAD: Vela computes it in the padded shape, from its start",
                places.LargeQuarter(h, w),
            )
        b.operator(
            kind,
            [x, b.integers(*size)],
            [out],
            options,
            alignCorners=corners,
            halfPixelCenters=centres,
        )

    return make


_BOTH = ("int8", "int16")

OPERATORS = {
    "ARG_MAX": arg_max,
    "AVERAGE_POOL_2D": _pool("AVERAGE_POOL_2D"),
    "MAX_POOL_2D": _pool("MAX_POOL_2D"),
    "MEAN": _reduce("MEAN", _BOTH, same=False),
    "REDUCE_MAX": _reduce("REDUCE_MAX", _BOTH, same=True),
    "REDUCE_MIN": _reduce("REDUCE_MIN", _BOTH, same=True),
    "RESIZE_BILINEAR": _resize("RESIZE_BILINEAR", "ResizeBilinearOptions", (2,)),
    "RESIZE_NEAREST_NEIGHBOR": _resize(
        "RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions", (2, 4, 8)
    ),
    "SUM": _reduce("SUM", ("int8",), same=True),
}
