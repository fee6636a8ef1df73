# SPDX-License-Identifier: MIT
"""Operators of one value, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..builder import Builder, UnsuitableError, Value

_BOTH = ("int8", "int16")
_RANKS = (4, 2, 3)
_LARGEST_SCALE = 4  # 32,768 steps of it in LiteRT's units, 1 / 12,288, fit into 32 bits
_LARGEST_SOFTMAX_SCALE = 8
_TIE = 2.0**-15  # two steps of a single-precision number of 8 bits before the point
_FIXED_POINT_TIE = 2.0**-11  # possible error of LiteRT's 16-bit HARD_SWISH


def _range(value: Value) -> tuple[float, float]:
    limits = np.iinfo(value.dtype)
    low, high = ((end - value.zero_point) * value.scale for end in (limits.min, limits.max))
    return low, high


def _output(b: Builder, x: Value, low: float, high: float, dtype: str | None = None) -> Value:
    """An output with a range of about low..high in real numbers."""
    dtype = dtype or x.dtype
    stretch = b.draws.choice((1.0, 0.6, 1.7))
    if dtype == "int16":
        return b.tensor(x.shape, dtype, max(abs(low), abs(high), 1e-3) / 32_767 * stretch, 0)
    scale = max(high - low, 1e-3) / 255 * stretch
    zero_point = int(np.clip(round(-128 - low / scale), -128, 127))
    return b.tensor(x.shape, dtype, scale, zero_point)


def _no_ties(
    function: Callable[[np.ndarray], np.ndarray], x: Value, out: Value, tie: float = _TIE
) -> None:
    """Reject values near a tie: LiteRT's table is single-precision, Vela's double-precision."""
    if x.dtype == "int8":
        values = function((np.arange(-128, 128) - x.zero_point) * float(np.float32(x.scale)))
        if np.any(np.abs(values / out.scale % 1 - 0.5) < tie):
            raise UnsuitableError("a value in the middle of two steps")


def _unary(
    kind: str,
    function: Callable[[np.ndarray], np.ndarray],
    dtypes: tuple[str, ...] = _BOTH,
    options: str | None = None,
    fixed: dict[str, tuple[float, int]] | None = None,
) -> Callable[[Builder], None]:
    """An operator whose output range follows from its function, or is TFLite's `fixed` one."""

    def make(b: Builder) -> None:
        x = b.pick(dtypes=dtypes, ranks=_RANKS, batch=True, avoid=b.without_table)
        if fixed is not None:
            if x.dtype == "int16" and x.scale > _LARGEST_SCALE:
                raise UnsuitableError("LiteRT's own int16 kernel wraps")
            out = b.tensor(x.shape, x.dtype, *fixed[x.dtype])
            _no_ties(function, x, out)
        elif kind == "ABS":
            # Ratios that are exact or far from a tie: LiteRT divides the scales in single
            # precision, Vela in double.
            out = b.tensor(x.shape, x.dtype, x.scale * b.draws.choice((1.0, 0.75, 0.5, 1.5, 2.0)))
        elif kind == "LEAKY_RELU" and b.draws.chance(50):
            out = b.tensor(x.shape, x.dtype, x.scale, x.zero_point)
        else:
            # Scales further apart than 2^14 overflow in LiteRT's int16.
            limit = max(8.0, 8 * x.scale)
            values = function(np.linspace(*_range(x), 256).clip(-limit, limit))
            out = _output(b, x, float(values.min()), float(values.max()))
        if kind == "HARD_SWISH":
            _no_ties(function, x, out, _FIXED_POINT_TIE)
        if kind == "GELU":
            _no_ties(_gelu, x, out)
            _no_ties(_approximate_gelu, x, out)
        if kind == "EXP" and _range(x)[1] > np.log(out.scale * 2.0**31):
            # Vela defect: exp-overflow. LiteRT's own int16 EXP wraps too.
            raise UnsuitableError("EXP beyond 2^31 steps")
        b.operator(kind, [x], [out], options, **_fields(b, kind))

    return make


def _fields(b: Builder, kind: str) -> dict[str, object]:
    if kind == "LEAKY_RELU":
        return {"alpha": b.draws.choice((0.01, 0.1, 0.3, 1.0, 1.5))}
    if kind == "GELU":
        return {"approximate": b.draws.chance(50)}
    return {}


def _positive(kind: str, function: Callable[[np.ndarray], np.ndarray]) -> Callable[[Builder], None]:
    """An operator of positive numbers, with a separate input."""

    def make(b: Builder) -> None:
        dtype = b.dtype(_BOTH)
        zero_point = b.draws.choice((-128, -100, 0)) if dtype == "int8" else 0
        shape = b.shape(b.draws.choice(_RANKS), batch=True)
        x = b.input(shape, dtype, zero_point=zero_point, low=zero_point + 1)
        values = function(np.linspace(x.scale, _range(x)[1], 256))
        out = _output(b, x, float(values.min()), float(values.max()))
        b.operator(kind, [x], [out])

    return make


def neg(b: Builder) -> None:
    """NEG, which LiteRT has for int32 only."""
    x = b.pick(dtypes=("int32",), ranks=_RANKS)
    b.operator("NEG", [x], [b.tensor(x.shape, "int32", x.scale, 0)], "NegOptions")


def prelu(b: Builder) -> None:
    """PRELU with a constant slope per channel, element or tensor."""
    x = b.pick(dtypes=("int8",), ranks=(4, 3))
    inner = x.shape[1:]
    shape = b.draws.choice(((*[1] * (len(inner) - 1), inner[-1]), inner, (1,) * len(inner)))
    alpha = b.random_constant(shape, x.dtype)
    low, high = _range(x)
    out = _output(b, x, low, max(high, 0.1))
    b.operator("PRELU", [x, alpha], [out])


def softmax(b: Builder) -> None:
    """SOFTMAX along the last axis."""
    x = b.pick(ranks=_RANKS, batch=True)
    if x.dtype == "int16" and x.scale >= _LARGEST_SOFTMAX_SCALE:
        raise UnsuitableError("LiteRT's own int16 kernel wraps")
    if x.dtype == "int16":
        out = b.tensor(x.shape, "int16", 1 / 32_768, 0)
    elif b.draws.chance(15):
        out = b.tensor(x.shape, "int16", 1 / 65_536, -32_768)
    else:
        out = b.tensor(x.shape, "int8", 1 / 256, -128)
    beta = b.draws.choice((1.0, 1.0, 0.5, 2.0))
    b.operator("SOFTMAX", [x], [out], "SoftmaxOptions", beta=beta)


def quantize(b: Builder) -> None:
    """QUANTIZE from one quantisation to another, and between widths."""
    x = b.pick(ranks=_RANKS, batch=True)
    dtype = "int8" if b.draws.chance(25) else x.dtype  # LiteRT does not widen
    low, high = _range(x)
    out = _output(b, x, low, high, dtype)
    b.operator("QUANTIZE", [x], [out], "QuantizeOptions")


def _relu(
    kind: str, low: float, high: float, dtypes: tuple[str, ...] = _BOTH
) -> Callable[[Builder], None]:
    def make(b: Builder) -> None:
        x = b.pick(dtypes=dtypes, ranks=_RANKS, batch=True)
        if b.draws.chance(50):
            out = replace(x, index=b.tensor(x.shape, x.dtype, x.scale, x.zero_point).index)
        else:
            start, end = _range(x)
            low_end, high_end = max(start, low), min(max(end, low), high)
            out = _output(b, x, min(low_end, 0), max(high_end, 0.1))
        b.operator(kind, [x], [out])

    return make


def _sigmoid(x: np.ndarray) -> np.ndarray:
    result: np.ndarray = 1 / (1 + np.exp(-x))
    return result


def _gelu(x: np.ndarray) -> np.ndarray:
    shares = [0.5 + 0.5 * math.erf(value / math.sqrt(2)) for value in x]
    result: np.ndarray = x * np.array(shares)
    return result


def _approximate_gelu(x: np.ndarray) -> np.ndarray:
    result: np.ndarray = x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return result


_UNIT = {"int8": (1 / 128, 0), "int16": (1 / 32_768, 0)}
_PROBABILITY = {"int8": (1 / 256, -128), "int16": (1 / 32_768, 0)}

OPERATORS = {
    "ABS": _unary("ABS", np.abs, options="AbsOptions"),
    "ELU": _unary("ELU", lambda x: np.where(x < 0, np.expm1(x), x), ("int8",)),
    "EXP": _unary("EXP", np.exp, options="ExpOptions"),
    "GELU": _unary("GELU", _gelu, ("int8",), "GeluOptions"),
    "HARD_SWISH": _unary(
        "HARD_SWISH", lambda x: x * np.clip(x + 3, 0, 6) / 6, ("int8",), "HardSwishOptions"
    ),
    "LEAKY_RELU": _unary("LEAKY_RELU", lambda x: x, options="LeakyReluOptions"),
    "LOG": _positive("LOG", np.log),
    "LOGISTIC": _unary("LOGISTIC", _sigmoid, fixed=_PROBABILITY),
    "NEG": neg,
    "PRELU": prelu,
    "QUANTIZE": quantize,
    "RELU": _relu("RELU", 0, np.inf),
    "RELU6": _relu("RELU6", 0, 6),
    "RELU_0_TO_1": _relu("RELU_0_TO_1", 0, 1, ("int8",)),
    "RELU_N1_TO_1": _relu("RELU_N1_TO_1", -1, 1, ("int8",)),
    "RSQRT": _positive("RSQRT", lambda x: 1 / np.sqrt(x)),
    "SOFTMAX": softmax,
    "TANH": _unary("TANH", np.tanh, fixed=_UNIT),
}
