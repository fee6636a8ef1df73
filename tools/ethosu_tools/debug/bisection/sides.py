# SPDX-License-Identifier: MIT
"""The two sides of a comparison: each a model, a way to compute it, and the resulting values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...base.errors import InputError
from ...model import ModelFile, Tensor
from ...model.arrays import Array
from ...model.tflite.cut import Whole
from ...sim.difference import Difference
from ...sim.oracle import Oracle
from .observe import Record, record, values
from .ways import Npu, Outcome, Reference, Steps, Way

# Values of tensors, by number, for each step.
Known = dict[int, list[Array]]


@dataclass
class Side:
    """A model, and its values after a run.

    way: computes parts of `whole` as this side does; None if only `compiled` can be run. whole: the
    model before Vela, if known. distrusted: tensors whose observed values may be those of other
    tensors. guess: how a compiled file may have been compiled.
    """

    title: str
    file: ModelFile
    whole: Whole | None
    way: Way | None
    compiled: ModelFile | None = None
    outcome: Outcome = field(default_factory=list)
    known: Known = field(default_factory=dict)
    distrusted: set[int] = field(default_factory=set)
    seen: Record | None = None
    guess: Npu | None = None
    steps: list[list[Array]] = field(default_factory=list)

    @classmethod
    def of_source(cls, file: ModelFile, way: Way) -> Side:
        """Make a side of a model before Vela."""
        return cls(way.title, file, Whole(file), way)

    @classmethod
    def of_compiled(cls, file: ModelFile, whole: Whole | None) -> Side:
        """Make a side of a compiled model; `whole` is its source.

        InputError: `whole` cannot be the source, because its inputs or outputs differ.
        """
        if whole:
            _check_source(file, whole.file)
        release = file.vela_version
        title = f"{file} ({file.description.npu or 'CPU'}, Vela {release or 'unknown'})"
        return cls(title, file, whole, None, compiled=file)

    @property
    def inputs(self) -> Sequence[Tensor]:
        """The model's inputs."""
        return self.file.description.inputs

    @cached_property
    def contents(self) -> Whole:
        """The model before Vela."""
        if self.whole is None:
            raise InputError(f"{self.file}: pass the model before Vela with --source")
        return self.whole

    def run(self, steps: list[list[Array]]) -> None:
        """Compute the whole model, and keep all values that can be seen."""
        self.steps = steps
        if isinstance(self.way, Reference):
            self.outcome, self.known = reference_values(self.contents, steps)
            return
        if isinstance(self.way, Npu) and self.compiled is None:
            try:
                self.compiled = self.way.compile(self.file)
            except InputError as error:
                if error.several_lines:  # then no NPU here can run the model
                    raise
                self.outcome = str(error)
                return
        assert self.compiled is not None
        self.seen = record(self.compiled, steps)
        self.outcome = self.seen.outcome
        if self.whole and not isinstance(self.outcome, str):
            self.known = values(self.seen, self.compiled, self.whole)
            self.known.update(_outputs(self.whole, self.outcome))

    def learn(self, npu: Npu) -> None:
        """Compile the whole model of a compiled file again with this Vela.

        If that gives the same file, parts of the model can be compiled, too. If not, only observed
        values that equal the reference's in the new file can be trusted.
        """
        self.guess = npu
        if self.whole is None or isinstance(self.outcome, str):
            return
        fresh = Side(npu.title, self.whole.file, self.whole, npu)
        fresh.run(self.steps)
        if isinstance(fresh.outcome, str):
            return
        if not Difference.of_outputs(fresh.outcome, self.outcome).differing:
            self.way = npu
            return
        try:
            _, wanted = reference_values(self.whole, self.steps)
        except InputError:
            return
        shown = {
            tensor: compared(wanted[tensor], fresh.known.get(tensor, ()))
            for tensor in self.known.keys() - {*self.whole.graph.outputs}
        }
        self.distrusted = {t for t, each in shown.items() if each is None or each.differing}


def compared(
    expected: Sequence[Array],
    found: Sequence[Array],
    tensors: tuple[Tensor, Tensor] | None = None,
    tolerance: float | None = None,
) -> Difference | None:
    """Compare side B's values, `found`, with side A's; None if their numbers differ.

    The shapes of a tensor may differ between two models, and its type, whose raw values count then.
    """
    sizes = [[each.size for each in side] for side in (expected, found)]
    if sizes[0] != sizes[1] or not sum(sizes[0]):
        return None
    ours: Sequence[Array] = [np.reshape(b, a.shape) for a, b in zip(expected, found, strict=True)]
    theirs = expected
    if tolerance is None and [a.dtype for a in theirs] != [b.dtype for b in ours]:
        ours, theirs = ([each.astype(np.float64) for each in side] for side in (ours, theirs))
    return Difference.of(ours, theirs, tensors and tensors[::-1], tolerance)


def _check_source(file: ModelFile, source: ModelFile) -> None:
    """Check the inputs and outputs; an exporter may permute axes, but keeps the sizes."""
    own, before = file.description, source.description
    for what, found, wanted in (
        ("inputs", before.inputs, own.inputs),
        ("outputs", before.outputs, own.outputs),
    ):
        if [math.prod(each.shape) for each in found] != [math.prod(each.shape) for each in wanted]:
            raise InputError(
                f"{file} was not compiled from {source}, whose {what} have the shapes "
                f"{_shapes(found)}: expected {_shapes(wanted)}"
            )


def _shapes(tensors: Sequence[Tensor]) -> str:
    return ", ".join(str(list(tensor.shape)) for tensor in tensors) or "none"


def reference_values(whole: Whole, steps: Steps) -> tuple[Outcome, Known]:
    """Run TFLite's kernels; returns the outputs and all values, including the inputs."""
    oracle = Oracle(whole.file, keep=True)
    numbers = [t for t in range(len(whole.graph.tensors)) if whole.has_values(t)]
    known: Known = {tensor: [] for tensor in (*numbers, *whole.graph.inputs)}
    outcome = []
    for step in steps:
        outcome.append(oracle.step(step))
        rows = zip((*numbers, *whole.graph.inputs), (*oracle.tensors(numbers), *step), strict=True)
        for tensor, array in rows:
            known[tensor].append(array)
    return outcome, known


def match(a: Whole, b: Whole) -> dict[int, int]:
    """Match layers of a and b: by position if all types are equal, else by name."""
    if [each.name for each in a.operators] == [each.name for each in b.operators]:
        return {number: number for number in range(len(a.operators))}
    names = [_unique(each) for each in (a, b)]
    return {names[0][name]: names[1][name] for name in names[0] if name in names[1]}


def is_same_structure(a: Whole, b: Whole) -> bool:
    """Whether the models differ at most in contents and quantisation."""

    def shape(whole: Whole) -> object:
        tensors = [(each.shape, each.dtype) for each in whole.graph.tensors]
        return tensors, [(each.name, each.arguments) for each in whole.operators]

    return shape(a) == shape(b)


def _unique(whole: Whole) -> Mapping[str, int]:
    """Map layers by the name of their only output, if the name is unique."""
    tensors = whole.graph.tensors
    names = [tensor.name for tensor in tensors]
    return {
        tensors[operator.outputs[0]].name: number
        for number, operator in enumerate(whole.operators)
        if len(operator.outputs) == 1 and names.count(tensors[operator.outputs[0]].name) == 1
    }


def _outputs(whole: Whole, outcome: Sequence[Sequence[Array]]) -> Known:
    numbers = whole.graph.outputs
    columns = zip(*outcome, strict=True)
    return {
        tensor: [each.reshape(whole.graph.tensors[tensor].shape) for each in column]
        for tensor, column in zip(numbers, columns, strict=True)
    }
