# SPDX-License-Identifier: MIT
"""Test cases of a bundled program: inputs and expected outputs of its methods."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError
from .graph import Method, Tensor

Array = NDArray[np.generic]


@dataclass(frozen=True)
class Case:
    """One test of a method; arrays have the sizes that the exporter saw (N, C, H, W)."""

    method: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]

    def arrange(self, method: Method) -> "Case":
        """Return the case with arrays in the program's memory layout: NHWC for channels_last."""

        def ordered(arrays: tuple[Array, ...], values: tuple[int, ...]) -> tuple[Array, ...]:
            if len(arrays) != len(values):
                raise InputError(
                    f"a test case has {len(arrays)} arrays for {len(values)} inputs or outputs"
                )
            return tuple(
                _ordered(array, method.tensor(value))
                for array, value in zip(arrays, values, strict=True)
                if not (values is method.inputs and _is_fixed(array, method, value))
            )

        return Case(
            self.method,
            ordered(self.inputs, method.inputs),
            ordered(self.outputs, method.outputs),
        )


def _is_fixed(array: Array, method: Method, value: int) -> bool:
    """Whether an input is a number that the exporter fixed; the case must have the same number."""
    if value in method.input_tensors:
        return False
    fixed = method.value(value).content
    if array.shape != () or array.item() != fixed:
        raise InputError(
            f"a test case has {array.tolist()} for an input that the program fixes at {fixed}"
        )
    return True


def _ordered(array: Array, tensor: Tensor) -> Array:
    if array.size != math.prod(tensor.sizes) or array.dtype != np.dtype(tensor.dtype):
        raise InputError(
            f"a test case has {array.dtype} {list(array.shape)}, the program {tensor.dtype} "
            f"{list(tensor.sizes)}"
        )
    return np.asarray(array.reshape(tensor.sizes).transpose(tensor.order), order="C")
