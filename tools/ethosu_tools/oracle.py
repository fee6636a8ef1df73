# SPDX-License-Identifier: MIT
"""The external reference: TFLite's reference kernels on the original model.

Every result of this project is compared, bit by bit, with the result of LiteRT 1.2.0's reference
kernels (BUILTIN_REF) for the model before Vela. LiteRT 1.3 and later round FULLY_CONNECTED once
where Vela programs the NPU to round twice, so the version is part of the definition and is checked
here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

from . import arrays
from .arrays import Array
from .convert import formats
from .errors import InputError, SetupError
from .files import read_whole
from .litert import Interpreter, RemoteInterpreter
from .model import ModelFile, Tensor

LITERT_VERSION = "1.2.0"

# Sets of kernels, by LiteRT's names; all run on one thread.
REFERENCE = "BUILTIN_REF"
BUILTIN = "BUILTIN_WITHOUT_DEFAULT_DELEGATES"
XNNPACK = "BUILTIN"

# The reference kernels lack ELU, and their SUM adds negative int8 numbers incorrectly.
OPTIMISED = ("ELU", "SUM")


class Oracle:
    """One model under the reference kernels; resource variables keep their state between steps."""

    def __init__(
        self,
        model: bytes | str | Path | ModelFile,
        *,
        kernels: str = REFERENCE,
        here: bool = False,
        keep: bool = False,
    ) -> None:
        """Load a model. Kernels other than the reference are for timing, and for the few
        operators that the reference kernels lack or compute wrongly. `here` runs the model in this
        process, for timing; if LiteRT's C++ code aborts, it then ends this process. `keep`: every
        tensor keeps its values, for `tensors`.
        """
        self._name = "the model" if isinstance(model, bytes) else str(model)
        _check_version()
        if isinstance(model, ModelFile):
            content = model.data
        else:
            content = model if isinstance(model, bytes) else read_whole(Path(model))
        kind = formats.of(content, Path(self._name).suffix.lower())
        if kind:
            raise InputError(kind.message(Path(self._name)))
        if not content:
            raise InputError(f"{self._name} is empty")
        try:
            interpreter = Interpreter if here else RemoteInterpreter
            self._interpreter = interpreter(content, kernels, keep)
        except (ValueError, RuntimeError) as error:
            raise InputError(f"LiteRT rejected {self._name}: {_first(error)}") from error
        self.inputs, self.outputs = (
            [Tensor(*detail) for detail in details] for details in self._interpreter.details
        )

    def step(self, inputs: Sequence[Array]) -> list[Array]:
        """One invocation: raw quantised inputs in the model's order, raw quantised outputs."""
        try:
            return self._interpreter.step(inputs)
        except (ValueError, RuntimeError) as error:
            raise InputError(f"LiteRT could not run {self._name}: {_first(error)}") from error

    def tensors(self, numbers: Sequence[int]) -> list[Array]:
        """Values of tensors of the main graph, by number, after a step with `keep`."""
        try:
            return self._interpreter.tensors(numbers)
        except (ValueError, RuntimeError) as error:
            raise InputError(f"LiteRT has no values of {self._name}: {_first(error)}") from error


def kernels_for(model: ModelFile) -> str:
    """The kernels that are the reference for a model's operators."""
    names = {operator.name for graph in model.graphs for operator in graph.operators}
    return REFERENCE if names.isdisjoint(OPTIMISED) else BUILTIN


def run(
    model: bytes | str | Path,
    inputs: Mapping[str, Array] | Sequence[Array],
    steps: int | None = None,
) -> dict[str, Array]:
    """Run `model` from its initial state and return its outputs, keyed "0", "1", ….

    `inputs` has the same keys, or is a list in the model's order; time axes and `steps` are those
    of `arrays.check`. The state of resource variables is kept between steps.
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


def _check_version() -> None:
    installed = _litert_version()
    if installed != LITERT_VERSION:
        raise SetupError(
            f"the reference is ai-edge-litert {LITERT_VERSION}, but {installed} is installed; "
            f"install it with: pip install ai-edge-litert=={LITERT_VERSION}"
        )


def _first(error: Exception) -> str:
    """The first of the sentences that LiteRT strings together, one for each tensor."""
    return re.split(r"\.\s*(?=[A-Z])", " ".join(str(error).split()))[0].rstrip(".")
