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

from .board.faults import Faults
from .board.soak import Soak
from .common import BUILD, Campaign, FoundError, added
from .corpus import GRAPHS_LONG, corpus
from .files import Files
from .loading import Loading
from .serial import Serial
from .streams import Streams


def _long(make: Callable[[Path], Campaign]) -> Campaign:
    return make(corpus(GRAPHS_LONG))


# A campaign, and its number of runs: inputs, rounds, inferences.
CAMPAIGNS: dict[str, tuple[Callable[[], Campaign], int]] = {
    "streams": (partial(_long, Streams), 10_000_000),
    "models": (partial(_long, Loading), 10_000_000),
    "models32": (partial(_long, partial(Loading, bits=32)), 10_000_000),
    "kernels": (partial(_long, partial(Loading, target="kernels")), 10_000_000),
    "kernels32": (partial(_long, partial(Loading, target="kernels", bits=32)), 10_000_000),
    "payloads": (partial(_long, partial(Loading, target="payloads")), 10_000_000),
    "payloads32": (partial(_long, partial(Loading, target="payloads", bits=32)), 10_000_000),
    "files": (partial(_long, Files), 1_000_000),
    "faults": (Faults, 10_000),
    "faults-by-host-time": (partial(Faults, host_time=True), 10_000),
    "soak": (Soak, 1_000_000),
    "serial": (Serial, 1_000),
}


def main() -> int:
    """Exit status 1 when something was found."""
    parser = argparse.ArgumentParser(prog="python -m campaigns", description=__doc__)
    parser.add_argument("campaign", choices=CAMPAIGNS)
    parser.add_argument("--runs", type=int, help="how many in all; each has a default of its own")
    parser.add_argument("--seed", type=int, help="a number up to 2^32; is printed")
    parser.add_argument("--first", type=int, help="repeat runs from this number on, note nothing")
    arguments = parser.parse_args()
    make, runs = CAMPAIGNS[arguments.campaign]
    campaign, runs = make(), arguments.runs or runs
    note = BUILD / f"{arguments.campaign}.json"
    if arguments.first is not None:
        return _repeat(campaign, arguments.seed or 0, arguments.first, runs)
    made_from = str(getattr(campaign, "corpus", ""))
    state = _state(note, arguments.seed, made_from)
    print(f"{arguments.campaign}: seed {state['seed']}, from run {state['runs']:,}", flush=True)
    return _go_on(campaign, state, note, runs)


def _repeat(campaign: Campaign, seed: int, first: int, runs: int) -> int:
    try:
        print(json.dumps(campaign.run(seed, first, runs)))
    except FoundError as error:
        print(f"FOUND: {error}")
        return 1
    return 0


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
