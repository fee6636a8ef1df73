# SPDX-License-Identifier: MIT
"""Alternatives to operators that neither the NPU nor a CPU kernel computes."""

from __future__ import annotations

import re
from collections.abc import Iterable

INSTEAD = {
    "CONV_3D": "a Conv2D for each slice of the kernel along the depth, of the input's slices, "
    "and their sum",
    "CUMSUM": "a Dense layer, or tf.matmul, with a triangular matrix of ones",
    "DIV": "x * (1 / y), with 1 / y as a quantised tensor of its own, which becomes a table; "
    "a product with the reciprocal if y is constant",
    "L2_NORMALIZATION": "x * tf.math.rsqrt(tf.reduce_sum(x * x, -1, keepdims=True))",
    "REVERSE_V2": "tf.concat(tf.split(x, N, axis)[::-1], axis) with the N values of the axis; "
    "--try does that",
    "SELECT": "tf.where of TensorFlow 2, with operands of one shape; for an Embedding layer, rows "
    "that Python looks up, or Dense without bias of a one-hot input",
    "TOPK_V2": "all values as an output, of which Python takes the largest: "
    "sorted(range(len(y)), key=lambda i: -y[i])[:k]",
}
# Operators that converters write for recurrent layers and for a batch of any size.
_DYNAMIC = ("WHILE", "SHAPE", "FILL", "PACK", "UNPACK", "REVERSE_SEQUENCE", "FlexTensorList.*")
_UNROLLED = (
    "a fixed batch of 1 when you convert (batch_size=1 of the input), and unroll=True of a GRU or "
    "LSTM layer, so that no loop and no shape is computed on the board"
)
# Functions of one quantised tensor, which lookup.py turns into tables.
_TABLES = ("ABS", "CEIL", "COS", "ELU", "EXP", "FLOOR", "LOG", "NEG", "ROUND", "SIN", "SQRT")
_TABLE = (
    "an 8-bit tensor before and after it (the converter's int8), of one type and shape: the NPU "
    "then computes it with a table"
)


def lines(kinds: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return advice for these operators, and the operators for which there is none."""
    known = INSTEAD | dict.fromkeys(_TABLES, _TABLE)
    names = list(dict.fromkeys(kinds))
    dynamic = [name for name in names if re.fullmatch("|".join(_DYNAMIC), name)]
    advice = [f"instead of {name}: {known[name]}" for name in names if name in known]
    advice += [f"instead of {', '.join(dynamic)}: {_UNROLLED}"] if dynamic else []
    return advice, [name for name in names if name not in (*known, *dynamic)]
