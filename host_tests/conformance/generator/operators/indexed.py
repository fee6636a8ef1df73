# SPDX-License-Identifier: MIT
"""Operators that search or place elements by index; state that persists between inferences."""

from __future__ import annotations

import numpy as np

from ..builder import Builder, UnsuitableError
from .layout import like

_RANKS = (4, 3, 2)


def gather(b: Builder) -> None:
    """GATHER of rows by input or constant indices; Vela takes axis == batch_dims."""
    batch = b.draws.choice((0, 0, 1))
    x = b.pick(dtypes=("int8", "int16", "int32"), ranks=(2, 3), accept=lambda v: v.rank > batch + 1)
    if x.rank <= batch + 1:
        raise UnsuitableError("nothing to gather")
    count = b.draws.integer(1, 12)
    shape = (*x.shape[:batch], count)
    last = x.shape[batch] - 1
    if b.draws.chance(30):
        data = b.draws.rng().integers(0, last, shape, np.int32, endpoint=True)
        indices = b.constant(data)
    else:
        indices = b.input(shape, "int32", 1.0, 0, low=0, high=last)
    out = like(b, x, (*shape, *x.shape[batch + 1 :]))
    b.operator("GATHER", [x, indices], [out], "GatherOptions", axis=batch, batchDims=batch)


def scatter_nd(b: Builder) -> None:
    """SCATTER_ND of rows to constant positions, each at most once, into zeros."""
    rows = b.draws.integer(1, 12)
    total = rows + b.draws.integer(0, 8)
    dtype = b.dtype(("int8", "int32"))
    rest = b.shape(b.draws.choice((1, 2)))
    updates = b.input((rows, *rest), dtype, zero_point=0)
    places = b.draws.rng().permutation(total)[:rows].astype(np.int32).reshape(rows, 1)
    shape = (total, *rest)
    out = like(b, updates, shape)
    inputs = [b.constant(places), updates, b.integers(*shape)]
    b.operator("SCATTER_ND", inputs, [out], "ScatterNdOptions")


def arg_max(b: Builder) -> None:
    """ARG_MAX along any axis; the first of equals."""
    x = b.pick(dtypes=("int8",), ranks=_RANKS, avoid=b.parts)  # Vela defect: arg-max-of-slice
    output = b.draws.choice(("int32", "int64"))
    axis = x.rank - b.draws.integer(1, x.rank - 1)
    out = b.tensor((*x.shape[:axis], *x.shape[axis + 1 :]), output, 1.0, 0)
    kinds = {"int32": 2, "int64": 4}
    inputs = [x, b.integers(axis)]
    b.operator("ARG_MAX", inputs, [out], "ArgMaxOptions", outputType=kinds[output])


OPERATORS = {"ARG_MAX": arg_max, "GATHER": gather, "SCATTER_ND": scatter_nd}
