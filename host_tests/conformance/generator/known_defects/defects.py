# SPDX-License-Identifier: MIT
"""Known defects of Vela 5.2, each with a small graph in this folder that Vela compiles wrongly.

The generator does not draw these graphs: the function that draws the operator avoids them, at a
comment with the defect's name. test_defects.py shows for each which registers of the compiled graph
are wrong and, if only registers are, that correcting them gives the right result.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ethosu_tools.model.tflite import describe, parse

from ..builder import Value, limits
from ..case import Case, feeds
from ..families import U55_U65, U85

_FOLDER = Path(__file__).parent
_EMBEDDED = ("--system-config", "Ethos_U55_High_End_Embedded", "--memory-mode", "Shared_Sram")
_DRAM = ("--system-config", "Ethos_U85_SYS_DRAM_Mid", "--memory-mode")


@dataclass(frozen=True)
class Register:
    """Value of a register when an operation starts, and the value that the graph requires.

    The operation's own opcode as register name stands for its mode.
    """

    operation: int  # on feature maps, counted from 0
    name: str
    found: int
    required: int


@dataclass(frozen=True)
class Constant:
    """Bytes of the constants, from an offset."""

    offset: int
    found: bytes
    required: bytes


@dataclass(frozen=True)
class Offset:
    """Address of a tensor in the arena."""

    graph: int
    tensor: str  # its name, or a suffix of it
    found: int
    required: int


@dataclass(frozen=True)
class Count:
    """Number of operations of a kind."""

    name: str
    found: int
    required: int


Shown = Register | Constant | Offset | Count


@dataclass(frozen=True)
class Defect:
    """A graph, and how its compiled form shows Vela's defect."""

    name: str
    npu: str
    shows: tuple[Shown, ...]
    # Whether the required registers and constants give the right result. If not, operations are
    # missing or memory is planned wrongly, which registers cannot repair.
    repaired: bool
    memory_mode: str = "Sram_Only"  # for Ethos-U85

    @property
    def case(self) -> Case:
        """Return the graph, not yet compiled, with its inputs."""
        path = _FOLDER / f"{self.name}.tflite"
        on_u85 = "u85" in self.npu
        family, options = (U85, (*_DRAM, self.memory_mode)) if on_u85 else (U55_U65, _EMBEDDED)
        model = path.read_bytes()
        inputs = [
            Value(
                0,
                tensor.shape,
                tensor.dtype,
                tensor.scale,
                tensor.zero_point,
                *limits(tensor.dtype),
            )
            for tensor in describe(path).inputs
        ]
        operators = tuple(operator.name for operator in parse(model)[0].operators)
        rows = feeds(np.random.default_rng(0), inputs, as_unsigned=False)
        return Case(family, None, (), model, self.npu, options, operators, rows)


def _shown(row: Mapping[str, Any]) -> Iterator[Shown]:
    for registers in row.get("registers", ()):
        operations = registers.pop("at")
        for operation in operations:
            for name, numbers in registers.items():
                yield Register(operation, name, *numbers)
    for offset, found, required, times in row.get("constants", ()):
        yield Constant(offset, bytes.fromhex(found) * times, bytes.fromhex(required) * times)
    yield from (Offset(*each) for each in row.get("offsets", ()))
    yield from (Count(*each) for each in row.get("counts", ()))


DEFECTS = [
    Defect(
        name,
        row["npu"],
        tuple(_shown(row)),
        row.get("repaired", True),
        row.get("memory_mode", "Sram_Only"),
    )
    for name, row in tomllib.loads((_FOLDER / "defects.toml").read_text()).items()
]
