# SPDX-License-Identifier: MIT
"""Operators on booleans, and casts between types: Ethos-U85 only."""

from __future__ import annotations

from collections.abc import Callable

from ..builder import Builder, UnsuitableError, Value
from .elementwise import broadcast, other
from .pooling import reduced

_RANKS = (4, 3, 2)
_SCALES = tuple(2.0**-bits for bits in (4, 5, 6, 7, 8))
_NUMBERS = ("int8", "int16", "int32")


def _truth(b: Builder, shape: tuple[int, ...]) -> Value:
    return b.tensor(shape, "bool", 1.0, 0)


def _options(kind: str) -> str:
    """The schema's name for the options of an operator: GreaterEqualOptions."""
    return "".join(word.capitalize() for word in kind.split("_")) + "Options"


def _whole(value: Value) -> bool:
    """Values that LiteRT and the NPU can rescale to one scale without rounding."""
    return value.dtype == "int32" or value.scale in _SCALES


def _compare(kind: str) -> Callable[[Builder], None]:
    """A comparison, with broadcast; LiteRT does not support int16.

    LiteRT rounds scaled operands twice, the NPU once: see one_operator/test_compare_u85.py.
    """

    def make(b: Builder) -> None:
        dtype = b.dtype(("int8", "int32"))
        x = b.pick(dtypes=(dtype,), ranks=_RANKS, batch=True, accept=_whole)
        if not _whole(x):
            x = b.input(x.shape, dtype, b.draws.choice(_SCALES))
        shape = tuple(1 if b.draws.chance(25) else size for size in x.shape)
        same = dtype == "int32" or b.draws.chance(40)
        scale = x.scale if same else b.draws.choice(_SCALES)
        zero_point = x.zero_point if same else b.zero_point(dtype)
        if b.draws.chance(30):
            y = b.random_constant(shape, dtype, scale, zero_point)
        else:
            y = b.input(shape, dtype, scale, zero_point)
        pair = [y, x] if b.draws.chance(40) else [x, y]
        b.operator(kind, pair, [_truth(b, broadcast(x, y))], _options(kind))

    return make


def _logical(kind: str) -> Callable[[Builder], None]:
    """AND, OR."""

    def make(b: Builder) -> None:
        x = b.pick(dtypes=("bool",), ranks=_RANKS, batch=True)
        y = other(b, x, same=True)
        b.operator(kind, [x, y], [_truth(b, broadcast(x, y))], _options(kind))

    return make


def logical_not(b: Builder) -> None:
    """LOGICAL_NOT."""
    x = b.pick(dtypes=("bool",), ranks=_RANKS, batch=True)
    b.operator("LOGICAL_NOT", [x], [_truth(b, x.shape)], "LogicalNotOptions")


def _reduce(kind: str) -> Callable[[Builder], None]:
    """ALL or ANY along some axes."""

    def make(b: Builder) -> None:
        x = b.pick(dtypes=("bool",), ranks=_RANKS)
        count = b.draws.choice((1, 1, 2))
        axes = sorted(
            {b.draws.integer(x.rank - 3 if x.rank > 2 else 0, x.rank - 1) for _ in range(count)}
        )
        if all(x.shape[axis] == 1 for axis in axes):
            raise UnsuitableError("Vela defect: reduce-without-dims")
        out = _truth(b, reduced(x, axes, True))
        b.internal.add(x.index)  # Vela defect: truth-as-mask
        b.operator(kind, [x, b.integers(*axes)], [out], "ReducerOptions", keepDims=True)

    return make


def _select(kind: str, broadcasts: bool) -> Callable[[Builder], None]:
    """One value or the other, element by element."""

    def make(b: Builder) -> None:
        x = b.pick(dtypes=_NUMBERS, ranks=_RANKS, batch=True)
        y = (
            other(b, x, same=True)
            if broadcasts
            else b.input(x.shape, x.dtype, x.scale, x.zero_point)
        )
        shape = broadcast(x, y)
        truth = tuple(1 if broadcasts and b.draws.chance(20) else size for size in shape)
        condition = b.pick(dtypes=("bool",), ranks=(len(truth),), batch=True, shape=truth)
        out = b.tensor(shape, x.dtype, x.scale, x.zero_point)
        b.internal.add(condition.index)  # Vela defect: truth-as-mask
        b.operator(kind, [condition, x, y], [out], _options(kind))

    return make


def cast(b: Builder) -> None:
    """CAST between integer types, and from and to booleans."""
    types = {"bool": 6, "int8": 9, "uint8": 3, "int16": 7, "int32": 2}
    x = b.pick(dtypes=tuple(types), ranks=_RANKS, batch=True)
    dtype = b.draws.choice([name for name in types if name != x.dtype])
    out = b.tensor(x.shape, dtype, 1.0, 0)
    b.operator(
        "CAST", [x], [out], "CastOptions", inDataType=types[x.dtype], outDataType=types[dtype]
    )


_COMPARISONS = ("EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL")

OPERATORS = {
    **{kind: _compare(kind) for kind in _COMPARISONS},
    **{kind: _logical(kind) for kind in ("LOGICAL_AND", "LOGICAL_OR")},
    **{kind: _reduce(kind) for kind in ("REDUCE_ALL", "REDUCE_ANY")},
    "CAST": cast,
    "LOGICAL_NOT": logical_not,
    "SELECT": _select("SELECT", broadcasts=False),
    "SELECT_V2": _select("SELECT_V2", broadcasts=True),
}
