# SPDX-License-Identifier: MIT
"""Cuts some operators out of a `.tflite` and writes them as a model of their own.

The inputs are the tensors that the operators read but none of them writes; the outputs are
tensors that other operators read, and outputs of the whole model. Names, quantisation, options,
weights and versions stay as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...base.errors import InputError
from .. import ModelFile, Operator, reading
from .writer import Graph, kind_of, schema, text, write

# Tensors without values of their own: handles of variables.
_HANDLES = ("resource", "variant")
# Operators that give a variable its handle and its initial values.
_CALL, _HANDLE = "CALL_ONCE", "VAR_HANDLE"


@dataclass(frozen=True)
class Cut:
    """A model made of some operators; all numbers are those of the whole model."""

    data: bytes
    operators: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class Whole:
    """A model before Vela, to cut parts out of."""

    def __init__(self, file: ModelFile) -> None:
        """Read a model."""
        if file.is_program or file.description.npu is not None:
            raise InputError(f"{file} has no layers to cut out: pass the model before Vela")
        self.file = file
        self.graph = file.graph
        self.readers: dict[int, list[int]] = {}
        self.writers: dict[int, int] = {}
        for number, operator in enumerate(self.graph.operators):
            for tensor in operator.inputs:
                self.readers.setdefault(tensor, []).append(number)
            for tensor in operator.outputs:
                self.writers[tensor] = number

    @cached_property
    def _model(self) -> Any:
        with reading(self.file):
            return schema.ModelT.InitFromPackedBuf(self.file.data, 0)

    @property
    def operators(self) -> tuple[Operator, ...]:
        """The operators of the main graph."""
        return self.graph.operators

    @property
    def stateful(self) -> bool:
        """Whether an inference depends on previous ones."""
        variables = any(tensor.variable for tensor in self.graph.tensors)
        return variables or any(operator.name == _HANDLE for operator in self.operators)

    def name(self, number: int) -> str:
        """Return an operator's number, type and output, as in the table of `ethosu compile`."""
        operator = self.operators[number]
        outputs = [self.graph.tensors[index].name for index in operator.outputs[:1]]
        return " ".join([str(number), operator.name, *outputs])

    def options(self, number: int) -> Any:
        """Return an operator's options, with the schema's names of fields; None without options."""
        return self._model.subgraphs[0].operators[number].builtinOptions

    def custom_options(self, number: int) -> bytes | None:
        """Return the options of a custom operator; None without options."""
        found = self._model.subgraphs[0].operators[number].customOptions
        return None if found is None else bytes(bytearray(found))

    def quantisation(self, tensor: int) -> tuple[tuple[float, ...], tuple[int, ...], int]:
        """Return a tensor's scales and zero points, empty if not quantised, and their axis."""
        found = self._model.subgraphs[0].tensors[tensor].quantization
        if found is None or found.scale is None:
            return (), (), 0
        points = () if found.zeroPoint is None else found.zeroPoint
        scales = tuple(map(float, found.scale))
        return scales, tuple(map(int, points)), found.quantizedDimension if scales[1:] else 0

    def has_values(self, tensor: int) -> bool:
        """Whether a tensor is computed, and has values that can be compared."""
        return tensor in self.writers and self.graph.tensors[tensor].dtype not in _HANDLES

    def producers(self, numbers: Iterable[int]) -> set[int]:
        """Return the operators whose outputs these operators read."""
        read = (tensor for number in numbers for tensor in self.operators[number].inputs)
        return {self.writers[tensor] for tensor in read if tensor in self.writers}

    def cut(self, numbers: Collection[int]) -> Cut:
        """Write these operators as a model."""
        kept = self._with_handles(numbers)
        written = {tensor for number in kept for tensor in self.operators[number].outputs}
        read = [t for number in kept for t in self.operators[number].inputs if t >= 0]
        tensors = self.graph.tensors
        stored = {t for t in read if tensors[t].constant or tensors[t].variable}
        inputs = [t for t in dict.fromkeys(read) if t not in written | stored]
        inputs.sort(key=self._position)
        outputs = self._outputs(kept)
        return Cut(self._write(kept, inputs, outputs), tuple(kept), tuple(inputs), tuple(outputs))

    def _with_handles(self, numbers: Collection[int]) -> list[int]:
        needed = self.producers(numbers)
        handles = {number for number in needed if self.operators[number].name == _HANDLE}
        if handles:
            handles |= {n for n, each in enumerate(self.operators) if each.name == _CALL}
        return sorted({*numbers, *handles})

    def _position(self, tensor: int) -> tuple[bool, int]:
        """Return a sort key: inputs of the whole model come first, in their order."""
        known = tensor in self.graph.inputs
        return not known, self.graph.inputs.index(tensor) if known else tensor

    def _outputs(self, kept: list[int]) -> list[int]:
        inside = set(kept)
        written = [
            tensor
            for number in kept
            for tensor in self.operators[number].outputs
            if self.has_values(tensor)
        ]
        outside = {t for t in written if not inside.issuperset(self.readers.get(t, ()))}
        used = [t for t in self.graph.outputs if t in written]
        used += [t for t in written if t in outside and t not in used]
        return used or [t for t in written if t not in self.readers] or written[-1:]

    def _write(self, kept: list[int], inputs: list[int], outputs: list[int]) -> bytes:
        main, *others = self._model.subgraphs
        graph = self._graph(main, kept, inputs, outputs)
        called = any(_calls(operator) for _, operator in graph.operators)
        more = [  # complete
            self._graph(other, range(len(other.operators)), other.inputs, other.outputs)
            for other in (others if called else ())
        ]
        return write([graph, *more], f"operators {_ranges(kept)} of a larger model")

    def _graph(self, subgraph: Any, kept: Iterable[int], inputs: Any, outputs: Any) -> Graph:
        """Return a graph of some operators and the tensors that they use."""
        graph = Graph(text(subgraph.name) or "main")
        operators = [subgraph.operators[number] for number in kept]
        tensors = {*_list(inputs), *_list(outputs)}
        for operator in operators:
            for numbers in (operator.inputs, operator.outputs, operator.intermediates):
                tensors |= {number for number in _list(numbers) if number >= 0}
        order = sorted(tensors)
        places = {number: place for place, number in enumerate(order)} | {-1: -1}
        graph.inputs, graph.outputs = ([places[t] for t in _list(ts)] for ts in (inputs, outputs))
        for number in order:
            tensor = copy(subgraph.tensors[number])
            data = self._model.buffers[tensor.buffer].data
            graph.tensors.append((tensor, b"" if data is None else bytes(data)))
        for operator in operators:
            one = copy(operator)
            for field in ("inputs", "outputs", "intermediates"):
                setattr(one, field, [places[t] for t in _list(getattr(operator, field))])
            code = self._model.operatorCodes[operator.opcodeIndex]
            kind = kind_of(code)
            if not kind:
                number = max(code.builtinCode, code.deprecatedBuiltinCode)
                raise InputError(f"operator code {number} is in no schema of TensorFlow Lite")
            graph.versions[kind] = max(code.version, graph.versions.get(kind, 1))
            graph.operators.append((kind, one))
        return graph


def _calls(operator: Any) -> bool:
    """Whether an operator calls another graph."""
    options = operator.builtinOptions
    return options is not None and any("Subgraph" in name for name in vars(options))


def _list(numbers: Any) -> list[int]:
    return [] if numbers is None else [int(number) for number in numbers]


def _ranges(numbers: list[int]) -> str:
    """Write 1, 2, 3, 7 as "1-3, 7"."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1] = [spans[-1][0], number]
        else:
            spans.append([number])
    return ", ".join("-".join(map(str, span)) for span in spans)
