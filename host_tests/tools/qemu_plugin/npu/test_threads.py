# SPDX-License-Identifier: MIT
"""Runs the device's threads under ThreadSanitizer, where completions race with resets."""

import os
import subprocess
from pathlib import Path

import pytest

from host_tests.kit import sharing

SANITIZE = "-O1 -g -fsanitize=thread"
SOURCES = [
    "board/gate.c",
    "npu/npu_device.c",
    "npu/timing_adapter.c",
    "base/worker.c",
    "base/message.c",
]


@pytest.mark.parametrize("turns", ["200", pytest.param("10000", marks=pytest.mark.slow)])
def test_runs_and_resets_in_any_order_are_free_of_races(
    repo: Path, build_dir: Path, turns: str
) -> None:
    plugin, simulator = repo / "tools/qemu_plugin", repo / "tools/npu_sim"
    sharing.make("tools/sim_host", "archives", "SANITIZE=thread")
    sources = [Path(__file__).with_name("stress.c"), *(plugin / name for name in SOURCES)]
    flags = [*SANITIZE.split(), "-std=gnu11", "-pthread", "-Wall", "-Wextra", "-Werror"]
    archive = build_dir / "npu_sim/thread/libnpu_sim.a"
    paths = [f"-I{plugin}", f"-I{simulator}", *sources, archive, "-lm"]
    program = sharing.program("stress", ["gcc", *flags, *paths, "-o"])
    environment = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1"}
    done = subprocess.run([program, turns], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{turns} turns\n"
