# SPDX-License-Identifier: MIT
"""The CPU kernels of the runtime, as the planner must know them.

Their names, versions and properties are those of modules/ethosu/runtime/kernels/kernels.def. The
size of the scratch that some kernels need is computed here as in their C sources; a size that
differs is refused when the model is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .. import paths
from ..errors import InputError
from .graph import INT8, Graph, Operator, Tensor

# Bytes of scratch, from an operator and its inputs.
Scratch = Callable[[Operator, Sequence[Tensor | None]], int]


@dataclass(frozen=True)
class Kernel:
    """What the planner knows of a kernel."""

    scratch: Scratch
    in_place: bool = False  # its output may lie exactly where an input of the same size lies
    version: int = 1
    cmsis_nn: Scratch | None = None  # in a build where CMSIS-NN computes it


# In the version of a kernel that CMSIS-NN computes.
CMSIS_NN = 0x100


def _get(inputs: Sequence[Tensor | None], index: int) -> Tensor:
    """An input that the operator must have."""
    found = inputs[index] if index < len(inputs) else None
    if found is None:
        raise InputError(f"an operator lacks its input {index}")
    return found


def _none(_: Operator, __: Sequence[Tensor | None]) -> int:
    return 0


def _conv_2d(_: Operator, inputs: Sequence[Tensor | None]) -> int:
    """One gathered window; a 1 x 1 filter reads the image itself."""
    image, filters = _get(inputs, 0), _get(inputs, 1)
    height, width, depth = filters.shape[1:]
    return 0 if height * width == 1 else height * width * depth * image.element_size


def _softmax(_: Operator, inputs: Sequence[Tensor | None]) -> int:
    """The exponentials of a row; int16 keeps them in the output."""
    logits = _get(inputs, 0)
    return 4 * logits.shape[-1] if logits.type == INT8 else 0


_CANDIDATE_BYTES = 24  # a box, its score, its place in the order


def _detection(_: Operator, inputs: Sequence[Tensor | None]) -> int:
    """A candidate for each box."""
    return _CANDIDATE_BYTES * _get(inputs, 0).shape[1]


# With CMSIS-NN: as modules/ethosu/runtime/kernels/cmsis_nn_scratch.c computes it.
_WINDOWS, _VECTOR = 4, 16  # inputs that it gathers at once, bytes of a vector
_CHANNEL_BLOCK = 124  # channels of a depthwise convolution
_TAIL = 8  # behind the inputs of a depthwise convolution of int16
_SUM_BYTES = 4
_DEPTH_TO_REVERSE = 16  # from more channels on TRANSPOSE_CONV becomes a convolution


def _gathered(places: int, depth: int, element_size: int) -> int:
    return _WINDOWS * (-(-places * depth * element_size // _VECTOR) * _VECTOR)


def _cmsis_nn_conv_2d(_: Operator, inputs: Sequence[Tensor | None]) -> int:
    """Windows of whole vectors; a 1 x 1 filter of int8 reads the image itself."""
    image, filters = _get(inputs, 0), _get(inputs, 1)
    places = filters.shape[1] * filters.shape[2]
    if places == 1 and image.type == INT8:
        return 0
    return _gathered(places, image.shape[3], image.element_size)


def _cmsis_nn_depthwise_conv_2d(_: Operator, inputs: Sequence[Tensor | None]) -> int:
    """Windows of a block of channels; of one channel those of CONV_2D, and weights transposed."""
    image, filters = _get(inputs, 0), _get(inputs, 1)
    height, width, channels = filters.shape[1:]
    depth = image.shape[3]
    if image.type != INT8:
        size = _WINDOWS * height * width * depth * image.element_size + _TAIL
        return size if channels == depth else 0
    if depth == 1 < channels:
        return _gathered(height * width, 1, 1) + height * width * channels
    return _WINDOWS * _CHANNEL_BLOCK * height * width if channels == depth else 0


def _cmsis_nn_fully_connected(_: Operator, inputs: Sequence[Tensor | None]) -> int:
    """What biases and zero points add to each sum."""
    row, filters = _get(inputs, 0), _get(inputs, 1)
    return _SUM_BYTES * filters.shape[0] if row.type == INT8 else 0


def _cmsis_nn_transpose_conv(operator: Operator, inputs: Sequence[Tensor | None]) -> int:
    """Windows and reversed filters, or the sums of the lines that a line of the input reaches."""
    filters, image = _get(inputs, 1), _get(inputs, 2)
    count, height, width, depth = filters.shape
    if image.type != INT8:
        return 0
    if max(operator.stride) <= 2 and depth > _DEPTH_TO_REVERSE:
        return _gathered(height * width, depth, 1) + height * width * depth * count
    columns = (image.shape[2] - 1) * operator.stride[1] + max(width, *operator.stride)
    return columns * max(height, operator.stride[0]) * count * _SUM_BYTES


_SCRATCH: dict[str, Scratch] = {
    "CONV_2D": _conv_2d,
    "SOFTMAX": _softmax,
    "DETECTION_POSTPROCESS": _detection,
}
_CMSIS_NN_SCRATCH: dict[str, Scratch] = {
    "CONV_2D": _cmsis_nn_conv_2d,
    "DEPTHWISE_CONV_2D": _cmsis_nn_depthwise_conv_2d,
    "FULLY_CONNECTED": _cmsis_nn_fully_connected,
    "TRANSPOSE_CONV": _cmsis_nn_transpose_conv,
}
_CUSTOM_NAMES = {"DETECTION_POSTPROCESS": "TFLite_Detection_PostProcess"}


def _read_kernels() -> dict[str, Kernel]:
    """The rows of kernels.def by the operator's name in a model."""
    table = paths.root() / "modules/ethosu/runtime/kernels/kernels.def"
    rows = re.findall(r"^KERNEL\((\w+), (\d+), (\w+)\)", table.read_text(), re.MULTILINE)
    return {
        _CUSTOM_NAMES.get(name, name): Kernel(
            _SCRATCH.get(name, _none),
            in_place=column == "IN_PLACE",
            version=int(version),
            cmsis_nn=_CMSIS_NN_SCRATCH[name] if column == "CMSIS_NN" else None,
        )
        for name, version, column in rows
    }


KERNELS = _read_kernels()

# What the runtime does itself, without a kernel; the first three only rename bytes.
RENAMING = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS")
STATEFUL = ("CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE")
RUNTIME_OPERATORS = (*RENAMING, *STATEFUL)


def scratch_bytes(operator: Operator, graph: Graph) -> int:
    """Bytes of scratch that the kernel of an operator needs."""
    kernel = KERNELS[operator.name]
    scratch = kernel.cmsis_nn if graph.cmsis_nn and kernel.cmsis_nn else kernel.scratch
    return scratch(operator, graph.tensors_of(operator))


def kernel_version(operator: Operator, graph: Graph) -> int:
    """The version that the plan names, so that another kernel's scratch is not taken for it."""
    kernel = KERNELS[operator.name]
    return kernel.version + (CMSIS_NN if graph.cmsis_nn and kernel.cmsis_nn else 0)
