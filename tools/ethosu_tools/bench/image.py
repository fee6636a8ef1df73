# SPDX-License-Identifier: MIT
"""`ethosu bench image`: instructions that ethosu_image takes for a pixel of a tensor.

A firmware that was built with CFLAGS_EXTRA=-DETHOSU_IMAGE_MVE=0 shows what MVE (Helium) saves.
"""

import argparse
from pathlib import Path
from typing import Any

from .. import boards
from ..board import QemuBoard
from ..qemu import Machine
from ..ui import Ui

PICTURE, TENSOR = (320, 240), (96, 96)
FORMATS = {"GRAY": 1, "RGB565": 2, "RGB888": 3}
FILTERS = "NEAREST", "BILINEAR", "AREA"

_COUNT = """\
import emulator, ethosu_image as image, gc
def _count(size, pixel, format, filter, tensor, channels):
    frame = bytearray((i * i * 7 + i * 13) & 255 for i in range(size[0] * size[1] * pixel))
    see = image.Input(frame, size, getattr(image, format), filter=getattr(image, filter))
    memory, shape = bytearray(tensor[0] * tensor[1] * channels), (tensor[1], tensor[0], channels)
    see(memory, shape, "b")
    least = 1 << 60
    for _ in range(3):
        gc.collect()
        begin = emulator.instructions()
        see(memory, shape, "b")
        least = min(least, emulator.instructions() - begin)
    return least
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
    cases = [(f, c, how) for f in FORMATS for c in (1, 3) for how in FILTERS]
    with QemuBoard(machine) as board, ui.progress("counting") as update:
        board.exec(_COUNT)
        for done, (kind, channels, how) in enumerate(cases):
            update(done, len(cases))
            asked = PICTURE, FORMATS[kind], kind, how, TENSOR, channels
            instructions = board.eval(f"_count{asked!r}", timeout=120)
            rows.append(
                {
                    "format": kind,
                    "channels": channels,
                    "filter": how,
                    "instructions": instructions,
                    "per_pixel": round(instructions / (TENSOR[0] * TENSOR[1]), 1),
                }
            )
    return {"board": f"{chosen.name} on QEMU", "picture": PICTURE, "tensor": TENSOR, "rows": rows}


def render(data: dict[str, Any]) -> str:
    """Lay the counts out in a table."""
    (width, height), (wide, high) = data["picture"], data["tensor"]
    lines = [
        f"Guest instructions of ethosu_image on {data['board']}, for a pixel of an int8 tensor of "
        f"{wide} x {high} from a picture of {width} x {height}",
        "",
        f"{'picture':<9}{'channels':>9}" + "".join(f"{how.lower():>10}" for how in FILTERS),
    ]
    for at in range(0, len(data["rows"]), len(FILTERS)):
        found = data["rows"][at : at + len(FILTERS)]
        counts = "".join(f"{row['per_pixel']:>10,.1f}" for row in found)
        lines.append(f"{found[0]['format']:<9}{found[0]['channels']:>9}{counts}")
    return "\n".join(lines)
