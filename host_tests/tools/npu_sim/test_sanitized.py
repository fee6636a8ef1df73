# SPDX-License-Identifier: MIT
"""The same tests again, with the simulator under the address and undefined-behaviour sanitizers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from host_tests.kit import sharing

HERE = Path(__file__).parent
SUITES = (
    "streams registers weights rounding",
    "fast",
    "u85_streams u85_operators u85_weights u85_accumulators",
)
GRAPHS = 90  # more than operators: each comes first in one


def runtime(name: str) -> str:
    """Give the path of a sanitizer's runtime, which has to be loaded before Python."""
    command = ["gcc", f"-print-file-name={name}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def environment(repo: Path) -> dict[str, str]:
    """With the sanitized libraries in place of the usual ones."""
    sharing.make("tools/npu_sim", "sanitize")
    sharing.make("tools/sim_host", "SANITIZE=address")
    return {
        **os.environ,
        "LD_PRELOAD": f"{runtime('libasan.so')} {runtime('libubsan.so')}",
        "ASAN_OPTIONS": "detect_leaks=0",  # the interpreter's own
        "ETHOSU_NPU_LIBRARY": str(repo / "build/npu_sim/sanitize/libnpu_sim.so"),
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
    files = [str(HERE / f"test_{suite}.py") for suite in suites.split()]
    options = ["-q", "-m", "not slow", "-p", "no:cacheprovider"]
    assert " passed" in run(environment, repo, "pytest", *options, *files)


@pytest.mark.parametrize("family", ["u55-u65", "u85"])
def test_graphs_of_each_operator_are_clean_under_sanitizers(environment, repo, family):
    options = ["--family", family, "--first", "0", "--count", str(GRAPHS), "--no-reduce"]
    assert " exact\n" in run(environment, repo, "host_tests.generator", *options)
