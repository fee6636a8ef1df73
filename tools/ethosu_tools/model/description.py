# SPDX-License-Identifier: MIT
"""Summary of a model's requirements and interface, derived from its file."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from ..base.errors import InputError
from .graph import ITEM_SIZES, Method, NpuOperator, Operator, Tensor
from .kinds import DATA
from .reader import Reader

# Metadata with the Vela version that wrote a `.tflite`, and with the arena offset of each tensor:
# three header words, then an int32 per tensor.
VELA_NAME, OFFSETS_NAME = "vela_version", "OfflineMemoryAllocation"
# The planner's record, see compile/plan/record.py.
RECORD_NAME = "ethosu_plan"


@dataclass(frozen=True)
class Description:
    """A model's requirements and interface."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    npu_operators: tuple[NpuOperator, ...]
    cpu_operators: dict[str, int]
    compiled: bool

    @property
    def npu(self) -> str | None:
        """NPU that the model was compiled for; None if it has no NPU operators."""
        return self.npu_operators[0].npu if self.npu_operators else None

    @property
    def constant_bytes(self) -> int:
        """Bytes of the NPU's constants in the file; operators may share them, they count once."""
        total = end = 0
        for each in sorted(self.npu_operators, key=lambda operator: operator.constants_at):
            begin = max(end, each.constants_at)
            end = max(end, each.constants_at + each.constant_bytes)
            total += end - begin if end > begin else 0
        return total

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        return {
            "npu": self.npu,
            "compiled": self.compiled,
            "inputs": [tensor.as_dict() for tensor in self.inputs],
            "outputs": [tensor.as_dict() for tensor in self.outputs],
            "npu_operators": [asdict(operator) for operator in self.npu_operators],
            "cpu_operators": self.cpu_operators,
        }


def describe_tflite(reader: Reader) -> Description:
    """Describe a `.tflite`."""
    graph = reader.graphs[0]
    for index in (*graph.inputs, *graph.outputs):
        dtype = graph.tensors[index].dtype
        if dtype not in ITEM_SIZES:
            raise InputError(
                f"tensor {index} ({graph.tensors[index].name}), an input or output, has the type "
                f"{dtype}: neither NPU nor CPU kernels take it; compute this part in Python"
            )
    calls = reader.calls()
    return Description(
        inputs=tuple(graph.tensors[index] for index in graph.inputs),
        outputs=tuple(graph.tensors[index] for index in graph.outputs),
        npu_operators=tuple(call.operator for call in calls),
        cpu_operators=dict(Counter(op.name for op in graph.operators if not op.on_npu)),
        compiled=VELA_NAME in reader.entries
        or bool(calls)
        or (OFFSETS_NAME in reader.entries and not graph.operators),
    )


@dataclass(frozen=True)
class CpuOperator:
    """CPU work in each run: calls, values written, multiplications."""

    name: str
    calls: int
    values: int
    macs: int
    known: bool


@dataclass(frozen=True)
class ProgramDescription(Description):
    """A Description, plus properties that only ExecuTorch programs have.

    methods: their names; constants: results of constant methods; planned_bytes: all planned
    buffers; state_bytes: bytes that a run reads before writing them; delegate_io: inputs and
    outputs of delegates; converted: values that the CPU quantises or dequantises in each run;
    nchw: an image that the NPU has to transpose first; cpu: operators left to the CPU; missing:
    operators that the firmware lacks; external: names of data in a file that was not given.
    """

    methods: tuple[str, ...] = ()
    constants: dict[str, Any] = field(default_factory=dict)
    planned_bytes: int = 0
    state_bytes: int = 0
    converted: int = 0
    nchw: bool = False
    delegate_io: int = 0
    missing: tuple[str, ...] = ()
    external: tuple[str, ...] = ()
    cpu: tuple[CpuOperator, ...] = ()

    @property
    def notes(self) -> list[str]:
        """Reasons why the program is slow, each with a remedy."""
        notes = []
        if self.converted:
            real = any(end.dtype.startswith("float") for end in (*self.inputs, *self.outputs))
            what = f"the CPU quantises and dequantises {self.converted:,} values in each run"
            notes.append(
                f"{what}: export with integer inputs and outputs (QuantizeInputs, QuantizeOutputs)"
                if real
                else f"{what}, for state and for operators that the NPU does not run"
            )
        if self.nchw:
            notes.append(
                "inputs are NCHW, so the NPU has to transpose them: export with torch.channels_last"
            )
        return notes

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        own = {
            each.name: getattr(self, each.name) for each in fields(self)[len(fields(Description)) :]
        }
        cpu = [asdict(each) for each in self.cpu]
        return super().as_dict() | own | {"cpu": cpu, "notes": self.notes}


def describe_program(
    reader: Reader, name: str = "forward", named: bytes | None = None
) -> ProgramDescription:
    """Describe a method of a program; `named`: its data file."""
    methods = reader.methods
    if name not in methods:
        raise InputError(f"no method {name}; its methods are {', '.join(methods) or '(none)'}")
    method = methods[name]
    called = [each for each in method.operators if each.on_cpu]
    calls = reader.calls(list(methods).index(name), named)
    if not all(call.stream for call in calls):
        raise InputError(
            f"a delegate's commands are in a data file ({DATA.suffix}), which was not given"
        )
    constants = {
        each.name: _plain(each.constant) for each in methods.values() if each.constant is not None
    }
    return ProgramDescription(
        inputs=_named(method, "input", method.input_tensors),
        outputs=_named(method, "output", method.outputs),
        compiled=True,
        npu_operators=tuple(call.operator for call in calls),
        cpu_operators=dict(Counter(each.name for each in called)),
        methods=tuple(each for each in methods if each not in constants),
        constants=constants,
        planned_bytes=sum(method.buffers),
        state_bytes=_state(method),
        delegate_io=sum(len(each.arguments) for each in method.operators if each.on_npu),
        converted=method.quantized,
        nchw=method.nchw,
        cpu=_cpu_operators(method, called),
        missing=tuple(sorted({each.name for each in called if not each.known})),
        external=tuple(sorted({call.absent for call in calls} - {""})),
    )


def _plain(value: Any) -> Any:
    """Convert a constant for JSON; a tensor becomes its type and sizes."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return f"{value.dtype} {list(value.sizes)}" if isinstance(value, Tensor) else value


def _named(method: Method, prefix: str, values: tuple[int, ...]) -> tuple[Tensor, ...]:
    """Give names to inputs or outputs, since the file has none."""
    return tuple(
        replace(method.tensor(index), name=f"{prefix}{number}")
        for number, index in enumerate(values)
    )


def _cpu_operators(method: Method, called: Iterable[Operator]) -> tuple[CpuOperator, ...]:
    by_name: dict[str, CpuOperator] = {}
    for operator in called:
        before = by_name.get(operator.name, CpuOperator(operator.name, 0, 0, 0, operator.known))
        by_name[operator.name] = replace(
            before,
            calls=before.calls + 1,
            values=before.values + math.prod(_sizes(method, operator.arguments[-1:])),
            macs=before.macs + _macs(method, operator),
        )
    return tuple(by_name.values())


def _tensor(method: Method, index: int) -> Tensor | None:
    content = method.value(index).content
    return content if isinstance(content, Tensor) else None


def _sizes(method: Method, arguments: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes of the first value, or of an empty tensor if it is not a tensor."""
    tensor = _tensor(method, arguments[0]) if arguments else None
    return (0,) if tensor is None else tensor.sizes


def _macs(method: Method, operator: Operator) -> int:
    """Count multiplications of a convolution or matrix product; argument 1 has the weights."""
    arguments = operator.arguments
    source, weights, result = (_sizes(method, arguments[at:]) for at in (0, 1, len(arguments) - 1))
    if not weights or weights[0] == 0:
        return 0
    name = operator.name.removesuffix("_nhwc")
    if name.endswith(("quantized_conv2d", "quantized_linear")):
        return math.prod(result) * math.prod(weights[1:])
    if name.endswith("quantized_depthwise_conv2d"):
        return math.prod(result) * math.prod(weights[1:-1])
    if name.endswith("quantized_transpose_conv2d"):
        return math.prod(source) * math.prod(weights[:-1])
    return 0


class _Ranges:
    """Planned buffers, as disjoint byte ranges."""

    def __init__(self) -> None:
        self._starts: list[tuple[int, int]] = []
        self._ends: list[tuple[int, int]] = []

    def add(self, tensor: Tensor) -> None:
        start, end = _range(tensor)
        first, last = bisect_left(self._ends, start), bisect_right(self._starts, end)
        start = min([start, *self._starts[first:last]])
        end = max([end, *self._ends[first:last]])
        self._starts[first:last], self._ends[first:last] = [start], [end]

    def meet(self, tensor: Tensor) -> bool:
        """Whether one of the tensor's bytes is in a range."""
        start, end = _range(tensor)
        at = bisect_right(self._ends, start)
        return at < len(self._starts) and self._starts[at] < end


def _range(tensor: Tensor) -> tuple[tuple[int, int], tuple[int, int]]:
    return (tensor.buffer, tensor.offset), (tensor.buffer, tensor.offset + tensor.size)


def _state(method: Method) -> int:
    """Count the bytes of planned tensors that a run reads before it writes them."""
    written = _Ranges()
    for index in method.input_tensors:
        written.add(method.tensor(index))
    state: dict[tuple[int, int], int] = {}
    for operator in method.operators:
        for index in method.tensors(operator.inputs):
            tensor = _tensor(method, index)
            if tensor and tensor.buffer and tensor.size and not written.meet(tensor):
                state[tensor.buffer, tensor.offset] = tensor.size
        for index in operator.outputs:
            tensor = _tensor(method, index)
            if tensor:
                written.add(tensor)
    return sum(state.values())
