# SPDX-License-Identifier: MIT
"""Repeats tests with the simulator under the address and undefined-behaviour sanitizers.

As a program, this runs the models of a folder; only the sanitizers check the result.
"""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools.base.errors import InputError
from ethosu_tools.sim.simulation import Simulation

from host_tests.conformance.campaigns.corpus import GRAPHS_SHORT, corpus
from host_tests.kit import sharing

HERE = Path(__file__).parent
SUITES = (
    "streams malformed registers weights rounding u85_streams u85_operators u85_weights "
    "u85_accumulators",
    "fast",
)


def runtime(name: str) -> str:
    """Return the path of a sanitizer's runtime, which must be loaded before Python."""
    return sharing.run(["gcc", f"-print-file-name={name}"]).strip()


@pytest.fixture(scope="module")
def environment(repo: Path) -> dict[str, str]:
    """Return an environment with the sanitized libraries in place of the usual ones."""
    sharing.make("tools/npu_sim", "sanitize")
    sharing.make("tools/sim_host", "SANITIZE=address")
    return {
        **os.environ,
        "LD_PRELOAD": f"{runtime('libasan.so')} {runtime('libubsan.so')}",
        "ASAN_OPTIONS": "detect_leaks=0",  # the interpreter itself leaks
        "ETHOSU_NPU_LIBRARY": str(repo / "build/npu_sim/address/libnpu_sim.so"),
        "ETHOSU_SIM_LIBRARY": str(repo / "build/sim_host/address/libethosu_sim.so"),
    }


def run(environment: dict[str, str], folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("suites", SUITES)
def test_clean_under_sanitizers(environment, repo, suites):
    files = [str(path) for suite in suites.split() for path in HERE.rglob(f"test_{suite}.py")]
    assert len(files) == len(suites.split())
    options = ["-q", "-m", "not slow", "-p", "no:cacheprovider"]
    assert " passed" in run(environment, repo, "pytest", *options, *files)


def test_graphs_of_each_operator_are_clean_under_sanitizers(environment, repo):
    """Graphs of each operator run without a finding; conformance/generator compares results."""
    folder = str(corpus(GRAPHS_SHORT) / "models")
    ran = run(environment, repo, "host_tests.tools.npu_sim.test_sanitized", folder)
    assert int(ran) > 2 * GRAPHS_SHORT


def main(folder: Path) -> None:
    random = np.random.default_rng(1)
    runs = 0
    for path in sorted(folder.iterdir()):
        # Operators without a CPU kernel are rejected; an index outside its table is a fault.
        with contextlib.suppress(InputError), Simulation(path) as simulation:
            for fill in (None, 0x7F, 0x80, 0):
                for tensor in simulation.inputs:
                    data = simulation.view(tensor).reshape(-1).view(np.uint8)
                    data[:] = random.integers(0, 256, data.size) if fill is None else fill
                with contextlib.suppress(OSError):
                    simulation.invoke()
                    runs += 1
    print(runs)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
