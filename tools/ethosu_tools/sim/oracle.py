# SPDX-License-Identifier: MIT
"""The external reference: TFLite's reference kernels on the original model.

Every result of this project is compared, bit by bit, with the result of LiteRT 1.2.0's reference
kernels (BUILTIN_REF) for the model before Vela. LiteRT 1.3 and later round FULLY_CONNECTED once
where Vela programs the NPU to round twice, so the release is part of the definition and is checked
here; litert.py says which other releases compute the same, and how.
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

# Operators that the reference kernels lack.
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
        """Load a model. Kernels other than `kernels_for`'s are for timing, and for a part of a
        model, which is computed with the whole model's kernels. `here` runs the model in this
        process, for timing; an abort in LiteRT's C++ code then ends this process. `keep`: every
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
        """Invoke the model once; inputs and outputs are raw values, in the model's order."""
        try:
            return self._interpreter.step(inputs)
        except (ValueError, RuntimeError) as error:
            raise InputError(f"LiteRT could not run {self._name}: {_first(error)}") from error

    def tensors(self, numbers: Sequence[int]) -> list[Array]:
        """Return values of the main graph's tensors, by number, after a step with `keep`."""
        try:
            return self._interpreter.tensors(numbers)
        except (ValueError, RuntimeError) as error:
            raise InputError(f"LiteRT has no values of {self._name}: {_first(error)}") from error


def kernels_for(model: ModelFile) -> str:
    """Return the kernels that are the reference for a model's operators."""
    names = {operator.name for graph in model.graphs for operator in graph.operators}
    return REFERENCE if names.isdisjoint(OPTIMISED) else BUILTIN


def check_original(reference: ModelFile, file: ModelFile, *, types: bool = True) -> None:
    """Raise InputError if shapes or types show that a file is not a compiled one's original.

    `types` is False if a float model is compared with its quantised form.
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
    """Refuse all releases except RELEASES and the one that ETHOSU_LITERT names."""
    found = installed()
    if found not in (*RELEASES, os.environ.get("ETHOSU_LITERT")):
        raise SetupError(
            f"the reference is ai-edge-litert {' or '.join(RELEASES)}, but {found} is installed; "
            f"run: {other_python.install('oracle')}"
        )


def _first(error: Exception) -> str:
    """Return the first of LiteRT's sentences, which it joins without spaces."""
    return re.split(r"\.\s*(?=[A-Z])", " ".join(str(error).split()))[0].rstrip(".")
