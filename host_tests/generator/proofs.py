# SPDX-License-Identifier: MIT
"""What a command stream must show before a difference counts as a known defect of Vela.

Each proof looks for something that no right stream for such a graph has. A case that differs
without it is a failure like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from . import coverage

Proof = Callable[[bytes], bool]

# Register -> parameter, payload; and the operation as "OPCODE", mode.
State = Mapping[str, tuple[int, int]]

_PRODUCT, _GREATEST = ("ELEMENTWISE", 0), ("POOL", 0)


@dataclass(frozen=True)
class Defect:
    """A known defect of Vela, and how it shows in a compiled model."""

    text: str
    proof: Proof


def operations(model: bytes) -> Iterator[tuple[str, int, State]]:
    """Opcode, mode and registers of every operation on feature maps."""
    for stream in coverage.streams(model):
        state: dict[str, tuple[int, int]] = {}
        for name, param, payload in coverage.commands(stream):
            if name in ("CONV", "DEPTHWISE", "POOL", "ELEMENTWISE"):
                yield name, param, dict(state)
            else:
                state[name] = (param, payload)


def graph_alone(_model: bytes) -> bool:
    """No proof in the stream: what was drawn has to do."""
    return True


def lopsided_padding(model: bytes) -> bool:
    """Padding on one side exceeds that on the other by more than one, which SAME never does."""
    # Stripes of one operation have the padding of their own edges only: take them together.
    for before, behind in (("TOP", "BOTTOM"), ("LEFT", "RIGHT")):
        sides: dict[tuple[object, ...], list[int]] = {}
        for name, _, state in operations(model):
            if name == "ELEMENTWISE":
                continue
            window = tuple(state.get(f"KERNEL_{what}") for what in ("HEIGHT_M1", "WIDTH_M1"))
            pair = sides.setdefault((name, *window), [0, 0])
            for at, side in enumerate((before, behind)):
                pair[at] = max(pair[at], _param(state, f"IFM_PAD_{side}"))
        if any(abs(first - last) > 1 for first, last in sides.values()):
            return True
    return False


def overlapping_output(model: bytes) -> bool:
    """An output in NHWC whose elements lie upon each other: its shape is not that of its memory."""
    for _, _, state in operations(model):
        precision = _param(state, "OFM_PRECISION")
        if precision >> 6 & 3:
            continue
        pixel = (_param(state, "OFM_DEPTH_M1") + 1) << (precision >> 1 & 3)
        row = (_param(state, "OFM_WIDTH_M1") + 1) * _payload(state, "OFM_STRIDE_X")
        next_tile = _payload(state, "OFM_BASE1") - _payload(state, "OFM_BASE0")
        if (
            pixel > _payload(state, "OFM_STRIDE_X")
            or (_param(state, "OFM_HEIGHT_M1") > 0 and row > _payload(state, "OFM_STRIDE_Y"))
            or (_param(state, "OFM_WIDTH_M1") > _param(state, "OFM_WIDTH0_M1") and not next_tile)
        ):
            return True
    return False


def shifted_product(model: bytes) -> bool:
    """A 32-bit product is shifted, where TFLite's int32 MUL has no scale."""
    return any(
        (name, mode) == _PRODUCT
        and _param(state, "IFM_PRECISION") >> 2 & 3 == 2
        and _param(state, "OFM_SCALE") != 0
        for name, mode, state in operations(model)
    )


class WrongWindow:
    """A reduction of some axes, one pool for each: the pools have other lengths, or padding."""

    def __init__(self, lengths: Iterable[int]) -> None:
        self.lengths = frozenset(lengths) - {1}

    def __call__(self, model: bytes) -> bool:
        """Whether the stream shows it."""
        pools = [state for name, mode, state in operations(model) if (name, mode) == _GREATEST]
        spans = {
            (_param(state, "KERNEL_HEIGHT_M1") + 1) * (_param(state, "KERNEL_WIDTH_M1") + 1)
            for state in pools
        }
        sides = [f"IFM_PAD_{side}" for side in ("TOP", "BOTTOM", "LEFT", "RIGHT")]
        padded = any(_param(state, side) for state in pools for side in sides)
        return padded or spans - {1} != self.lengths


def _param(state: State, name: str) -> int:
    return state.get(name, (0, 0))[0]


def _payload(state: State, name: str) -> int:
    return state.get(name, (0, 0))[1]
