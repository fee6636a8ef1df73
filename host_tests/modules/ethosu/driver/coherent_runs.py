# SPDX-License-Identifier: MIT
"""Runs compiled models behind the simulated data cache, in one process per library.

    python -m host_tests.modules.ethosu.driver.coherent_runs MODEL FEEDS MODE [MODE ...]

FEEDS is an .npz with the inputs of each step as "STEP.INPUT", and the expected outputs as
"STEP=OUTPUT". The program prints a result for each MODE: "exact", "wrong" or the driver's
error. A MODE is "off", "strict" or "evict:SEED"; the suffix "+8" misaligns the file, so that
the runtime copies the NPU's data. ETHOSU_SIM_LIBRARY names the library, as usual.
"""

import sys
from pathlib import Path

import numpy as np
from ethosu_tools.base.errors import ToolError
from ethosu_tools.sim.simulation import Simulation


def steps(feeds) -> list[tuple[list[np.ndarray], list[np.ndarray]]]:
    """Return inputs and expected outputs of each step."""
    count = 1 + max(int(name.partition(".")[0]) for name in feeds if "." in name)

    def row(mark: str, step: int) -> list[np.ndarray]:
        names = [name for name in feeds if name.startswith(f"{step}{mark}")]
        return [feeds[name] for name in sorted(names, key=lambda name: int(name.split(mark)[1]))]

    return [(row(".", step), row("=", step)) for step in range(count)]


class Misaligned(Simulation):
    """A model whose file starts 8 bytes after a multiple of 16."""

    def _alloc(self, size: int) -> int:
        first = not self._memory
        return super()._alloc(size + 8) + 8 if first else super()._alloc(size)


def run(model: bytes, feeds, mode: str) -> str:
    """Load the model from RAM, and run all steps."""
    kind = Misaligned if mode.endswith("+8") else Simulation
    try:
        with kind(model, coherence=mode.removesuffix("+8")) as simulation:
            for inputs, expected in steps(feeds):
                found = simulation.step(inputs)
                pairs = zip(found, expected, strict=True)
                if not all(ours.tobytes() == theirs.tobytes() for ours, theirs in pairs):
                    return "wrong"
    except ToolError as error:
        return str(error)
    return "exact"


def main() -> None:
    """Run in each mode."""
    model, feeds = Path(sys.argv[1]).read_bytes(), dict(np.load(sys.argv[2]))
    for mode in sys.argv[3:]:
        print(mode, run(model, feeds, mode), flush=True)


if __name__ == "__main__":
    main()
