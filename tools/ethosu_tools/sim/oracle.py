# SPDX-License-Identifier: MIT
"""The external reference: TFLite's reference kernels on the original model.

Every result of this project is compared, bit by bit, with the result of LiteRT 1.2.0's reference
kernels (BUILTIN_REF) for the model before Vela. LiteRT 1.3 and later round FULLY_CONNECTED once
where Vela programs the NPU to round twice, so the release is part of the definition and is checked
here; litert.py says which others compute the same, and how.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..base import other_python
from ..base.errors import InputError, SetupError
from ..model import ModelFile, Tensor, arrays
from ..model.arrays import Array
from .litert import RELEASES, Interpreter, RemoteInterpreter, installed

# Sets of kernels, by LiteRT's names; all run on one thread.
REFERENCE = "BUILTIN_REF"
BUILTIN = "BUILTIN_WITHOUT_DEFAULT_DELEGATES"

# The reference kernels lack these.
OPTIMISED = ("ELU",)


class Oracle:
    """One model under the reference kernels; resource variables keep their state between steps."""

    def __init__(
        self,
        model: bytes | str | Path | ModelFile,
        *,
        kernels: str | None = None,
        here: bool = False,
        keep: bool = False,
    ) -> None:
        """Load a model. Other kernels than those of `kernels_for` are for timing, and for parts of
        a model, which are computed with those of the whole one. `here` runs the model in this
        process, for timing; if LiteRT's C++ code aborts, it then ends this process. `keep`: every
        tensor keeps its values, for `tensors`.
        """
        self._name = "the model" if isinstance(model, bytes) else str(model)
        _check_release()
        file = ModelFile.of(Path(model) if isinstance(model, str) else model)
        try:
            interpreter = Interpreter if here else RemoteInterpreter
            self._interpreter = interpreter(file.data, kernels or kernels_for(file), keep)
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


def check_original(reference: ModelFile, file: ModelFile, *, types: bool = True) -> None:
    """InputError if this cannot be the original of a compiled file, by shapes and types.

    A float model is compared with its quantised form without `types`.
    """
    if not file.description.compiled:
        raise InputError(f"{file} is not compiled: it is its own reference, omit --reference")
    before, after = reference.description, file.description
    if before.compiled:
        raise InputError(f"{reference} is compiled, for {before.npu or 'the CPU'}: not a reference")
    for what, own, others in (
        ("inputs", after.inputs, before.inputs),
        ("outputs", after.outputs, before.outputs),
    ):
        if _kinds(own, types) != _kinds(others, types):
            raise InputError(
                f"{reference} is not the original of {file}: it has {what} {_text(others)}, "
                f"expected {_text(own)}"
            )


def _kinds(tensors: Sequence[Tensor], types: bool) -> list[tuple[tuple[int, ...], str]]:
    return [(tuple(tensor.shape), tensor.dtype if types else "") for tensor in tensors]


def _text(tensors: Sequence[Tensor]) -> str:
    return ", ".join(f"{tensor.dtype} {list(tensor.shape)}" for tensor in tensors) or "none"


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


def _check_release() -> None:
    """Refuse all releases but those, and the one that ETHOSU_LITERT names to be tried."""
    found = installed()
    if found not in (*RELEASES, os.environ.get("ETHOSU_LITERT")):
        raise SetupError(
            f"the reference is ai-edge-litert {' or '.join(RELEASES)}, but {found} is installed; "
            f"run: {other_python.install('oracle')}"
        )


def _first(error: Exception) -> str:
    """The first of the sentences that LiteRT strings together, one for each tensor."""
    return re.split(r"\.\s*(?=[A-Z])", " ".join(str(error).split()))[0].rstrip(".")
