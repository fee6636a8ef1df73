# SPDX-License-Identifier: MIT
"""`ethosu bench audio`: instructions that the front ends take for 10 ms of sound.

A firmware that was built with CFLAGS_EXTRA=-DETHOSU_AUDIO_MVE=0 shows what MVE (Helium) saves.
"""

import argparse
from pathlib import Path
from typing import Any

from .. import boards
from ..board import QemuBoard
from ..qemu import Machine
from ..ui import Ui

CLOCK_MHZ = 160
RATE = 16_000

_COUNT = """\
import emulator, ethosu_audio, gc
from array import array
def _count(kind):
    frontend = kind()
    rows = array("f", bytes(4 * frontend.values))
    sound = array("h", [(i * i * 7 + i * 13) % 9001 - 4500 for i in range(frontend.window)])
    frontend.process(sound, rows)
    hop = memoryview(sound)[:frontend.hop]
    least = 1 << 60
    for _ in range(20):
        gc.collect()
        begin = emulator.instructions()
        frontend.process(hop, rows)
        least = min(least, emulator.instructions() - begin)
    return frontend.hop, least
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    boards.add_option(parser, "the board")
    parser.add_argument("--firmware", type=Path, help="another image than the board's")


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Count on an emulated board."""
    chosen = boards.chosen(args.board)
    machine = Machine(None, board=chosen.name, firmware=args.firmware, repeatable=True)
    rows = []
    with QemuBoard(machine) as board:
        board.exec(_COUNT)
        for name in ("MicroFrontend", "Mfcc", "LogMel"):
            hop, instructions = board.eval(f"_count(ethosu_audio.{name})", timeout=60)
            per_10_ms = instructions * RATE / 100 / hop
            rows.append(
                {
                    "front_end": name,
                    "hop_ms": 1000 * hop / RATE,
                    "instructions_per_row": instructions,
                    "instructions_per_10_ms": round(per_10_ms),
                    "real_time_factor": round(per_10_ms / (CLOCK_MHZ * 10_000), 4),
                }
            )
    return {"board": f"{chosen.name} on QEMU", "clock_mhz": CLOCK_MHZ, "front_ends": rows}


def render(data: dict[str, Any]) -> str:
    """Lay the counts out in a table."""
    lines = [
        f"Guest instructions of ethosu_audio on {data['board']}; real-time factor: the share of a "
        f"CPU at {data['clock_mhz']} MHz, at one instruction a cycle",
        "",
        f"{'front end':<16}{'hop':>7}{'per row':>10}{'per 10 ms':>11}{'real-time factor':>18}",
    ]
    lines += [
        f"{row['front_end']:<16}{row['hop_ms']:>4.0f} ms{row['instructions_per_row']:>10,}"
        f"{row['instructions_per_10_ms']:>11,}{row['real_time_factor']:>18.4f}"
        for row in data["front_ends"]
    ]
    return "\n".join(lines)
