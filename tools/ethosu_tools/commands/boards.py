# SPDX-License-Identifier: MIT
"""`ethosu boards`: list the boards, their NPUs and where they have run."""

import argparse
from dataclasses import asdict
from typing import Any

from .. import boards
from ..answers import views
from ..base.ui import Ui
from ..boards.facts import EMULATED, NOWHERE, SILICON, BlindPoint

EPILOG = f"""\
PROOF is where the image has been shown to work: on a chip ({SILICON}), in QEMU with that chip's
memory map ({EMULATED}), or nowhere ({NOWHERE}). FLASH lists the methods of `ethosu flash`, the
default one first. Features that a board lacks are listed below the table. `ethosu check MODEL` says
which boards can run a model.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the board."""
    boards.add_positional(parser, optional=True)


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Read the boards of boards/, or one of them."""
    return {
        "boards": [
            {
                "name": board.name,
                "title": board.title,
                "core": board.core,
                "clock_mhz": board.clock_mhz,
                "npus": list(board.npus),
                "proof": board.proof,
                "flash": list(board.flash),
                "missing": list(board.missing),
                "blind_point": asdict(board.blind_point) if board.blind_point else None,
            }
            for board in ([boards.load(args.board)] if args.board else boards.every())
        ]
    }


def render(data: dict[str, Any]) -> str:
    """Format the boards as a table."""
    rows = [
        (
            board["name"],
            board["core"],
            str(board["clock_mhz"]),
            ", ".join(board["npus"]),
            board["proof"],
            ", ".join(board["flash"]) or "-",
            board["title"],
        )
        for board in data["boards"]
    ]
    lines = [views.text(("BOARD", "CORE", "MHZ", "NPU", "PROOF", "FLASH", ""), rows)]
    lacking: dict[tuple[str, ...], list[str]] = {}
    for board in data["boards"]:
        lacking.setdefault(tuple(board["missing"]), []).append(board["name"])
    for missing, names in lacking.items():
        if missing:
            lines += ["", f"{', '.join(names)}: not available", *(f"  {what}" for what in missing)]
    for board in data["boards"]:
        if board["blind_point"]:
            lines += ["", board["name"], f"  {BlindPoint(**board['blind_point']).text}"]
    return "\n".join(lines)
