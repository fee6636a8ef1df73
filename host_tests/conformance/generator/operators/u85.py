# SPDX-License-Identifier: MIT
"""One function per operator that Vela can place on an Ethos-U85.

Those of the smaller NPUs, some with fewer restrictions, and those that only a U85 supports.
"""

from __future__ import annotations

from collections.abc import Callable

from ethosu_tools.compile.known import BOUNDS
from ethosu_tools.sim.oracle import OPTIMISED

from ..builder import Builder, UnsuitableError
from . import (
    activation,
    convolution,
    elementwise,
    indexed,
    layout,
    logic,
    pooling,
    recurrent,
    variables,
)

_LARGE_STEP = 16


def div(b: Builder) -> None:
    """DIV of int32, toward zero."""
    x = b.pick(dtypes=("int32",), ranks=(4, 3, 2))
    sign = b.draws.choice((1, -1))
    ends = sorted((sign, sign * b.draws.choice((50, 7, 1000))))
    y = b.input(x.shape, "int32", x.scale, 0, low=ends[0], high=ends[1])
    b.operator("DIV", [x, y], [layout.like(b, x, x.shape)], "DivOptions")


def resize_bilinear(b: Builder) -> None:
    """RESIZE_BILINEAR by powers of two, one for each axis."""
    _resize(b, "RESIZE_BILINEAR", "ResizeBilinearOptions", (2, 4, 1, 8, 16))


def resize_nearest(b: Builder) -> None:
    """RESIZE_NEAREST_NEIGHBOR to any size."""
    _resize(b, "RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions", None)


def _resize(b: Builder, kind: str, options: str, factors: tuple[int, ...] | None) -> None:
    draws = b.draws
    x = b.pick(largest=8)
    n, h, w, c = x.shape
    corners, centres = draws.choice(((False, False), (True, False), (False, True)))

    def length(size: int) -> int:
        if factors is None:
            return draws.integer(1, 30)
        factor = draws.choice(factors)
        return (size - 1) * factor + 1 if corners else size * factor

    size = (length(h), length(w))
    if factors is None and not corners and not centres and (size[0] % h or size[1] % w):
        centres = True  # Vela defect: resize-nearest-centres
    if h >= _LARGE_STEP * (size[0] - 1) or w >= _LARGE_STEP * (size[1] - 1):
        raise UnsuitableError("Vela defect: resize-steps")
    out = layout.like(b, x, (n, *size, c))
    fields = {"alignCorners": corners, "halfPixelCenters": centres}
    b.operator(kind, [x, b.integers(*size)], [out], options, **fields)


def _wide(make: Callable[[Builder], None]) -> Callable[[Builder], None]:
    """The operator, sometimes with int32."""

    def make_wide(b: Builder) -> None:
        usual = b.types
        b.types = ("int32",) if b.draws.chance(20) else usual
        try:
            make(b)
        finally:
            b.types = usual

    return make_wide


_OPERATORS: dict[str, Callable[[Builder], None]] = {
    **activation.OPERATORS,
    **convolution.OPERATORS,
    **elementwise.OPERATORS,
    **{name: _wide(make) for name, make in layout.OPERATORS.items()},
    **pooling.OPERATORS,
    **recurrent.OPERATORS,
    **indexed.OPERATORS,
    **logic.OPERATORS,
    **variables.OPERATORS,
    "DIV": div,
    "RESIZE_BILINEAR": resize_bilinear,
    "RESIZE_NEAREST_NEIGHBOR": resize_nearest,
}
GENERATORS = dict(sorted(_OPERATORS.items()))

# As for the smaller NPUs (see __init__.py).
ALONE = {
    "SUM",
    *OPTIMISED,
    *BOUNDS,
    *("READ_VARIABLE", "ASSIGN_VARIABLE"),  # Vela defect: variable-start-value
}
NEVER_ON_NPU: dict[str, str] = {}
