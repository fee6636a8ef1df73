# SPDX-License-Identifier: MIT
"""Selects how the simulator and the emulated boards model the CPU's data cache.

"off": no cache. "strict": CPU and NPU have separate copies of memory, and only cache maintenance
moves data between them. "evict:SEED": in addition, lines are evicted and fetched at random times.
tools/sim_host/README.md and tools/qemu_plugin/README.md describe which faults that reveals.
"""

import argparse
import os
import re

from ..base.errors import InputError, checked_by

VARIABLE = "ETHOSU_COHERENCE"
OFF = "off"
_MODES = re.compile(r"off|strict|evict:([0-9]{1,10})")


def check(mode: str) -> str:
    """Return the mode; raises InputError if it is invalid."""
    match = _MODES.fullmatch(mode)
    if match is None or int(match[1] or 0) >= 1 << 32:
        raise InputError(f"{mode!r} is not a coherence mode: expected off, strict or evict:SEED")
    return mode


def chosen(mode: str | None = None) -> str:
    """Return the given mode, else that of ETHOSU_COHERENCE, else "off"."""
    return check(mode or os.environ.get(VARIABLE) or OFF)


def add_option(parser: argparse.ArgumentParser) -> None:
    """Declare --coherence; without it, ETHOSU_COHERENCE decides."""
    parser.add_argument(
        "--coherence",
        type=checked_by(check),
        metavar="off|strict|evict:SEED",
        help="emulate a data cache of the CPU, to reveal missing cache maintenance (default: "
        f"${VARIABLE}, else off)",
    )
