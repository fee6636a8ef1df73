# SPDX-License-Identifier: MIT
"""The same tests again, with the simulator under the address and undefined-behaviour sanitizers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import sharing

HERE = Path(__file__).parent
SUITES = (
    "streams registers weights rounding",
    "operators",
    "fast",
    "u85_streams u85_operators u85_weights u85_accumulators",
)


def runtime(name: str) -> str:
    """Give the path of a sanitizer's runtime, which has to be loaded before Python."""
    command = ["gcc", f"-print-file-name={name}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def sanitized(repo: Path) -> Path:
    sharing.make("tools/npu_sim", "sanitize")
    sharing.make("tools/sim_host", "SANITIZE=address")
    return repo / "build/npu_sim/sanitize/libnpu_sim.so"


@pytest.mark.parametrize("suites", SUITES)
def test_clean_under_sanitizers(sanitized, repo, suites):
    environment = {
        **os.environ,
        "LD_PRELOAD": f"{runtime('libasan.so')} {runtime('libubsan.so')}",
        "ASAN_OPTIONS": "detect_leaks=0",  # the interpreter's own
        "ETHOSU_NPU_LIBRARY": str(sanitized),
        "ETHOSU_SIM_LIBRARY": str(repo / "build/sim_host/address/libethosu_sim.so"),
    }
    files = [str(HERE / f"test_{suite}.py") for suite in suites.split()]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", *files],
        env=environment,
        cwd=repo,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert " passed" in done.stdout
