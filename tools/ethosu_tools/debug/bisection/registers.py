# SPDX-License-Identifier: MIT
"""Registers in which two compiled models differ, if both have the same operations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest

from ...base import library
from ...model import Call, ModelFile
from ...model.debug_table import commands
from ...sim.table import Names

_OPERATION = 0x0100  # smaller codes start operations or wait
_WAITS = ("NPU_OP_STOP", "NPU_OP_IRQ", "NPU_OP_DMA_WAIT", "NPU_OP_KERNEL_WAIT", "NPU_OP_PMU_MASK")


@dataclass(frozen=True)
class Setting:
    """A register's name and its values on both sides when an operation starts."""

    operation: int
    layer: str
    register: str
    a: int | None
    b: int | None


@dataclass(frozen=True)
class _State:
    name: str
    offset: int
    registers: dict[str, int]


def differences(a: ModelFile, b: ModelFile) -> list[Setting] | None:
    """List registers that differ, each when its values change; None if the operations differ.

    The first difference of the constants is listed too, as the register "constants".
    """
    calls = a.calls(), b.calls()
    if len(calls[0]) != len(calls[1]):
        return None
    names = Names(a)
    found: list[Setting] = []
    for stream, (one, other) in enumerate(zip(*calls, strict=True)):
        states = list(_states(one)), list(_states(other))
        if [each.name for each in states[0]] != [each.name for each in states[1]]:
            return None
        known: dict[str, tuple[int | None, int | None]] = {}
        for number, (ours, theirs) in enumerate(zip(*states, strict=True)):
            layer = names.find(stream, ours.offset) or ours.name
            for key in dict.fromkeys((*ours.registers, *theirs.registers)):
                pair = ours.registers.get(key), theirs.registers.get(key)
                if pair[0] != pair[1] and pair != known.get(key):
                    found.append(Setting(number, layer, key, *pair))
                known[key] = pair
        found += _constants(one, other)
    return found


def _constants(one: Call, other: Call) -> Iterator[Setting]:
    if one.constants != other.constants:
        pairs = zip_longest(bytes(one.constants), bytes(other.constants))
        at, (a, b) = next((at, pair) for at, pair in enumerate(pairs) if pair[0] != pair[1])
        yield Setting(0, "", f"constants, byte {at}", a, b)


def _states(call: Call) -> Iterator[_State]:
    """Yield the registers whenever an operation starts."""
    names = _names(call.operator.npu)
    registers: dict[str, int] = {}
    for at, code, param, second in commands(call.stream):
        name = names.get(code, f"command 0x{code:04x}")
        register = name.removeprefix("NPU_SET_")
        if second is not None:
            registers |= {register: second, f"{register}, parameter": param}
        elif code >= _OPERATION:
            registers[register] = param
        elif name not in _WAITS:
            yield _State(name, at, registers | {"parameter of the operation": param})


@cache
def _names(npu: str) -> dict[int, str]:
    """Return the names of a family's commands by code."""
    lib, ffi = library.load_sim(), library.ffi()
    info = ffi.new("struct npu_command_info *")
    names: dict[int, str] = {}
    while lib.npu_command_info(npu.encode(), len(names), info):
        names[info.code] = ffi.string(info.name).decode()
    return names
