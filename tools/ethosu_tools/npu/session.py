# SPDX-License-Identifier: MIT
"""A compiled model on the functional NPU, driven by registers as a driver would."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from .. import payload, tflite
from ..errors import InputError
from .hardware import STATUS_END, FeatureMap, Memory, Npu, NpuError, Operation, Outcome, Register
from .program import Operator, command_stream, parse

_ALIGNMENT = 16
NPU_OPERATOR = "ethos-u"


class Session:
    """A compiled model on the functional NPU; resource variables keep their state."""

    def __init__(
        self,
        model: Path | bytes,
        config: str | None = None,
        arena_fill: int = 0xA5,
        *,
        skip_cpu: bool = False,
    ) -> None:
        """Load a compiled model.

        `config` is another NPU than the model's own; `arena_fill` is what memory holds before the
        first inference. Operators that Vela left on the CPU are refused, or with `skip_cpu` left
        out: what they would write stays as it was.
        """
        self._skip_cpu = skip_cpu
        data = model if isinstance(model, bytes) else tflite.read(model)
        self._graphs = parse(data)
        self._main = self._graphs[0]
        self.npu = Npu(config or self._compiled_for())
        self._variables: dict[bytes, np.ndarray] = {}
        self._handles: dict[tuple[int, int], bytes] = {}
        self._constants: dict[tuple[int, int], Memory] = {}
        self.bases: list[int] = []
        self._arena = self.npu.add(self._arena_size())
        self._arena.data[:] = arena_fill
        # By graph and tensor: the graphs that CALL_ONCE runs share the arena with the main one.
        self._places: dict[tuple[int, int], tuple[Memory, int]] = {}
        for graph in range(len(self._graphs)):
            self._place_tensors(graph)
        self._initialise_variables()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.npu.close()

    @property
    def inputs(self) -> list[tuple[tuple[int, ...], str]]:
        """Shape and type of every input."""
        return [
            (self._main.tensors[i].shape, self._main.tensors[i].dtype) for i in self._main.inputs
        ]

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """One inference: raw quantised inputs in the model's order, raw quantised outputs."""
        self._feed(inputs)
        for operator in self._main.operators:
            self._run_operator(0, operator)
        return self.outputs()

    def outputs(self) -> list[np.ndarray]:
        """The outputs of the last inference."""
        return [self._value(index) for index in self._main.outputs]

    def steps(self, inputs: Sequence[np.ndarray]) -> Iterator[Operation]:
        """One inference, operation by operation: the NPU stands still after each one it yields.

        Meanwhile `feature_map` shows what the operation made; when all are done, `outputs` are.
        """
        self._feed(inputs)
        seen: list[Operation] = []
        self.npu.observe(seen.append)
        try:
            for operator in self._main.operators:
                if operator.name != NPU_OPERATOR:
                    self._run_operator(0, operator)
                    continue
                for _ in self._execute(0, operator, operations=1):
                    yield seen[-1]
        finally:
            self.npu.observe(None)

    def trace(self, inputs: Sequence[np.ndarray]) -> list[Operation]:
        """One inference; returns the operations that it took."""
        return list(self.steps(inputs))

    def feature_map(self, map_: FeatureMap) -> np.ndarray:
        """Copy a feature map of the current operation: [height, width, depth], raw values."""
        return self.npu.feature_map(map_, self.bases)

    def _feed(self, inputs: Sequence[np.ndarray]) -> None:
        if len(inputs) != len(self._main.inputs):
            raise InputError(f"the model has {len(self._main.inputs)} inputs, {len(inputs)} came")
        for index, array in zip(self._main.inputs, inputs, strict=True):
            tensor = self._main.tensors[index]
            if array.shape != tensor.shape or array.dtype != tensor.dtype:
                raise InputError(
                    f"input {tensor.name} must be {tensor.dtype} {tensor.shape}, "
                    f"found {array.dtype} {array.shape}"
                )
            self._view(index)[:] = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)

    # Placement

    def _compiled_for(self) -> str:
        content = next(
            (
                self._main.tensors[operator.inputs[0]].content
                for operator in self._main.operators
                if operator.name == NPU_OPERATOR
            ),
            None,
        )
        if content is None:
            raise InputError("the model was never compiled for an NPU")
        return payload.read(content).npu

    def _arena_size(self) -> int:
        tensors = [tensor for graph in self._graphs for tensor in graph.tensors]
        ends = [t.offset + max(t.size, 1) for t in tensors if t.offset >= 0]
        return -(-max(ends, default=1) // _ALIGNMENT) * _ALIGNMENT

    def _place_tensors(self, graph: int) -> None:
        for operator in self._graphs[graph].operators:
            if operator.name == NPU_OPERATOR:
                self._place_apart(graph, operator)
        for index, tensor in enumerate(self._graphs[graph].tensors):
            place = (graph, index)
            if place in self._places:
                continue
            if tensor.content:
                self._places[place] = (self.npu.add(tensor.content, writable=False), 0)
            elif tensor.offset < 0 and tensor.size:
                self._places[place] = (self.npu.add(tensor.size), 0)
            else:
                self._places[place] = (self._arena, max(tensor.offset, 0))
            if tensor.variable:
                self._view(index, graph).view(tensor.dtype)[:] = tensor.zero_point

    def _place_apart(self, graph: int, operator: Operator) -> None:
        """Place what Vela plans from 0 on, without regard to the arena.

        That is a fast scratch of its own (Dedicated_Sram), and separate inputs and outputs.
        """
        stream, _, scratch, fast, *inputs = operator.inputs
        if fast != scratch:
            self._place_together(graph, [fast])
        if self._has_separate_io(graph, stream):
            self._place_together(graph, inputs)
            self._place_together(graph, operator.outputs)

    def _has_separate_io(self, graph: int, stream: int) -> bool:
        return payload.read(self._graphs[graph].tensors[stream].content).separate_io

    def _place_together(self, graph: int, indices: Sequence[int]) -> None:
        tensors = [self._graphs[graph].tensors[index] for index in indices]
        end = max(tensor.offset + tensor.size for tensor in tensors)
        # Vela may fill an output with zeros beyond its end, up to a multiple of 16.
        memory = self.npu.add(-(-end // _ALIGNMENT) * _ALIGNMENT)
        for index, tensor in zip(indices, tensors, strict=True):
            self._places[graph, index] = (memory, tensor.offset)

    def _view(self, index: int, graph: int = 0) -> np.ndarray:
        memory, offset = self._places[graph, index]
        return memory.data[offset : offset + self._graphs[graph].tensors[index].size]

    def _address(self, graph: int, index: int) -> int:
        memory, offset = self._places[graph, index]
        return memory.address + offset

    def _bases(self, graph: int, operator: Operator) -> list[int]:
        """Region base pointers: the operator's tensors after the command stream, in order."""
        stream, *others = operator.inputs
        if not self._has_separate_io(graph, stream):
            return [self._address(graph, i) for i in (*others, *operator.outputs)][:8]
        read_only, scratch, fast, *inputs = others
        ends = [self._places[graph, inputs[0]][0], self._places[graph, operator.outputs[0]][0]]
        own = [self._address(graph, index) for index in (read_only, scratch, fast)]
        return own + [memory.address for memory in ends]

    def _value(self, index: int) -> np.ndarray:
        tensor = self._main.tensors[index]
        return self._view(index).copy().view(tensor.dtype).reshape(tensor.shape)

    # Operators

    def _initialise_variables(self) -> None:
        """Run the graphs of CALL_ONCE before anything reads a variable."""
        for operator in self._main.operators:
            if operator.name == "CALL_ONCE":
                for inner in self._graphs[operator.subgraph].operators:
                    self._run_operator(operator.subgraph, inner)

    def _run_operator(self, graph: int, operator: Operator) -> None:
        if operator.name == NPU_OPERATOR:
            for _ in self._execute(graph, operator):
                pass
            return
        match operator.name:
            case "VAR_HANDLE":
                self._handles[graph, operator.outputs[0]] = operator.shared_name
            case "READ_VARIABLE":
                name = self._handles[graph, operator.inputs[0]]
                self._read_variable(name, operator.outputs[0])
            case "ASSIGN_VARIABLE":
                handle, value = operator.inputs
                self._variables[self._handles[graph, handle]] = self._bytes(graph, value)
            case "RESHAPE":
                self._view(operator.outputs[0], graph)[:] = self._bytes(graph, operator.inputs[0])
            case "CALL_ONCE":
                pass
            case other if not self._skip_cpu:
                raise InputError(f"operator {other} stays on the CPU, which is not simulated here")

    def _read_variable(self, name: bytes, output: int) -> None:
        if name not in self._variables:
            tensor = self._main.tensors[output]
            fill = np.full(tensor.shape, tensor.zero_point, tensor.dtype)
            self._variables[name] = np.frombuffer(fill.tobytes(), np.uint8)
        self._view(output)[:] = self._variables[name]

    def _bytes(self, graph: int, index: int) -> np.ndarray:
        return self._view(index, graph).copy()

    def _execute(self, graph: int, operator: Operator, operations: int = 0) -> Iterator[None]:
        """Run an NPU operator; yields whenever so many operations are done (0: never)."""
        stream = self._stream(graph, operator.inputs[0])
        self.bases = self._bases(graph, operator)
        self.npu.log.clear()
        self.npu.start(stream, self.bases)
        while (outcome := self.npu.execute(operations)) is Outcome.STEPPED:
            yield
        status = self.npu.acknowledge()
        if outcome is not Outcome.STOPPED or not status & STATUS_END:
            self.npu.write(Register.RESET, 0)
            raise NpuError(outcome, status, self.npu.log)

    def _stream(self, graph: int, index: int) -> Memory:
        key = (graph, index)
        if key not in self._constants:
            content = command_stream(self._graphs[graph].tensors[index].content)
            self._constants[key] = self.npu.add(content, writable=False)
        return self._constants[key]
