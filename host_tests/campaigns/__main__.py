# SPDX-License-Identifier: MIT
"""Runs a campaign: python -m campaigns streams --runs 10000000

A campaign that was stopped goes on where it was when the same seed is asked for; without --seed it
is that of the campaign under way, or a new one of the day.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from .common import BUILD, Campaign, FoundError, added
from .corpus import GRAPHS_LONG, corpus
from .files import Files
from .loading import Loading
from .streams import Streams

CAMPAIGNS: dict[str, Callable[[Path], Campaign]] = {
    "streams": Streams,
    "models": Loading,
    "models32": partial(Loading, bits=32),
    "kernels": partial(Loading, target="kernels"),
    "kernels32": partial(Loading, target="kernels", bits=32),
    "payloads": partial(Loading, target="payloads"),
    "payloads32": partial(Loading, target="payloads", bits=32),
    "files": Files,
}


def main() -> int:
    """Exit status 1 when something was found."""
    parser = argparse.ArgumentParser(prog="python -m campaigns", description=__doc__)
    parser.add_argument("campaign", choices=CAMPAIGNS)
    parser.add_argument("--runs", type=int, default=10_000_000, help="how many in all")
    parser.add_argument("--seed", type=int, help="a number up to 2^32; is printed")
    parser.add_argument("--first", type=int, help="repeat runs from this number on, note nothing")
    arguments = parser.parse_args()
    folder = corpus(GRAPHS_LONG)
    campaign = CAMPAIGNS[arguments.campaign](folder)
    note = BUILD / f"{arguments.campaign}.json"
    if arguments.first is not None:
        counts = campaign.run(arguments.seed or 0, arguments.first, arguments.runs)
        print(json.dumps(counts))
        return 0
    state = _state(note, arguments.seed, folder.name)
    where = f"seed {state['seed']}, from run {state['runs']:,}"
    print(f"{arguments.campaign}: {where}, corpus {folder}", flush=True)
    return _go_on(campaign, state, note, arguments.runs)


def _state(note: Path, seed: int | None, made_from: str) -> dict:
    """What was noted, if that is the campaign asked for; else a new one."""
    state = json.loads(note.read_text()) if note.is_file() else {}
    if state.get("corpus") == made_from and seed in (None, state["seed"]):
        return state
    seed = int(time.strftime("%Y%m%d")) if seed is None else seed
    return {"corpus": made_from, "seed": seed, "runs": 0, "seconds": 0.0, "counts": {}}


def _go_on(campaign: Campaign, state: dict, note: Path, runs: int) -> int:
    while state["runs"] < runs:
        count = min(campaign.chunk, runs - state["runs"])
        begin = time.monotonic()
        try:
            counts = campaign.run(state["seed"], state["runs"], count)
        except FoundError as error:
            print(f"FOUND in runs {state['runs']} to {state['runs'] + count}:\n{error}")
            return 1
        seconds = time.monotonic() - begin
        state["runs"] += count
        state["seconds"] += seconds
        state["counts"] = added(state["counts"], counts)
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(json.dumps(state, indent=1) + "\n")
        found = ", ".join(f"{name} {number:,}" for name, number in state["counts"].items())
        print(f"{state['runs']:,} of {runs:,} runs, {count / seconds:,.0f}/s: {found}", flush=True)
    print(f"{note.stem}: {state['runs']:,} runs in {state['seconds']:,.0f} s, nothing found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
