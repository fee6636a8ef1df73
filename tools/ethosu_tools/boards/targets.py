# SPDX-License-Identifier: MIT
"""The NPUs, and the system that Vela assumes around each of them."""

import argparse
import re
from dataclasses import dataclass

from ..base.ui import guess
from .facts import BoardFacts


@dataclass(frozen=True)
class Target:
    """Vela's options for the system around an NPU."""

    system_config: str
    memory_mode: str


# Vela's example system for each NPU.
# Shared_Sram keeps weights in the slow memory and the arena in SRAM; its 4 MiB arena limit is
# exactly the internal SRAM of a Corstone-300. U65 and U85 systems keep the arena in DRAM, with a
# fast scratch in SRAM; a U85 of more MACs has more ports, and the system around it is faster.
_U55 = Target("Ethos_U55_High_End_Embedded", "Shared_Sram")
_U65 = Target("Ethos_U65_High_End", "Dedicated_Sram")
_U85_LOW, _U85_MID, _U85_HIGH = (
    Target(f"Ethos_U85_SYS_DRAM_{size}", "Dedicated_Sram") for size in ("Low", "Mid", "High")
)
TARGETS = {
    "ethos-u55-32": _U55,
    "ethos-u55-64": _U55,
    "ethos-u55-128": _U55,
    "ethos-u55-256": _U55,
    "ethos-u65-256": _U65,
    "ethos-u65-512": _U65,
    "ethos-u85-128": _U85_LOW,
    "ethos-u85-256": _U85_LOW,
    "ethos-u85-512": _U85_MID,
    "ethos-u85-1024": _U85_MID,
    "ethos-u85-2048": _U85_HIGH,
}
NPUS = tuple(TARGETS)


def npus_of(board: BoardFacts) -> tuple[str, ...]:
    """List NPUs that a board supports: its own, the default first, and any if its emulator does."""
    others = NPUS if board.qemu and board.qemu.any_npu else ()
    return tuple(dict.fromkeys((*board.npus, *others)))


def add_npu_option(
    parser: argparse._ActionsContainer,
    text: str,
    *,
    default: str | None = "ethos-u55-128",
    option: str = "--npu",
) -> None:
    """Declare an option that takes an NPU; unknown names are a command line error."""
    parser.add_argument(option, default=default, type=_npu, metavar="NPU", help=text)


def _npu(text: str) -> str:
    if text in NPUS:
        return text
    named = re.search(r"u\d\d", text.lower())
    family = [npu for npu in NPUS if named and named[0] in npu]
    raise argparse.ArgumentTypeError(
        f"unknown NPU {text!r}; {guess(text, NPUS, family)}expected one of {', '.join(NPUS)}"
    )


_SCRATCH_SIZES = ("256KB", "384KB", "512KB")
# Memory placement in each mode of Vela's own configuration file.
MEMORY_MODES = {
    "Sram_Only": "all in SRAM",
    "Shared_Sram": "weights in flash or DRAM, the arena in SRAM",
    "Dedicated_Sram": "weights and arena in DRAM, SRAM is the NPU's fast scratch",
    **{f"Dedicated_Sram_{size}": f"the same, with {size} of SRAM" for size in _SCRATCH_SIZES},
}

CONFIG_FILE = "Arm/vela.ini"
