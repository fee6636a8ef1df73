# SPDX-License-Identifier: MIT
"""Compares the structure of two models: operators, parameters, scales, axes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...model.tflite.cut import Whole
from .sides import match


@dataclass(frozen=True)
class Change:
    """A property of a layer that is `a` in the first model and `b` in the second; "" if absent."""

    layer: str
    what: str
    a: str = ""
    b: str = ""


def changes(a: Whole, b: Whole) -> list[Change]:
    """List all differences, layer by layer, in the order of `a`, then the layers only in `b`."""
    pairs = match(a, b)
    found = []
    for number, operator in enumerate(a.operators):
        if number in pairs:
            rows = _of_layer(a, b, number, pairs[number])
            found += [Change(a.name(number), *row) for row in rows]
        else:
            found.append(Change(a.name(number), "operator", operator.name))
    for number in sorted({*range(len(b.operators))} - {*pairs.values()}):
        found.append(Change(b.name(number), "operator", "", b.operators[number].name))
    return found


def _of_layer(a: Whole, b: Whole, one: int, other: int) -> Iterator[tuple[str, str, str]]:
    """Yield each property of a layer that differs, with both values."""
    first, second = a.operators[one], b.operators[other]
    if first.name != second.name:
        yield "operator", first.name, second.name
        return
    options, others = _fields(a, one), _fields(b, other)
    for name in sorted(options.keys() | others.keys()):
        if options.get(name) != others.get(name):
            yield f"parameter {name}", str(options.get(name)), str(others.get(name))
    for kind in ("inputs", "outputs"):
        tensors, twins = getattr(first, kind), getattr(second, kind)
        if len(tensors) != len(twins):
            yield f"number of {kind}", str(len(tensors)), str(len(twins))
        for place, (tensor, twin) in enumerate(zip(tensors, twins, strict=False)):
            for what, was, now in _of_tensor(a, b, tensor, twin):
                yield f"{what} of {kind.removesuffix('s')} {place}", was, now


def _of_tensor(a: Whole, b: Whole, one: int, other: int) -> Iterator[tuple[str, str, str]]:
    if min(one, other) < 0:
        if one != other:
            yield "presence", "absent" if one < 0 else "there", "absent" if other < 0 else "there"
        return
    first, second = a.graph.tensors[one], b.graph.tensors[other]
    for what in ("dtype", "shape"):
        if getattr(first, what) != getattr(second, what):
            yield what, str(getattr(first, what)), str(getattr(second, what))
            return
    for what, was, now in zip(
        ("scale", "zero point", "axis"), a.quantisation(one), b.quantisation(other), strict=True
    ):
        if was != now:
            yield what, *_shown(was, now)
    if first.content != second.content:
        pairs = zip(first.content, second.content, strict=False)
        other_bytes = sum(old != new for old, new in pairs)
        sizes = f"{len(first.content):,} bytes", f"{len(second.content):,} bytes"
        yield "contents", sizes[0], f"{sizes[1]}, {other_bytes:,} of them other"


def _fields(whole: Whole, number: int) -> dict[str, Any]:
    """Convert options to values that can be compared."""
    options = whole.options(number)
    found = dict(vars(options)) if options else {}
    found["customOptions"] = whole.custom_options(number)
    return {
        name: value if isinstance(value, int | float) else np.array(value).tolist()
        for name, value in found.items()
        if value is not None
    }


def _shown(was: Any, now: Any) -> tuple[str, str]:
    """Format two numbers; of two lists, the first pair that differs, with its position."""
    if not isinstance(was, tuple):
        return str(was), str(now)
    if len(was) != len(now):
        return f"{len(was)} numbers", f"{len(now)} numbers"
    at = next(at for at, pair in enumerate(zip(was, now, strict=True)) if pair[0] != pair[1])
    where = f" at {at}" if was[1:] else ""
    return f"{was[at]:.9g}{where}", f"{now[at]:.9g}{where}"
