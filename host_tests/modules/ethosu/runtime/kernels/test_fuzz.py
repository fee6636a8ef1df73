# SPDX-License-Identifier: MIT
"""No damaged model makes a kernel read or write outside its memory (libFuzzer, ASan, UBSan)."""

import shutil
import subprocess

import pytest
from ethosu_tools.make_mixed import MixedNet

from . import plan_writer
from .maker import GENERATORS, make

SECONDS = 10
MOST_BYTES = 8192


def _state_and_npu():
    """A small graph whose plan must keep state out of the NPU's scratch."""
    net = MixedNet("state", 1)
    x = net.svdf(net.input((1, 8)), 4, memory=3)
    net.graph.outputs.append(net.dense(x, 4, gain=1.0).tensor)
    return net.finish()


def _fuzz(build_program, folder, compile_mixed, limit):
    program = build_program("kernels/fuzz_kernels.c", fuzz=True)
    corpus = folder / "corpus"
    corpus.mkdir()
    _, _, planned = compile_mixed("fuzz_state", _state_and_npu())
    shutil.copy(planned, corpus / "state")
    for name in GENERATORS:
        for seed in range(3):
            (corpus / f"{name}{seed}").write_bytes(plan_writer.add_plan(make(name, seed).model))
    options = [f"-max_len={MOST_BYTES}", "-rss_limit_mb=1500", "-timeout=20"]
    assert (corpus / "state").stat().st_size <= MOST_BYTES
    result = subprocess.run(
        [program, limit, *options, corpus],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]


def test_for_a_while(build_program, tmp_path, compile_mixed):
    _fuzz(build_program, tmp_path, compile_mixed, f"-max_total_time={SECONDS}")


@pytest.mark.slow
def test_a_million(build_program, tmp_path, compile_mixed):
    _fuzz(build_program, tmp_path, compile_mixed, "-runs=1000000")
