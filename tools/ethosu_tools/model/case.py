# SPDX-License-Identifier: MIT
"""Test cases of a bundled program: inputs and expected outputs of its methods."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .graph import Method, Tensor

Array = NDArray[np.generic]


@dataclass(frozen=True)
class Case:
    """One test of a method; arrays have the sizes that the exporter saw (N, C, H, W)."""

    method: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]

    def arrange(self, method: Method) -> "Case":
        """The same arrays in the program's memory layout: NHWC for channels_last."""

        def ordered(arrays: tuple[Array, ...], values: tuple[int, ...]) -> tuple[Array, ...]:
            if len(arrays) != len(values):
                raise InputError(
                    f"a test case has {len(arrays)} arrays for {len(values)} inputs or outputs"
                )
            return tuple(map(_ordered, arrays, map(method.tensor, values)))

        return Case(
            self.method,
            ordered(self.inputs, method.inputs),
            ordered(self.outputs, method.outputs),
        )


def _ordered(array: Array, tensor: Tensor) -> Array:
    if array.size != math.prod(tensor.sizes) or array.dtype != np.dtype(tensor.dtype):
        raise InputError(
            f"a test case has {array.dtype} {list(array.shape)}, the program {tensor.dtype} "
            f"{list(tensor.sizes)}"
        )
    return np.ascontiguousarray(array.reshape(tensor.sizes).transpose(tensor.order))


def differing(found: Array, expected: Array) -> int:
    """Number of values that differ: integers bit by bit, floats with ExecuTorch's tolerance.

    That is |found - expected| <= 1e-8 + 1e-5 |expected|; the file specifies no other tolerance.
    """
    if np.issubdtype(expected.dtype, np.floating):
        return int(np.count_nonzero(~np.isclose(found, expected, 1e-5, 1e-8, equal_nan=True)))
    return int(np.count_nonzero(found != expected))
