# SPDX-License-Identifier: MIT
"""Describes an ExecuTorch program as a `.tflite` is described."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any

from .. import paths, payload, tflite
from ..errors import InputError
from .data_file import DataFile
from .program import DELEGATE, KERNEL, Instruction, Method, Program, Tensor

# A delegate's data that is in a file which was not given.
_ABSENT = b""
# Input, scale, zero point and result.
_LEAST_OF_QUANTIZE = 4
# Arguments that an operator writes which the firmware does not know: its result, named twice.
_WRITTEN = 2
# Instructions at an end of the program in which the runtime looks for quantisation, too.
_SEARCHED = 64


@dataclass(frozen=True)
class CpuOperator:
    """What the CPU computes in each run: calls, values that it writes, multiplications."""

    name: str
    calls: int
    values: int
    macs: int
    known: bool

    def as_dict(self) -> dict[str, Any]:
        """Give plain data, for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Description(tflite.Description):
    """The same, and what only a program has.

    methods: their names; constants: what constant methods return; planned_bytes: all planned
    buffers; state_bytes: what a run reads before it has written it; delegate_ends: inputs and
    outputs of delegates; ends: values that the CPU quantises and dequantises in each run; nchw: an
    image that the NPU has to transpose first; cpu: what stayed on the CPU; missing: operators that
    the firmware lacks; external: names of data in a file that was not given.
    """

    methods: tuple[str, ...] = ()
    constants: dict[str, Any] = field(default_factory=dict)
    planned_bytes: int = 0
    state_bytes: int = 0
    delegate_ends: int = 0
    ends: int = 0
    nchw: bool = False
    cpu: tuple[CpuOperator, ...] = ()
    missing: tuple[str, ...] = ()
    external: tuple[str, ...] = ()

    @property
    def notes(self) -> list[str]:
        """What makes the program slow, as sentences that say what helps."""
        notes = []
        if self.ends:
            notes.append(
                f"the CPU quantises and dequantises {self.ends:,} values in each run: export with "
                "integer inputs and outputs (QuantizeInputs, QuantizeOutputs)"
            )
        if self.nchw:
            notes.append(
                "inputs are NCHW, so the NPU has to transpose them: export with torch.channels_last"
            )
        return notes

    def as_dict(self) -> dict[str, Any]:
        """Give plain data, for JSON."""
        names = (
            "methods",
            "constants",
            "planned_bytes",
            "state_bytes",
            "ends",
            "nchw",
            "delegate_ends",
        )
        more = {name: getattr(self, name) for name in (*names, "missing", "external")}
        cpu = [each.as_dict() for each in self.cpu]
        return super().as_dict() | more | {"cpu": cpu, "notes": self.notes}


def describe(data: bytes, method: str = "forward", named: Iterable[DataFile] = ()) -> Description:
    """Describe a method of a program; `named` are the files that hold its external data."""
    program = Program(data, named)
    chosen = program.method(method)
    called = [each for each in chosen.instructions if each.type == KERNEL]
    names = Counter(_entry(chosen.operators, each.index, "operator") for each in called)
    known = known_operators()
    constants = {
        name: _plain(value)
        for name in program.methods
        if (value := program.constant(name)) is not None
    }
    return Description(
        inputs=_ends(program, chosen, "input", chosen.inputs),
        outputs=_ends(program, chosen, "output", chosen.outputs),
        compiled=True,
        npu_operators=tuple(
            _npu_operator(program, chosen, each.index)
            for each in chosen.instructions
            if each.type == DELEGATE
        ),
        cpu_operators=dict(names),
        methods=tuple(name for name in program.methods if name not in constants),
        constants=constants,
        planned_bytes=sum(chosen.buffers),
        state_bytes=_state(program, chosen),
        delegate_ends=sum(
            len(each.arguments) for each in chosen.instructions if each.type == DELEGATE
        ),
        ends=sum(_quantised(chosen, each.index, each.arguments) for each in called),
        nchw=any(_is_nchw(chosen, index) for index in chosen.inputs),
        cpu=_cpu_operators(chosen, called, known),
        missing=tuple(sorted(set(names) - set(known))),
        external=tuple(sorted(program.absent(chosen))),
    )


def _plain(value: Any) -> Any:
    """A constant for JSON; a tensor is its type and sizes."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return f"{value.dtype} {list(value.sizes)}" if isinstance(value, Tensor) else value


@cache
def known_operators() -> dict[str, int]:
    """Operators that the firmware computes on the CPU, and how many arguments each writes."""
    path = paths.root() / "modules/ethosu/runtime/executorch/operators.def"
    rows = re.findall(r'^PROGRAM_OPERATOR\("([^"]+)", (\d+)', path.read_text(), re.M)
    return {name: int(written) for name, written in rows}


def _entry(entries: tuple[Any, ...], index: int, kind: str) -> Any:
    if not 0 <= index < len(entries):
        raise InputError(f"an instruction names {kind} {index} of {len(entries)}")
    return entries[index]


def _ends(
    program: Program, method: Method, end: str, values: tuple[int, ...]
) -> tuple[tflite.Tensor, ...]:
    """Inputs or outputs, with the quantisation of integers."""
    tensors = []
    for number, index in enumerate(values):
        tensor = method.tensor(index)
        scale, zero_point = 0.0, 0
        if tensor.dtype.startswith(("int", "uint")):
            scale, zero_point = _quantisation(program, method, end, number, index)
        tensors.append(
            tflite.Tensor(
                name=f"{end}{number}",
                shape=tensor.shape,
                dtype=tensor.dtype,
                scale=scale,
                zero_point=zero_point,
            )
        )
    return tuple(tensors)


def _quantisation(
    program: Program, method: Method, end: str, number: int, index: int
) -> tuple[float, int]:
    """From a call that dequantises this input or quantises this output, or constant methods."""
    name = "::dequantize_per_tensor" if end == "input" else "::quantize_per_tensor"
    order = 1 if end == "input" else -1
    for each in method.instructions[::order][:_SEARCHED]:
        if each.type == KERNEL and len(each.arguments) >= _LEAST_OF_QUANTIZE:
            is_end = each.arguments[0 if end == "input" else -1] == index
            if is_end and _entry(method.operators, each.index, "operator").endswith(name):
                scale, zero_point = (method.value(value).content for value in each.arguments[1:3])
                return _as_quantisation(scale, zero_point)

    def told(what: str) -> object:
        own = program.constant(f"{method.name}_{end}{number}_{what}")
        return program.constant(f"{end}{number}_{what}") if own is None else own

    return _as_quantisation(told("scale"), told("zp"))


def _as_quantisation(scale: object, zero_point: object) -> tuple[float, int]:
    if isinstance(scale, float) and isinstance(zero_point, int):
        return scale, zero_point
    return 0.0, 0


def _npu_operator(program: Program, method: Method, index: int) -> tflite.NpuOperator:
    # Weights may be in a file of their own, which is not needed to describe the program.
    binary = program.binary(_entry(method.delegates, index, "delegate"), missing=_ABSENT)
    if not binary.commands:
        raise InputError("a delegate's commands are in a data file (.ptd), which was not given")
    content = payload.read(binary.commands)
    return tflite.NpuOperator(
        npu=content.npu,
        stream_bytes=len(content.stream),
        constant_bytes=len(binary.weights),
        scratch_bytes=binary.scratch_size,
        fast_scratch_bytes=None,
    )


def _quantised(method: Method, index: int, arguments: tuple[int, ...]) -> int:
    """Values that a call quantises or dequantises."""
    name = method.operators[index]
    if not name.endswith("quantize_per_tensor") or not arguments:
        return 0
    return math.prod(method.tensor(arguments[0]).sizes)


def _is_nchw(method: Method, index: int) -> bool:
    """Is it an image whose channels do not lie side by side?"""
    tensor = method.tensor(index)
    if len(tensor.sizes) != 4 or tensor.sizes[1] == 1 or tensor.sizes[2] * tensor.sizes[3] == 1:
        return False
    return tensor.order[-1] != 1


def _cpu_operators(
    method: Method, called: Iterable[Instruction], known: dict[str, int]
) -> tuple[CpuOperator, ...]:
    found: dict[str, CpuOperator] = {}
    for each in called:
        name = _entry(method.operators, each.index, "operator")
        before = found.get(name, CpuOperator(name, 0, 0, 0, name in known))
        found[name] = replace(
            before,
            calls=before.calls + 1,
            values=before.values + math.prod(_tensor(method, each.arguments[-1:]).sizes),
            macs=before.macs + _macs(method, name, each.arguments),
        )
    return tuple(found.values())


def _tensor(method: Method, arguments: tuple[int, ...]) -> Tensor:
    """The first of these values; one of no elements if it is no tensor."""
    content = method.value(arguments[0]).content if arguments else None
    return content if isinstance(content, Tensor) else Tensor("int8", (0,), (0,))


def _macs(method: Method, name: str, arguments: tuple[int, ...]) -> int:
    """Multiplications of a convolution or of a matrix; its second argument are the weights."""
    source, weights, result = (
        _tensor(method, arguments[at:]).sizes for at in (0, 1, len(arguments) - 1)
    )
    if not weights or weights[0] == 0:
        return 0
    name = name.removesuffix("_nhwc")
    if name.endswith(("quantized_conv2d", "quantized_linear")):
        return math.prod(result) * math.prod(weights[1:])
    if name.endswith("quantized_depthwise_conv2d"):
        return math.prod(result) * math.prod(weights[1:-1])
    if name.endswith("quantized_transpose_conv2d"):
        return math.prod(source) * math.prod(weights[:-1])
    return 0


class _Ranges:
    """Bytes of planned buffers, as ranges that do not touch."""

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
        """Is one of the tensor's bytes in a range?"""
        start, end = _range(tensor)
        at = bisect_right(self._ends, start)
        return at < len(self._starts) and self._starts[at] < end


def _range(tensor: Tensor) -> tuple[tuple[int, int], tuple[int, int]]:
    return (tensor.buffer, tensor.offset), (tensor.buffer, tensor.offset + tensor.size)


def _state(program: Program, method: Method) -> int:
    """Bytes of planned tensors that a run reads before it has written any of their bytes."""
    written = _Ranges()
    for index in method.inputs:
        written.add(method.tensor(index))
    state: dict[tuple[int, int], int] = {}
    for each in method.instructions:
        if each.type not in (KERNEL, DELEGATE):
            continue
        split = len(each.arguments) - _count_written(program, method, each)
        for value in method.tensors(each.arguments[:split]):
            tensor = _tensor(method, (value,))
            if tensor.buffer and tensor.size and not written.meet(tensor):
                state[tensor.buffer, tensor.offset] = tensor.size
        for value in each.arguments[split:]:
            written.add(_tensor(method, (value,)))
    return sum(state.values())


def _count_written(program: Program, method: Method, each: Instruction) -> int:
    if each.type == KERNEL:
        return known_operators().get(_entry(method.operators, each.index, "operator"), _WRITTEN)
    delegate = _entry(method.delegates, each.index, "delegate")
    return len(program.binary(delegate, missing=_ABSENT).outputs)
