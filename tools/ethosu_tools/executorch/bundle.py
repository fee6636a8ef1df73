# SPDX-License-Identifier: MIT
"""Bundled programs (.bpte): a program, and inputs and expected outputs of its methods.

Source: schema/bundled_program_schema.fbs of pytorch/executorch 1.5. A bundle holds its tensors with
the dimensions in the order of their sizes, whatever order the program has.
"""

import math
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..errors import InputError
from .program import DTYPES, Method, Tensor
from .tables import F64, I8, I32, I64, U8, Row

IDENTIFIER = b"BP08"
_TENSOR = 1
_SCALARS = {2: ("int64", I64), 3: ("bool", U8), 4: ("float64", F64)}


@dataclass(frozen=True)
class Case:
    """One test of a method; arrays have the sizes that the exporter saw (N, C, H, W)."""

    method: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]

    def arrange(self, method: Method) -> "Case":
        """The same arrays as the program has them in memory: NHWC for channels_last."""

        def ordered(arrays: tuple[Array, ...], values: tuple[int, ...]) -> tuple[Array, ...]:
            if len(arrays) != len(values):
                raise InputError(f"a case has {len(arrays)} arrays for {len(values)} ends")
            return tuple(map(_ordered, arrays, map(method.tensor, values)))

        return Case(
            self.method,
            ordered(self.inputs, method.inputs),
            ordered(self.outputs, method.outputs),
        )


def _ordered(array: Array, tensor: Tensor) -> Array:
    if array.size != math.prod(tensor.sizes) or array.dtype != np.dtype(tensor.dtype):
        raise InputError(
            f"a case has {array.dtype} {list(array.shape)}, the program {tensor.dtype} "
            f"{list(tensor.sizes)}"
        )
    return np.ascontiguousarray(array.reshape(tensor.sizes).transpose(tensor.order))


def differing(found: Array, expected: Array) -> int:
    """How many values differ: bit by bit for integers, as ExecuTorch compares for floats.

    That is |found - expected| <= 1e-8 + 1e-5 |expected|; the file names no other tolerance.
    """
    if np.issubdtype(expected.dtype, np.floating):
        return int(np.count_nonzero(~np.isclose(found, expected, 1e-5, 1e-8, equal_nan=True)))
    return int(np.count_nonzero(found != expected))


@dataclass(frozen=True)
class Bundle:
    """A program, and its cases."""

    program: bytes
    cases: tuple[Case, ...]

    @classmethod
    def parse(cls, data: bytes) -> "Bundle":
        """Read a file."""
        if data[4:8] != IDENTIFIER:
            raise InputError(
                f"not a bundled program: expected {IDENTIFIER!r} at byte 4, found {data[4:8]!r}"
            )
        root = Row.root(data)
        cases = tuple(
            Case(suite.text(0), _values(case, 0), _values(case, 1))
            for suite in root.tables(1)
            for case in suite.tables(1)
        )
        return cls(bytes(root.contents(2)), cases)


def _values(case: Row, field: int) -> tuple[Array, ...]:
    return tuple(_value(*row.union(0)) for row in case.tables(field))


def _value(kind: int, row: Row | None) -> Array:
    if row is not None and kind in _SCALARS:
        dtype, flags = _SCALARS[kind]
        return np.array(row.number(0, flags), dtype)
    if row is None or kind != _TENSOR:
        raise InputError(f"a value of a case has type {kind}")
    number = row.number(0, I8)
    if number not in DTYPES:
        raise InputError(f"a tensor of a case has type {number}")
    sizes, order = row.numbers(1, I32), row.numbers(3, U8)
    if sorted(order) != list(range(len(sizes))):
        raise InputError(f"a tensor of a case has {len(sizes)} dimensions in the order {order}")
    stored = np.frombuffer(row.contents(2), DTYPES[number]).reshape([sizes[i] for i in order])
    return np.ascontiguousarray(stored.transpose(np.argsort(order)))
