# SPDX-License-Identifier: MIT
"""How the CPU's data cache shows in the simulator and on an emulated board.

"off": not at all. "strict": CPU and NPU see a copy of memory each, and only cache maintenance
moves data between them. "evict:SEED": besides, lines are written back and fetched at random
moments. tools/sim_host/README.md and tools/qemu_plugin/README.md say what that finds.
"""

import argparse
import os
import re

from .errors import InputError

VARIABLE = "ETHOSU_COHERENCE"
OFF = "off"
_MODES = re.compile(r"off|strict|evict:([0-9]{1,10})")


def check(mode: str) -> str:
    """Return the mode; InputError when there is none of that name."""
    found = _MODES.fullmatch(mode)
    if found is None or int(found[1] or 0) >= 1 << 32:
        raise InputError(f"{mode!r} is no coherence mode: expected off, strict or evict:SEED")
    return mode


def chosen(mode: str | None = None) -> str:
    """Return the mode that was asked for; without one, that of ETHOSU_COHERENCE, else "off"."""
    return check(mode or os.environ.get(VARIABLE) or OFF)


def add_option(
    parser: argparse.ArgumentParser, purpose: str = "", default: str | None = None
) -> None:
    """Declare --coherence; without a default ETHOSU_COHERENCE decides."""
    purpose = purpose or "so that missing cache maintenance shows"
    parser.add_argument(
        "--coherence",
        type=_argument,
        metavar="off|strict|evict:SEED",
        default=default,
        help=f"let an emulated CPU have a data cache, {purpose} "
        f"(default: {default or f'${VARIABLE}, else off'})",
    )


def add_bench_option(parser: argparse.ArgumentParser) -> None:
    """Declare --coherence of a benchmark: off, so that a count is of the program alone."""
    add_option(parser, "so that its maintenance is counted, too", OFF)


def _argument(text: str) -> str:
    try:
        return check(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
