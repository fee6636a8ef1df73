# SPDX-License-Identifier: MIT
"""The fuzz targets of the simulator, bounded, from seeds that Vela compiled."""

import subprocess
import sys

import pytest

from host_tests.kit import sharing

SECONDS = 5
TARGETS = {"streams": ("fuzz_stream", 12_000), "weights": ("fuzz_weights", 4_096)}


@pytest.fixture(scope="module")
def fuzzers(repo):
    sharing.make("tools/npu_sim/fuzz")
    return repo / "build/npu_sim/fuzz"


@pytest.fixture(scope="module")
def corpus(repo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    command = [sys.executable, "-m", "host_tests.generator.seeds", "--count", "60", str(folder)]
    subprocess.run(command, check=True, cwd=repo)
    return folder


@pytest.mark.parametrize("kind", TARGETS)
def test_no_finding(fuzzers, corpus, tmp_path, kind):
    target, longest = TARGETS[kind]
    assert any((corpus / kind).iterdir())
    command = [
        str(fuzzers / target),
        f"-max_total_time={SECONDS}",
        f"-max_len={longest}",
        "-seed=1",
        "-timeout=20",
        f"-artifact_prefix={tmp_path}/",
        str(corpus / kind),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
