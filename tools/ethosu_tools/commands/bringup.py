# SPDX-License-Identifier: MIT
"""`ethosu bringup`: check a new board, step by step."""

import argparse
import textwrap
from dataclasses import asdict
from typing import Any

from .. import boards
from ..board import Board
from ..bringup import CHECKS, FAILED, NOT_RUN, OK, run
from ..errors import BoardError
from ..ui import Ui

_WIDTH = 100
_INDENT = " " * 20

EPILOG = f"""\
The checks, in the order in which things fail:

{"".join(f"    {check.name:<12}{check.title}{chr(10)}" for check in CHECKS)}
A failed check explains what that usually means, and with --board what is most probable on this
board. The checks change nothing on the board, except that they write a file to / and remove it
again. The board is reset at the end.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("port", metavar="PORT", help="serial port or pyserial URL of the board")
    boards.add_option(parser, "compare with the data of this board", None)


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Run the checks; raises BoardError if one of them failed."""
    facts = boards.load(args.board) if args.board else None
    outcomes = []
    for outcome in run(lambda: Board(args.port), facts):
        outcomes.append(outcome)
        ui.note(f"{outcome.check.name}: {outcome.state}")
    counts = {
        state: sum(outcome.state == state for outcome in outcomes)
        for state in (OK, FAILED, NOT_RUN)
    }
    data = {
        "port": args.port,
        "board": args.board,
        "passed": counts[OK],
        "failed": counts[FAILED],
        "not_run": counts[NOT_RUN],
        "checks": [outcome.as_dict() for outcome in outcomes],
    }
    failure = facts.first_failure if facts else None
    first = next((outcome.check.name for outcome in outcomes if outcome.state == FAILED), None)
    if failure and failure.check == first:
        data["first_failure"] = asdict(failure)
    if counts[FAILED]:
        ui.result(data, render(data))
        failed = (outcome for outcome in outcomes if outcome.state == FAILED)
        names = ", ".join(outcome.check.name for outcome in failed)
        raise BoardError(f"{counts[FAILED]} of {len(outcomes)} checks failed: {names}")
    return data


def render(data: dict[str, Any]) -> str:
    """One line for each check; a failed one is followed by its usual cause, and the board's own."""
    lines = []
    for check in data["checks"]:
        lines.append(f"{check['name']:<12}{check['state']:<8}{check['found']}")
        if "meaning" in check:
            lines += _wrapped(check["meaning"])
        failure = data.get("first_failure")
        if failure and failure["check"] == check["name"]:
            lines += _wrapped(
                f"On this board most probably (nobody has seen it): {failure['cause']} "
                f"What to expect then: {failure['seen']} What to try: {failure['remedy']}"
            )
    return "\n".join(lines)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT,
        break_on_hyphens=False,
    )
