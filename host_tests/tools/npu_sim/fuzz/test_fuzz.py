# SPDX-License-Identifier: MIT
"""Runs the simulator's fuzz targets a fixed number of times, with seeds compiled by Vela."""

import pytest

from host_tests.campaigns.corpus import GRAPHS_SHORT, corpus
from host_tests.kit import sharing

# Target, longest input, runs.
TARGETS = {"inputs": ("fuzz_stream", 12_000, 700), "weights": ("fuzz_weights", 4_096, 3_000)}


@pytest.fixture(scope="module")
def fuzzers(repo):
    sharing.make("tools/npu_sim/fuzz")
    return repo / "build/npu_sim/fuzz"


@pytest.mark.slow
@pytest.mark.parametrize("kind", TARGETS)
def test_no_finding(fuzzers, tmp_path, kind):
    seeds = corpus(GRAPHS_SHORT) / kind
    target, longest, runs = TARGETS[kind]
    assert any(seeds.iterdir())
    sharing.run([
        fuzzers / target,
        f"-runs={runs}",
        f"-max_len={longest}",
        "-seed=1",
        "-timeout=20",
        f"-artifact_prefix={tmp_path}/",
        tmp_path,
        seeds,
    ])  # fmt: skip
