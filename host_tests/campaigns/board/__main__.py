# SPDX-License-Identifier: MIT
"""Runs a campaign on the board: python -m campaigns.board faults --runs 10000"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial

from .common import FoundError
from .faults import Faults
from .soak import Soak

# A campaign, and its number of runs: rounds, inferences.
CAMPAIGNS: dict[str, tuple[Callable[[], Faults | Soak], int]] = {
    "faults": (Faults, 10_000),
    "faults-by-host-time": (partial(Faults, host_time=True), 10_000),
    "soak": (Soak, 1_000_000),
}


def main() -> int:
    """Exit status 1 when something was found."""
    parser = argparse.ArgumentParser(prog="python -m campaigns.board", description=__doc__)
    parser.add_argument("campaign", choices=CAMPAIGNS)
    parser.add_argument("--runs", type=int, help="rounds (10^4), or inferences (10^6)")
    parser.add_argument("--seed", type=int, default=int(time.strftime("%Y%m%d")))
    parser.add_argument("--first", type=int, default=0, metavar="NUMBER", help="run to begin with")
    arguments = parser.parse_args()
    make, runs = CAMPAIGNS[arguments.campaign]
    campaign, end = make(), arguments.first + (arguments.runs or runs)
    print(f"{arguments.campaign}: seed {arguments.seed}, from run {arguments.first:,}", flush=True)
    first, found = arguments.first, 0
    while first < end:
        count = min(campaign.chunk - first % campaign.chunk, end - first)
        begin = time.monotonic()
        try:
            counts = campaign.run(arguments.seed, first, count)
            said = ", ".join(f"{name} {number:,}" for name, number in counts.items())
        except FoundError as error:
            found, said = found + 1, f"FOUND:\n{error}"
        first += count
        rate = count / (time.monotonic() - begin)
        print(f"{first:,} of {end:,} runs, {rate:,.1f}/s: {said}", flush=True)
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
