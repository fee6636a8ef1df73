# SPDX-License-Identifier: MIT
"""The device's threads under ThreadSanitizer, without QEMU: completions race with resets."""

import os
import subprocess
from pathlib import Path

SANITIZE = "-O1 -g -fsanitize=thread"
SOURCES = ["npu_device.c", "worker.c", "message.c"]


def test_runs_and_resets_in_any_order_are_free_of_races(repo: Path, tmp_path: Path) -> None:
    plugin, model = repo / "tools/qemu_plugin", repo / "tools/npu_sim"
    make = ["make", "-s", "-j2", "-C", model, f"BUILD={tmp_path}", f"CFLAGS={SANITIZE}"]
    subprocess.run(make, check=True)
    program = tmp_path / "stress"
    sources = [Path(__file__).parent / "stress/stress.c", *(plugin / name for name in SOURCES)]
    flags = [*SANITIZE.split(), "-std=gnu11", "-pthread", "-Wall", "-Wextra", "-Werror"]
    paths = [f"-I{plugin}", f"-I{model}", *sources, tmp_path / "libnpu_sim.a", "-lm"]
    subprocess.run(["gcc", *flags, *paths, "-o", program], check=True)
    environment = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1"}
    done = subprocess.run(
        [program, "3000"], capture_output=True, text=True, timeout=120, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "3000 turns\n"
