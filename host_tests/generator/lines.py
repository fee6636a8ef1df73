# SPDX-License-Identifier: MIT
"""Runs generated graphs in this process, for the line coverage of the simulator.

python -m host_tests.generator.lines --count 1000
"""

from __future__ import annotations

import argparse

from ethosu_tools.base.errors import ToolError
from ethosu_tools.sim.simulation import Simulation

from host_tests.kit import isolated

from . import case as cases
from . import vela
from .builder import UnsuitableError
from .families import U55_U65, U85


def main() -> None:
    """Runs only the simulator: a child process would lose its counters."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    count, done = parser.parse_args().count, 0
    for seed in range(count):
        try:
            case = cases.make(seed // 2, family=(U55_U65, U85)[seed % 2])
            compiled = vela.compile_case(case)
            with Simulation(compiled.model, case.npu, verify=False) as simulation:
                simulation.step(case.feeds[0])
            done += 1
        except (UnsuitableError, vela.RefusedError, isolated.DiedError, ToolError):
            continue
    print(f"{done} of {count} graphs ran")


if __name__ == "__main__":
    main()
