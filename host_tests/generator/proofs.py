# SPDX-License-Identifier: MIT
"""What a command stream must show before a difference counts as a known defect of Vela.

Each proof looks for something that no right stream for such a graph has. A case that differs
without it is a failure like any other. Here are those of what a stream computes: its windows,
scales, tables, and operands; places.py has those of where it reads and writes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from ethosu_tools import payload

from .registers import CHAINED, State, npu_operators, operations, parameter, place, tables, word

Proof = Callable[[bytes], bool]

CHOICE = ("ELEMENTWISE", 42)  # of the numbers where a mask is 0
_PRODUCT, _ADDITION, _DIFFERENCE = (("ELEMENTWISE", mode) for mode in (0, 1, 2))
_EXTREMES, _SUM = (("POOL", 0), ("POOL", 5)), ("POOL", 2)
_PLACES_ALONG = {("POOL", 6): ("WIDTH", "HEIGHT"), ("POOL", 7): ("HEIGHT", "WIDTH")}  # ARGMAX
_AND = ("ELEMENTWISE", 33)
_NEAREST = ("RESIZE", 2)
_SHIFT = 0x3F
_STEPS = 16  # of whole elements that RESIZE can go
_Y_OFFSET = "AB_START"  # so U55 calls what is RESIZE_Y_OFFSET
_SCALAR = 1 << 7
_ONE = (1).to_bytes(4, "little")
_NO_ROWS = 0xFFFF  # 0, less one
_BYTE_TABLE = 256


@dataclass(frozen=True)
class Defect:
    """A known defect of Vela, and how it shows in a compiled model."""

    text: str
    proof: Proof


def either(*proofs: Proof) -> Proof:
    """The stream shows one of several things."""
    return lambda model: any(proof(model) for proof in proofs)


def lopsided_padding(model: bytes) -> bool:
    """Padding on one side exceeds that on the other by more than one, or leaves no input at all."""
    # Stripes of one operation have the padding of their own edges only: take them together.
    for before, behind in (("TOP", "BOTTOM"), ("LEFT", "RIGHT")):
        sides: dict[tuple[object, ...], list[int]] = {}
        for name, _, state in operations(model):
            if name == "ELEMENTWISE":
                continue
            if parameter(state, "IFM_HEIGHT0_M1") == _NO_ROWS:
                return True
            window = tuple(state.get(f"KERNEL_{what}") for what in ("HEIGHT_M1", "WIDTH_M1"))
            pair = sides.setdefault((name, *window), [0, 0])
            for at, side in enumerate((before, behind)):
                pair[at] = max(pair[at], parameter(state, f"IFM_PAD_{side}"))
        if any(abs(first - last) > 1 for first, last in sides.values()):
            return True
    return False


def shifted_product(model: bytes) -> bool:
    """A 32-bit product is shifted, where TFLite's int32 MUL has no scale."""
    return any(
        (name, mode) == _PRODUCT
        and parameter(state, "IFM_PRECISION") >> 2 & 3 == 2
        and parameter(state, "OFM_SCALE") & _SHIFT != 0
        for name, mode, state in operations(model)
    )


def counts_across(model: bytes) -> bool:
    """ARGMAX counts places along the axis of its window that has one, and not along the other."""
    for name, mode, state in operations(model):
        if axes := _PLACES_ALONG.get((name, mode)):
            along, across = (parameter(state, f"KERNEL_{axis}_M1") for axis in axes)
            if along == 0 and across > 0:
                return True
    return False


def pixel_centres(model: bytes) -> bool:
    """A RESIZE to the nearest begins beside its first element, where TFLite begins upon it."""
    return any(
        (name, mode) == _NEAREST
        and (parameter(state, "RESIZE_X_OFFSET") or parameter(state, _Y_OFFSET))
        for name, mode, state in operations(model)
    )


def lost_step(model: bytes) -> bool:
    """A RESIZE ends more rows or columns before the end of its input than a step can have."""
    for name, _, state in operations(model):
        for size, axis in (("HEIGHT", "Y"), ("WIDTH", "X")) if name == "RESIZE" else ():
            parts = parameter(state, f"RESIZE_{axis}_SCALE_N_M1") + 1
            step = parameter(state, f"RESIZE_{axis}_STEP") % _STEPS * parts
            step += word(state, f"RESIZE_{axis}_STEP")
            reached = parameter(state, f"OFM_{size}_M1") * step // parts
            if parameter(state, f"KERNEL_{size}_M1") - reached >= _STEPS:
                return True
    return False


def signed_clamp(model: bytes) -> bool:
    """An int8 output is clamped to less than its type has, in a graph without any int8 tensor."""
    return any(
        parameter(state, "OFM_PRECISION") & 7 == 1
        and (parameter(state, "ACTIVATION_MIN"), parameter(state, "ACTIVATION_MAX"))
        != (0xFF80, 0x7F)
        for _, _, state in operations(model)
    )


def falling_table(model: bytes) -> bool:
    """A table of an exponential has a smaller entry behind a larger one."""
    for graph, operator in npu_operators(model):
        stream = payload.read(graph.tensors[operator.inputs[0]].content).stream
        constants = graph.tensors[operator.inputs[1]].content
        for source, _, length in tables(stream):
            table = np.frombuffer(constants, np.int8)[source : source + length]
            if length == _BYTE_TABLE and (np.diff(table.astype(int)) < 0).any():
                return True
    return False


def unit_multiplier(model: bytes) -> bool:
    """A 32-bit product has the constant 1 for a multiplier, which is 2^30 at least."""
    for graph, operator in npu_operators(model):
        constants = graph.tensors[operator.inputs[1]].content
        for name, mode, state in operations(model):
            if (name, mode) != _PRODUCT or parameter(state, "IFM_PRECISION") >> 2 & 3 != 2:
                continue
            region, start = place(state, "IFM2")
            if _is_scalar(state):
                one = word(state, "OP_SCALAR") == 1
            else:
                one = region == 0 and constants[start : start + 4] == _ONE
            if one:
                return True
    return False


@dataclass(frozen=True)
class OtherSize:
    """A graph of one sum: its last operation makes more than the output, or there is padding."""

    elements: int

    def __call__(self, model: bytes) -> bool:
        """Whether the stream shows it."""
        found = list(operations(model))
        _, _, last = found[-1]
        sizes = [parameter(last, f"OFM_{axis}_M1") + 1 for axis in ("HEIGHT", "WIDTH", "DEPTH")]
        deep = any(
            (name, mode) == _SUM and parameter(state, "OFM_DEPTH_M1") for name, mode, state in found
        )
        return _is_padded(last) or deep or math.prod(sizes) != self.elements


@dataclass(frozen=True)
class TruthAsMask:
    """An operation takes for a mask what was made a truth, 0 or 1, for an output of the graph."""

    reader: tuple[str, int]

    def __call__(self, model: bytes) -> bool:
        """Whether the stream shows it."""
        for graph, operator in npu_operators(model):
            constants = graph.tensors[operator.inputs[1]].content
            truths: set[tuple[int, int]] = set()
            for name, mode, state in operations(model):
                if (name, mode) == self.reader and truths & {
                    place(state, "IFM"),
                    place(state, "IFM2"),
                }:
                    return True
                if parameter(state, "OFM_PRECISION") >> 14 >= CHAINED:
                    continue
                region, one = place(state, "IFM2")
                made = (name, mode) == _AND and region == 0 and constants[one : one + 1] == _ONE[:1]
                if made or (place(state, "IFM") in truths and _adds_nothing(name, mode, state)):
                    truths.add(place(state, "OFM"))
                else:
                    truths.discard(place(state, "OFM"))
        return False


def _adds_nothing(name: str, mode: int, state: State) -> bool:
    """Whether an operation copies its input into another type, by adding the scalar 0."""
    return (name, mode) == _ADDITION and _is_scalar(state) and word(state, "OP_SCALAR") == 0


def _is_scalar(state: State) -> bool:
    """Whether the second operand is a number in a register of the Ethos-U85."""
    return parameter(state, "IFM2_PRECISION") >> 14 > CHAINED


def repeated(model: bytes) -> bool:
    """An operand is repeated along an axis, where both have one shape."""
    return any(
        name == "ELEMENTWISE"
        and _repeats(state, "IFM2")
        and not parameter(state, "IFM2_BROADCAST") & _SCALAR
        for name, _, state in operations(model)
    )


def repeated_choice(model: bytes) -> bool:
    """An operand of SELECT is repeated along an axis, where all have one shape."""
    return any(
        (name, mode) == CHOICE and (_repeats(state, "IFM") or _repeats(state, "IFM2"))
        for name, mode, state in operations(model)
    )


def _repeats(state: State, kind: str) -> bool:
    """Whether an operand is repeated along an axis that is longer than 1."""
    return any(
        parameter(state, f"{kind}_BROADCAST") >> at & 1 and parameter(state, f"OFM_{axis}_M1")
        for at, axis in enumerate(("HEIGHT", "WIDTH", "DEPTH"))
    )


class WrongWindow:
    """A reduction of some axes, one pool for each: the pools have other lengths, or padding.

    REDUCE_MIN is that of the complement, -1 - x: it may also repeat a part of x.
    """

    def __init__(self, lengths: Iterable[int]) -> None:
        self.lengths = frozenset(lengths) - {1}

    def __call__(self, model: bytes) -> bool:
        """Whether the stream shows it."""
        spans = {_span(state) for state in extremes(model)}
        repeated = any(
            (name, mode) == _DIFFERENCE
            and parameter(state, "IFM2_BROADCAST") & 7
            and not parameter(state, "IFM2_BROADCAST") & _SCALAR
            for name, mode, state in operations(model)
        )
        padded = any(_is_padded(state) for state in extremes(model))
        return padded or repeated or spans - {1} != self.lengths

    def padded(self, model: bytes) -> bool:
        """Whether one of its pools, and no other, has padding."""
        return any(_span(state) in self.lengths and _is_padded(state) for state in extremes(model))


def extremes(model: bytes) -> list[State]:
    return [state for name, mode, state in operations(model) if (name, mode) in _EXTREMES]


def _span(state: State) -> int:
    return (parameter(state, "KERNEL_HEIGHT_M1") + 1) * (parameter(state, "KERNEL_WIDTH_M1") + 1)


def _is_padded(state: State) -> bool:
    return any(parameter(state, f"IFM_PAD_{side}") for side in ("TOP", "BOTTOM", "LEFT", "RIGHT"))


# Graphs of uint8 may meet this.
SIGNED_CLAMP = Defect("TRANSPOSE of uint8: Vela copies int8, in the range of uint8", signed_clamp)
