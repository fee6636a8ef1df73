# SPDX-License-Identifier: MIT
"""Families of NPUs that cases are drawn for: their configs, systems and operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from . import coverage, coverage_u85, operators
from .builder import Builder
from .operators import u85


@dataclass(frozen=True)
class Family:
    """Options for Vela, and known properties of the results."""

    name: str
    npus: tuple[str, ...]
    # Systems of Vela's configuration file that support a memory mode, by product.
    systems: Mapping[str, Mapping[str, tuple[str, ...]]]
    generators: Mapping[str, Callable[[Builder], None]]
    alone: frozenset[str]
    never_on_npu: Mapping[str, str]
    # Vela's switches, and their percentages of the cases; the first one drawn is used.
    switches: Mapping[str, int]
    features: Callable[[bytes], Counter[str]] = coverage.features
    # Cases have uint8 instead of int8; graphs with 16-bit numbers are excluded.
    unsigned: bool = False


_EMBEDDED = {"u55": ("Ethos_U55_High_End_Embedded",), "u65": ("Ethos_U65_Embedded",)}

U55_U65 = Family(
    name="u55-u65",
    npus=(
        "ethos-u55-128",
        "ethos-u55-32",
        "ethos-u55-64",
        "ethos-u55-256",
        "ethos-u65-256",
        "ethos-u65-512",
    ),
    systems={
        "Shared_Sram": _EMBEDDED,
        "Sram_Only": _EMBEDDED,
        "Dedicated_Sram": dict.fromkeys(("u55", "u65"), ("Ethos_U65_High_End",)),
    },
    generators=operators.GENERATORS,
    alone=frozenset(operators.ALONE),
    never_on_npu=operators.NEVER_ON_NPU,
    switches={},
)
U55_U65_UNSIGNED = replace(
    U55_U65,
    name="u55-u65-unsigned",
    # Vela defect: transpose-uint8
    generators={name: make for name, make in operators.GENERATORS.items() if name != "TRANSPOSE"},
    unsigned=True,
)

_DRAM = tuple(f"Ethos_U85_SYS_DRAM_{size}" for size in ("Low", "Mid", "High"))
_FLASH = ("Ethos_U85_SYS_Flash_Low", "Ethos_U85_SYS_Flash_High")

U85 = Family(
    name="u85",
    npus=tuple(f"ethos-u85-{macs}" for macs in (256, 128, 512, 1024, 2048)),
    systems={
        "Shared_Sram": {"u85": _DRAM + _FLASH},
        "Sram_Only": {"u85": _DRAM},
        "Dedicated_Sram": {"u85": _DRAM},
        "Dedicated_Sram_256KB": {"u85": _DRAM},
    },
    generators=u85.GENERATORS,
    alone=frozenset(u85.ALONE),
    never_on_npu=u85.NEVER_ON_NPU,
    switches={
        "--disable-chaining": 10,
        "--disable-fwd": 5,
        "--disable-cascading": 5,
        "--disable-buffering": 5,
    },
    features=coverage_u85.features,
)

FAMILIES = {family.name: family for family in (U55_U65, U55_U65_UNSIGNED, U85)}
