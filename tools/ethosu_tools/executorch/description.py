# SPDX-License-Identifier: MIT
"""Describes an ExecuTorch program as a `.tflite` is described."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from .. import paths, payload, tflite
from ..errors import InputError
from .program import DELEGATE, KERNEL, Method, Program


@dataclass(frozen=True)
class Description(tflite.Description):
    """The same, and what only a program has.

    methods: their names; planned_bytes: all planned buffers; ends: values that the CPU quantises
    and dequantises in each run; nchw: an image that the NPU has to transpose first;
    missing: operators that the firmware lacks.
    """

    methods: tuple[str, ...] = ()
    planned_bytes: int = 0
    ends: int = 0
    nchw: bool = False
    missing: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Give plain data, for JSON."""
        names = ("methods", "planned_bytes", "ends", "nchw", "missing")
        return super().as_dict() | {name: getattr(self, name) for name in names}


def describe(data: bytes, method: str = "forward") -> Description:
    """Describe a method of a program."""
    program = Program(data)
    chosen = program.method(method)
    called = [each for each in chosen.instructions if each.type == KERNEL]
    names = Counter(_entry(chosen.operators, each.index, "operator") for each in called)
    return Description(
        inputs=_ends(program, chosen, "input", chosen.inputs),
        outputs=_ends(program, chosen, "output", chosen.outputs),
        npu_operators=tuple(
            _npu_operator(program, chosen, each.index)
            for each in chosen.instructions
            if each.type == DELEGATE
        ),
        cpu_operators=dict(names),
        methods=program.methods,
        planned_bytes=sum(chosen.buffers),
        ends=sum(_quantised(chosen, each.index, each.arguments) for each in called),
        nchw=any(_is_nchw(chosen, index) for index in chosen.inputs),
        missing=tuple(sorted(set(names) - known_operators())),
    )


def known_operators() -> set[str]:
    """Operators that the firmware computes on the CPU."""
    path = paths.root() / "modules/ethosu/runtime/executorch/operators.def"
    return set(re.findall(r'^PROGRAM_OPERATOR\("([^"]+)"', path.read_text(), re.M))


def _entry(entries: tuple[Any, ...], index: int, kind: str) -> Any:
    if not 0 <= index < len(entries):
        raise InputError(f"an instruction names {kind} {index} of {len(entries)}")
    return entries[index]


def _ends(
    program: Program, method: Method, end: str, values: tuple[int, ...]
) -> tuple[tflite.Tensor, ...]:
    """Inputs or outputs; the quantisation of integers is what constant methods say."""
    tensors = []
    for number, index in enumerate(values):
        tensor = method.tensor(index)
        scale = program.constant(f"{end}{number}_scale")
        zero_point = program.constant(f"{end}{number}_zp")
        quantised = scale is not None and not tensor.dtype.startswith("float")
        tensors.append(
            tflite.Tensor(
                name=f"{end}{number}",
                shape=tensor.shape,
                dtype=tensor.dtype,
                scale=float(scale) if quantised else 0.0,
                zero_point=int(zero_point or 0) if quantised else 0,
            )
        )
    return tuple(tensors)


def _npu_operator(program: Program, method: Method, index: int) -> tflite.NpuOperator:
    # Weights may be in a file of their own, which is not needed to describe the program.
    binary = program.binary(_entry(method.delegates, index, "delegate"), missing=b"")
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
