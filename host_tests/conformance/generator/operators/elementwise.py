# SPDX-License-Identifier: MIT
"""Operators of two values, element by element, with broadcast."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..builder import NONE, Builder, UnsuitableError, Value


def other(b: Builder, x: Value, same: bool) -> Value:
    """The second operand: of the same shape, broadcast, or a constant."""
    shape = x.shape
    if b.draws.chance(50):
        shape = tuple(1 if b.draws.chance(40) else size for size in shape)
    if b.draws.chance(20):
        shape = shape[b.draws.integer(0, len(shape) - 1) :]
    quant = (x.scale, x.zero_point) if same else (b.scale(), b.zero_point(x.dtype))
    if b.draws.chance(30):
        return b.random_constant(shape, x.dtype, *quant)
    if not same and b.draws.chance(30):
        return (
            b.pick(dtypes=(x.dtype,), ranks=(x.rank,), batch=True, accept=lambda v: _fits(x, v))
            if shape == x.shape
            else b.input(shape, x.dtype, *quant)
        )
    return b.input(shape, x.dtype, *quant)


def _fits(x: Value, y: Value) -> bool:
    return all(a in (1, c) for a, c in zip(y.shape, x.shape, strict=True))


def _aligned(x: Value, y: Value) -> tuple[int, ...]:
    """The smaller shape with as many axes as the other."""
    return (1,) * (x.rank - y.rank) + y.shape


def broadcast(x: Value, y: Value) -> tuple[int, ...]:
    return tuple(max(a, c) for a, c in zip(x.shape, _aligned(x, y), strict=True))


def _scale(b: Builder, kind: str, x: Value, y: Value) -> float:
    half = 128 if x.dtype == "int8" else 32_768
    if kind == "MUL":
        wanted = x.scale * y.scale * half
    elif kind == "SQUARED_DIFFERENCE":
        wanted = max(x.scale, y.scale) ** 2 * half
    else:
        wanted = max(x.scale, y.scale) * 1.5
    return wanted * b.draws.choice((1.0, 0.31, 2.3))


def _binary(
    kind: str, options: str, dtypes: tuple[str, ...], same: bool = False
) -> Callable[[Builder], None]:
    def make(b: Builder) -> None:
        x = b.pick(dtypes=dtypes, ranks=(4, 3, 2), batch=True)
        y = other(b, x, same or x.dtype == "int32")
        if y.rank != x.rank and y.rank > x.rank:
            x, y = y, x
        pair = [y, x] if b.draws.chance(40) else [x, y]
        shape = broadcast(x, y)
        if same or x.dtype == "int32":
            out = b.tensor(shape, x.dtype, x.scale, x.zero_point)
        else:
            out = b.tensor(shape, x.dtype, _scale(b, kind, x, y))
        fields: dict[str, object] = {}
        if kind in ("ADD", "SUB", "MUL"):
            fields["fusedActivationFunction"] = NONE if x.dtype == "int32" else b.activation()
        if kind in ("ADD", "SUB"):
            fields["potScaleInt16"] = False
        if {x.index, y.index} & b.parts and shape == x.shape == _aligned(x, y):
            raise UnsuitableError("Vela defect: elementwise-of-slice")
        if kind == "SQUARED_DIFFERENCE" and _overflows(x, y, out):
            raise UnsuitableError("Vela defect: squared-difference-multiplier")
        b.operator(kind, pair, [out], options, **fields)

    return make


def _overflows(x: Value, y: Value, out: Value) -> bool:
    """Whether a multiplier of SQUARED_DIFFERENCE has a significand of all ones, rounded."""
    twice = 2 * max(x.scale, y.scale)
    ratios = (x.scale / twice, y.scale / twice, twice**2 / ((1 << 14) * out.scale))
    return any(round(math.frexp(ratio)[0] * 2**31) == 2**31 for ratio in ratios)


_ALL = ("int8", "int16", "int32")

OPERATORS = {
    "ADD": _binary("ADD", "AddOptions", _ALL),
    "MAXIMUM": _binary("MAXIMUM", "MaximumMinimumOptions", ("int8", "int16"), same=True),
    "MINIMUM": _binary("MINIMUM", "MaximumMinimumOptions", ("int8", "int16"), same=True),
    "MUL": _binary("MUL", "MulOptions", ("int8", "int16")),  # Vela defect: mul-int32
    "SQUARED_DIFFERENCE": _binary("SQUARED_DIFFERENCE", "SquaredDifferenceOptions", ("int8",)),
    "SUB": _binary("SUB", "SubOptions", _ALL),
}
