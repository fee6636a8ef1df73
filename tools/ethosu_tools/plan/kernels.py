# SPDX-License-Identifier: MIT
"""The CPU kernels of the runtime, as the planner must know them.

The C side of this table is modules/ethosu/model/kernels: `kernels.def` has the names, each
`struct kernel` its version, its scratch, and whether it may work in place. A size that differs from
the C one is a defect which shows as soon as a model is loaded; a size that changes on purpose
changes the kernel's version on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..errors import InputError
from .graph import INT8, Tensor

# Bytes of scratch, from an operator's inputs.
Scratch = Callable[[Sequence[Tensor | None]], int]


@dataclass(frozen=True)
class Kernel:
    """What the planner knows of a kernel."""

    scratch: Scratch
    in_place: bool = False  # its output may lie exactly where an input of the same size lies
    version: int = 1


def _get(inputs: Sequence[Tensor | None], index: int) -> Tensor:
    """An input that the operator must have."""
    found = inputs[index] if index < len(inputs) else None
    if found is None:
        raise InputError(f"an operator lacks its input {index}")
    return found


def _none(_: Sequence[Tensor | None]) -> int:
    return 0


def _conv_2d(inputs: Sequence[Tensor | None]) -> int:
    """One gathered window; a 1 x 1 filter reads the image itself."""
    image, filters = _get(inputs, 0), _get(inputs, 1)
    _, height, width, depth = filters.shape
    return 0 if height * width == 1 else height * width * depth * image.element_size


def _softmax(inputs: Sequence[Tensor | None]) -> int:
    """The exponentials of a row; int16 keeps them in the output."""
    logits = _get(inputs, 0)
    return 4 * logits.shape[-1] if logits.type == INT8 else 0


_CANDIDATE_BYTES = 24  # a box, its score, its place in the order


def _detection(inputs: Sequence[Tensor | None]) -> int:
    """A candidate for each box."""
    return _CANDIDATE_BYTES * _get(inputs, 0).shape[1]


_PLAIN = """
    ARG_MAX ARG_MIN AVERAGE_POOL_2D BATCH_MATMUL CAST CONCATENATION DEPTHWISE_CONV_2D DEQUANTIZE
    EQUAL FULLY_CONNECTED GATHER GREATER GREATER_EQUAL LESS LESS_EQUAL MAX_POOL_2D MEAN NOT_EQUAL
    PAD PADV2 QUANTIZE RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR SELECT_V2 SLICE SPLIT SPLIT_V
    STRIDED_SLICE SUM SVDF TRANSPOSE TRANSPOSE_CONV
"""
_IN_PLACE = """
    ADD HARD_SWISH LEAKY_RELU LOGISTIC MAXIMUM MINIMUM MUL PRELU RELU RELU6 RELU_0_TO_1
    RELU_N1_TO_1 SUB TANH
"""

KERNELS: dict[str, Kernel] = {
    **{name: Kernel(_none) for name in _PLAIN.split()},
    **{name: Kernel(_none, in_place=True) for name in _IN_PLACE.split()},
    "CONV_2D": Kernel(_conv_2d),
    "SOFTMAX": Kernel(_softmax),
    "TFLite_Detection_PostProcess": Kernel(_detection),
}

# What the runtime does itself, without a kernel; the first three only rename bytes.
RENAMING = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS")
STATEFUL = ("CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE")
RUNTIME_OPERATORS = (*RENAMING, *STATEFUL)


def scratch_bytes(name: str, inputs: Sequence[Tensor | None]) -> int:
    """Bytes of scratch that the kernel of an operator needs."""
    return KERNELS[name].scratch(inputs)
