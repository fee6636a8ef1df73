# SPDX-License-Identifier: MIT
"""`ethosu boards`: list the boards, or say which of them can run a model."""

import argparse
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .. import boards, first_minute, fit, vela, verification
from ..boards import EMULATED, NOWHERE, SILICON, BlindPoint
from ..errors import InputError, UsageError
from ..layers import views
from ..model import ANY, ModelFile
from ..ui import Ui

EPILOG = f"""\
PROOF is where the image has been shown to work: on a chip ({SILICON}), in QEMU with that chip's
memory map ({EMULATED}), or nowhere ({NOWHERE}). FLASH lists the methods of `ethosu flash`, the
default one first. Features that a board lacks are listed below the table. With a board's name, its
steps from reset to prompt follow, each with its source: where a new board stops, and why.

With --model, the table says which boards can run a model: a row for each NPU of each board, with
what the model needs and what the board has. A model that is not compiled is compiled for each of
them, as by `ethosu compile --board`. Below the table is what is missing.

    ethosu boards --model kws.tflite
    ethosu boards --model kws.tflite --reserve 300K
    ethosu boards BOARD --model kws.tflite
"""
_MODEL_HEAD = ("BOARD", "NPU", "FITS", "HEAP", "OF", "/ROM", "OF")
_WIDTH = 92


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the board."""
    boards.add_positional(parser, optional=True)
    parser.add_argument("--model", type=Path, help=f"which boards can run it: {ANY}")
    fit.add_reserve_option(parser)
    verification.add_option(parser)


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Read the boards of boards/, or one of them with its start."""
    chosen = [boards.load(args.board)] if args.board else boards.every()
    if args.model:
        rows = list(_fits(args, ui, chosen))
        fits = any(not row["fit"]["short"] for row in rows if "fit" in row)
        code = 0 if fits else InputError.exit_code
        return {"model": str(args.model), "reserve": args.reserve, "fits": rows, "exit_code": code}
    if args.reserve:
        raise UsageError("--reserve is for --model MODEL, which must fit into the rest of the heap")
    start = (
        {"start": [asdict(step) for step in first_minute.steps(args.board)]} if args.board else {}
    )
    return start | {
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
            for board in chosen
        ]
    }


def _fits(
    args: argparse.Namespace, ui: Ui, chosen: Sequence[boards.BoardFacts]
) -> Iterator[dict[str, Any]]:
    """A row for each NPU of each board: whether the model fits, or why it cannot be compiled."""
    from ..estimate import latency, systems  # NumPy, which a list of boards does not need
    from ..vela_versions import open_model

    model = open_model(ui, args.model)
    pairs = [(board, npu) for board in chosen for npu in _npus(board, model)]
    with ui.progress("compiling") as update:
        for done, (board, npu) in enumerate(pairs):
            update(done, len(pairs))
            row = {"board": board.name, "npu": npu}
            try:
                made = systems.compile_for(model, systems.find(board.name, npu))
                need = fit.need_of(latency.as_written(model, made, board.name))
            except InputError as error:
                yield row | {"error": str(error)}
                continue
            found = fit.on_board(need, board.name, args.reserve)
            yield row | ({"fit": found.as_dict()} if found else {"error": "its heap is unknown"})


def _npus(board: boards.BoardFacts, model: ModelFile) -> tuple[str, ...]:
    """NPUs to compile for; of a compiled model its own, or the one that the board has instead."""
    own = model.description.npu
    if not model.description.compiled:
        return board.npus
    return (own,) if own and own in vela.npus_of(board) else board.npus[:1]


def _render_fits(data: dict[str, Any]) -> str:
    """A table, and below it each reason with its boards."""
    rows, below = [], dict[str, list[str]]()
    for row in data["fits"]:
        found = row.get("fit")
        cells = ("?", "", "", "", "")
        if found:
            need, left = found["need"], max(0, found["heap"] - found["reserve"])
            heap, rom = f"{need['heap']:,}", f"{need['rom']:,}"
            cells = (fit.in_a_word(found), heap, f"{left:,}", rom, f"{found['rom']:,}")
        rows.append((row["board"], row["npu"], *cells))
        for why in found["short"] if found else [row["error"]]:
            below.setdefault(why, []).append(row["board"])
    lines = [views.text(_MODEL_HEAD, rows, "HEAP", "OF", "/ROM")]
    names = ("" if name in why else f"{name}: " for why, (name, *_) in below.items())
    reasons = [f"{name}{why}" for name, why in zip(names, below, strict=True)]
    return "\n".join([*lines, *([""] if reasons else []), *reasons])


def render(data: dict[str, Any]) -> str:
    """Format the boards as a table."""
    if "fits" in data:
        return _render_fits(data)
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
    for number, step in enumerate(data.get("start", ()), 1):
        text = f"{step['does']} [{step['source']}]"
        lines += [
            "",
            *textwrap.wrap(text, _WIDTH, initial_indent=f"{number:3} ", subsequent_indent="    "),
        ]
    return "\n".join(lines)
