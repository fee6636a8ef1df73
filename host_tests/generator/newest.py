# SPDX-License-Identifier: MIT
"""A second opinion: the newest LiteRT, in a Python environment and a process of its own.

LiteRT 1.2.0 is the reference. The newest one has to agree with it, operator by operator, with one
exception: from 1.3 on, FULLY_CONNECTED rounds once, with a multiplier in full precision. 1.2.0,
like what Vela programs, rounds 8-bit results twice, and the multiplier of 16-bit ones to 16 bits,
and it multiplies scales in single precision. `disagreements` computes both and takes no other
difference.
"""

from __future__ import annotations

import math
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ethosu.vela.tflite.BuiltinOperator import BuiltinOperator
from ethosu.vela.tflite.FullyConnectedOptions import FullyConnectedOptions
from ethosu.vela.tflite.Model import Model
from ethosu_tools.errors import ToolError
from ethosu_tools.oracle import BUILTIN, REFERENCE

from . import isolated, litert
from .case import Case
from .operators import OPTIMISED_KERNELS

_NAMES = {code: name for name, code in vars(BuiltinOperator).items() if name.isupper()}

# Ends of the fused activation functions that the generator draws.
_ACTIVATIONS = {0: (-math.inf, math.inf), 1: (0, math.inf), 2: (-1, 1), 3: (0, 6)}


class RefusedError(ToolError):
    """The newest LiteRT does not run the graph."""


class Newest:
    """The newest LiteRT under its own Python; a crash takes one question with it."""

    def __init__(self, python: Path) -> None:
        self._python = python
        self._process: subprocess.Popen[bytes] | None = None

    def tensors(self, case: Case, wanted: Sequence[int], kernels: str) -> list[list[np.ndarray]]:
        """The `wanted` tensors of a case after each of its feeds."""
        question = litert.pack(case.feeds)
        question["model"] = np.frombuffer(case.model, np.uint8)
        question["wanted"] = np.array(wanted)
        question["kernels"] = np.array(kernels)
        process = self._started()
        assert process.stdin and process.stdout
        try:
            litert.send(process.stdin, question)
            answer = litert.receive(process.stdout)
        except BrokenPipeError:
            answer = None
        if answer is None:
            self.close()
            raise RefusedError("the newest LiteRT died")
        if "error" in answer:
            raise RefusedError(str(answer["error"]))
        return litert.unpack(answer)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = subprocess.Popen(
                [str(self._python), "-I", litert.__file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        return self._process


@dataclass(frozen=True)
class _Operator:
    name: str
    inputs: tuple[int, ...]  # but for constants and states
    outputs: tuple[int, ...]
    place: int


def disagreements(case: Case, newest: Newest) -> list[str]:
    """Where the two differ in an operator that both give the same inputs, and not by the rule.

    Raises ToolError when only one of them runs the graph.
    """
    optimised = bool(OPTIMISED_KERNELS & set(case.operators))
    kernels = BUILTIN if optimised else REFERENCE
    operators = _operators(case.model)
    wanted = sorted({i for operator in operators for i in (*operator.inputs, *operator.outputs)})
    refusals, answers = [], []
    for ask in (_ask_reference, newest.tensors):
        try:
            answers.append(ask(case, wanted, kernels))
        except ToolError as error:
            refusals.append(str(error))
    if len(refusals) == 1:
        raise ToolError(f"only one LiteRT runs it: {refusals[0]}")
    found = []
    for feed, rows in enumerate(zip(*answers, strict=True)):
        old, new = (dict(zip(wanted, row, strict=True)) for row in rows)
        found += [
            f"feed {feed}: {operator.name}"
            for operator in operators
            if all(np.array_equal(old[i], new[i]) for i in operator.inputs)
            and not all(np.array_equal(old[i], new[i]) for i in operator.outputs)
            and not _rounds_once(case.model, operator, old, new)
        ]
    return found


def _ask_reference(case: Case, wanted: Sequence[int], kernels: str) -> list[list[np.ndarray]]:
    try:
        rows: list[list[np.ndarray]] = isolated.call(
            litert.tensors, case.model, case.feeds, wanted, kernels
        )
    except (RuntimeError, ValueError, isolated.DiedError) as error:
        raise ToolError(f"LiteRT 1.2.0: {error}") from error
    return rows


def _operators(model: bytes) -> list[_Operator]:
    root = Model.GetRootAs(model, 0)
    graph = root.Subgraphs(0)

    def changes(index: int) -> bool:
        if index < 0:
            return False
        tensor = graph.Tensors(index)
        return not root.Buffers(tensor.Buffer()).DataLength() and not tensor.IsVariable()

    found = []
    for place in range(graph.OperatorsLength()):
        operator = graph.Operators(place)
        code = root.OperatorCodes(operator.OpcodeIndex())
        name = _NAMES[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())]
        inputs = tuple(i for i in operator.InputsAsNumpy().tolist() if changes(i))
        found.append(_Operator(name, inputs, tuple(operator.OutputsAsNumpy().tolist()), place))
    return found


def _rounds_once(
    model: bytes, operator: _Operator, old: dict[int, np.ndarray], new: dict[int, np.ndarray]
) -> bool:
    """Whether a difference is the rule's: the same sums, scaled in two ways."""
    if operator.name != "FULLY_CONNECTED":
        return False
    as_before = {"int8": twice, "int16": with_short_multiplier}[old[operator.outputs[0]].dtype.name]
    return all(
        np.array_equal(
            given[operator.outputs[0]], _fully_connected(model, operator, given, scaled, precision)
        )
        for given, scaled, precision in ((old, as_before, np.float32), (new, once, np.float64))
    )


def _fully_connected(
    model: bytes,
    operator: _Operator,
    given: dict[int, np.ndarray],
    scaled: Callable[[np.ndarray, int, int], np.ndarray],
    precision: type,
) -> np.ndarray:
    """FULLY_CONNECTED in whole numbers."""
    root = Model.GetRootAs(model, 0)
    graph = root.Subgraphs(0)
    node = graph.Operators(operator.place)
    x, w, b = node.InputsAsNumpy().tolist()
    out = operator.outputs[0]

    def constant(index: int, dtype: type) -> np.ndarray:
        data = root.Buffers(graph.Tensors(index).Buffer()).DataAsNumpy().view(dtype)
        values: np.ndarray = data.reshape(graph.Tensors(index).ShapeAsNumpy()).astype(np.int64)
        return values

    def quantisation(index: int) -> tuple[float, int]:
        ends = graph.Tensors(index).Quantization()
        return ends.Scale(0), ends.ZeroPoint(0)

    (scale, zero), (weight_scale, _) = quantisation(x), quantisation(w)
    out_scale, out_zero = quantisation(out)
    weights = constant(w, np.int8)
    limits = np.iinfo(given[out].dtype)
    biases = np.int32 if limits.bits == 8 else np.int64
    rows = given[x].astype(np.int64).reshape(-1, weights.shape[1]) - zero
    sums = rows @ weights.T + (constant(b, biases) if b >= 0 else 0)
    significand, exponent = math.frexp(float(precision(scale * weight_scale)) / out_scale)
    steps = scaled(sums.astype(object), round(significand * 2**31), 31 - exponent) + out_zero

    options = FullyConnectedOptions()
    table = node.BuiltinOptions()
    options.Init(table.Bytes, table.Pos)
    low, high = (
        out_zero + np.round(end / out_scale)
        for end in _ACTIVATIONS[options.FusedActivationFunction()]
    )
    return steps.clip(max(low, limits.min), min(high, limits.max)).reshape(given[out].shape)


def once(sums: np.ndarray, multiplier: int, shift: int) -> np.ndarray:
    """Scaled by multiplier / 2^shift: to the nearest, ties upwards."""
    return (sums * multiplier + (1 << (shift - 1))) >> shift


def twice(sums: np.ndarray, multiplier: int, shift: int) -> np.ndarray:
    """To 31 bits, ties upwards; and from there, ties away from zero."""
    left, right = max(31 - shift, 0), max(shift - 31, 0)
    high = once(sums << left, multiplier, 31)
    half = (1 << right) >> 1
    return np.where(high < 0, -((-high + half) >> right), (high + half) >> right)


def with_short_multiplier(sums: np.ndarray, multiplier: int, shift: int) -> np.ndarray:
    """Like `once`, with 16 bits of the multiplier."""
    return once(sums, (multiplier + (1 << 15)) >> 16, shift - 16)
