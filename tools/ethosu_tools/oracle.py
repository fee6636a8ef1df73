# SPDX-License-Identifier: MIT
"""The outside reference: TFLite's reference kernels on the original model.

Every result of this project is compared, bit by bit, with what LiteRT 1.2.0 computes with its
reference kernels (BUILTIN_REF) from the model as it was before Vela. LiteRT 1.3 and later round
FULLY_CONNECTED once where Vela programs the NPU to round twice, so the version is part of the
definition and is checked here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from . import arrays
from .arrays import Array
from .errors import InputError, SetupError
from .tflite import Tensor

LITERT_VERSION = "1.2.0"

# Sets of kernels, in LiteRT's words; all run on one thread.
REFERENCE = "BUILTIN_REF"
BUILTIN = "BUILTIN_WITHOUT_DEFAULT_DELEGATES"
XNNPACK = "BUILTIN"


class Oracle:
    """One model under the reference kernels; resource variables keep their state between steps."""

    def __init__(self, model: bytes | str | Path, *, kernels: str = REFERENCE) -> None:
        """Load a model; other kernels than the reference serve to measure time, and the few
        operators that the reference kernels lack or compute wrongly.
        """
        self._name = "the model" if isinstance(model, bytes) else str(model)
        self._interpreter = _interpreter(model, self._name, kernels)
        inputs = self._interpreter.get_input_details()
        outputs = self._interpreter.get_output_details()
        self.inputs = [_tensor(detail) for detail in inputs]
        self.outputs = [_tensor(detail) for detail in outputs]
        self._input_ids = [detail["index"] for detail in inputs]
        self._output_ids = [detail["index"] for detail in outputs]

    def step(self, inputs: Sequence[Array]) -> list[Array]:
        """One invocation: raw quantised inputs in the model's order, raw quantised outputs."""
        try:
            for index, array in zip(self._input_ids, inputs, strict=True):
                self._interpreter.set_tensor(index, np.ascontiguousarray(array))
            self._interpreter.invoke()
        except (ValueError, RuntimeError) as error:
            raise InputError(f"LiteRT could not run {self._name}: {_one_line(error)}") from error
        return [self._interpreter.get_tensor(index) for index in self._output_ids]


def run(
    model: bytes | str | Path,
    inputs: Mapping[str, Array] | Sequence[Array],
    steps: int | None = None,
) -> dict[str, Array]:
    """Run `model` from its initial state and return its outputs, keyed "0", "1", ….

    `inputs` is keyed alike, or a list in the model's order; time axes and `steps` are those of
    `arrays.check`. The state of resource variables is kept from step to step.
    """
    oracle = Oracle(model)
    if not isinstance(inputs, Mapping):
        inputs = {str(position): array for position, array in enumerate(inputs)}
    feed = arrays.check(inputs, oracle.inputs, steps)
    rows = [oracle.step(feed.step(index)) for index in range(feed.steps)]
    return arrays.collect(rows, has_time=feed.has_time)


def _litert_version() -> str:
    try:
        return metadata.version("ai-edge-litert")
    except metadata.PackageNotFoundError:
        return "none"


def _interpreter(model: bytes | str | Path, name: str, kernels: str) -> Any:
    found = _litert_version()
    if found != LITERT_VERSION:
        raise SetupError(
            f"the reference is ai-edge-litert {LITERT_VERSION}, but {found} is installed; "
            f"install it with: pip install ai-edge-litert=={LITERT_VERSION}"
        )
    # Imported here so that commands that need no reference start without LiteRT.
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    try:
        content = model if isinstance(model, bytes) else Path(model).read_bytes()
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}") from error
    if not content:
        raise InputError(f"{name} is empty")
    try:
        interpreter = Interpreter(
            model_content=content,
            experimental_op_resolver_type=OpResolverType[kernels],
            num_threads=1,
        )
        interpreter.allocate_tensors()
    except (ValueError, RuntimeError) as error:
        raise InputError(f"LiteRT does not take {name}: {_one_line(error)}") from error
    return interpreter


def _tensor(detail: Mapping[str, Any]) -> Tensor:
    scale, zero_point = detail["quantization"]
    shape = tuple(int(size) for size in detail["shape"])
    dtype = np.dtype(detail["dtype"]).name
    return Tensor(detail["name"], shape, dtype, float(scale), int(zero_point))


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")
