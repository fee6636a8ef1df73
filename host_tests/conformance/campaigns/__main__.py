# SPDX-License-Identifier: MIT
"""Runs a campaign: python -m host_tests.conformance streams --runs 1000 (`make campaign-streams`)

Without a name, lists the campaigns. One that was stopped resumes if it is started with the same
seed. Without --seed, this is the seed of the unfinished campaign, or else the date.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from ethosu_tools.base.ui import Ui

from host_tests.kit import found

from . import common
from .board.faults import Faults
from .board.soak import Soak
from .common import Campaign, Counts, FoundError, Row, added
from .corpus import GRAPHS_LONG, corpus
from .files import Files
from .loading import Loading
from .serial import Serial


def _long(make: Callable[[Path], Campaign]) -> Callable[[], Campaign]:
    return lambda: make(corpus(GRAPHS_LONG))


# Those of add-ons are in their tests, in campaign_rows.py.
CAMPAIGNS: dict[str, Row] = {
    "streams": Row(_long(partial(Loading, target="streams")), 10_000_000),
    "models": Row(_long(Loading), 5_000_000),
    "models32": Row(_long(partial(Loading, bits=32)), 15_000_000),
    "kernels": Row(_long(partial(Loading, target="kernels")), 20_000_000),
    "kernels32": Row(_long(partial(Loading, target="kernels", bits=32)), 20_000_000),
    "payloads": Row(_long(partial(Loading, target="payloads")), 20_000_000),
    "payloads32": Row(_long(partial(Loading, target="payloads", bits=32)), 20_000_000),
    "files": Row(_long(Files), 1_000_000),
    "faults": Row(Faults, 10_000, "board-images plugin"),
    "faults-by-host-time": Row(partial(Faults, host_time=True), 10_000, "board-images plugin"),
    "soak": Row(Soak, 1_000_000, "firmware plugin"),
    "serial": Row(Serial, 1_000, "firmware plugin"),
    **{name: row for each in found.modules("campaign_rows") for name, row in each.ROWS.items()},
}


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status 1 if there was a finding."""
    parser = argparse.ArgumentParser(prog="host_tests.conformance", description=__doc__)
    parser.add_argument("campaign", choices=CAMPAIGNS, nargs="?")
    parser.add_argument("--needs", action="store_true", help="print what make builds for it")
    parser.add_argument(
        "--runs",
        type=int,
        help="how many in all: inputs, rounds, inferences (default: a night's)",
    )
    parser.add_argument("--seed", type=int, help="a number up to 2^32; is printed")
    parser.add_argument("--first", type=int, help="repeat runs from this number on, note nothing")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args(argv)
    if arguments.campaign is None:
        print("\n".join(f"{name:20} {row.runs:>12,} runs" for name, row in CAMPAIGNS.items()))
        return 0
    row = CAMPAIGNS[arguments.campaign]
    if arguments.needs:
        print(row.needs)
        return 0
    ui, campaign = Ui(as_json=arguments.json), row.make()
    note, runs = common.BUILD / f"{arguments.campaign}.json", arguments.runs or row.runs
    try:
        if arguments.first is not None:
            counts = campaign.run(arguments.seed or 0, arguments.first, runs)
            ui.result({"counts": counts}, _figures(counts))
            return 0
        state = _state(note, arguments.seed, str(getattr(campaign, "corpus", "")))
        _go_on(campaign, state, note, runs, ui)
    except FoundError as error:
        ui.result({"campaign": arguments.campaign, "found": str(error)}, f"FOUND: {error}")
        return 1
    text = (
        f"{note.stem}, seed {state['seed']}: {state['runs']:,} runs in {state['seconds']:,.0f} s, "
        f"nothing found\n{_figures(state['counts'])}"
    )
    ui.result({"campaign": arguments.campaign, **state}, text)
    return 0


def _state(note: Path, seed: int | None, made_from: str) -> dict:
    """The saved state if it is for the requested campaign; else a new one."""
    state = json.loads(note.read_text()) if note.is_file() else {}
    if state.get("corpus") == made_from and seed in (None, state["seed"]):
        return state
    seed = int(time.strftime("%Y%m%d")) if seed is None else seed
    return {"corpus": made_from, "seed": seed, "runs": 0, "seconds": 0.0, "counts": {}}


def _go_on(campaign: Campaign, state: dict, note: Path, runs: int, ui: Ui) -> None:
    """Run the rest, and save the progress after each chunk."""
    _say(f"{note.stem}: seed {state['seed']}, from run {state['runs']:,}")
    with ui.progress(note.stem) as progress:
        while state["runs"] < runs:
            progress(state["runs"], runs)
            count = min(campaign.chunk, runs - state["runs"])
            begin = time.monotonic()
            counts = campaign.run(state["seed"], state["runs"], count)
            seconds = time.monotonic() - begin
            state["runs"] += count
            state["seconds"] += seconds
            state["counts"] = added(state["counts"], counts)
            note.parent.mkdir(parents=True, exist_ok=True)
            note.write_text(json.dumps(state, indent=1) + "\n")
            if not ui.console.is_terminal:
                _say(f"{note.stem}: {state['runs']:,} of {runs:,} runs, {count / seconds:,.0f}/s")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _figures(counts: Counts) -> str:
    return "\n".join(f"  {name:32} {number:>15,}" for name, number in sorted(counts.items()))


if __name__ == "__main__":
    sys.exit(main())
