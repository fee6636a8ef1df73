# SPDX-License-Identifier: MIT
"""Runs run_model.c: runtime, driver and NPU simulator in one program with sanitizers."""

import functools
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from ethosu_tools.model.arrays import Array

from host_tests.kit import sharing
from host_tests.kit.sharing import REPO

NPU = "ethos-u55-128"
# Compiler options, by their names in tools/sim_host.
SANITIZERS = {"address": "address,undefined", "thread": "thread"}


@functools.cache
def build(sanitizer: str) -> Path:
    """Build the program with a sanitizer."""
    sharing.make("tools/sim_host", f"SANITIZE={sanitizer}")
    module, host = REPO / "modules/ethosu", REPO / "tools/sim_host"
    library = REPO / "build/sim_host" / sanitizer
    command = [
        *("gcc", "-std=gnu11", "-g1", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread"),
        *(f"-fsanitize={SANITIZERS[sanitizer]}", "-fno-sanitize-recover=all"),
        *(
            f"-I{path}"
            for path in (module, module / "runtime/include", module / "driver/include", host)
        ),
        Path(__file__).with_suffix(".c"),
        *(f"-L{library}", "-lethosu_sim", f"-Wl,-rpath,{library}", "-o"),
    ]
    return sharing.program("run_model", command)


def run(
    compiled: Path,
    inputs: Iterable[Sequence[Array]],
    *,
    npu: str = NPU,
    fast: int | None = None,
    sanitizer: str = "address",
) -> bytes:
    """Run all steps; `fast` is the size of the driver's memory for fast scratch."""
    steps = [b"".join(array.tobytes() for array in row) for row in inputs]
    with tempfile.TemporaryDirectory() as name:
        given, found = Path(name) / "in", Path(name) / "out"
        given.write_bytes(b"".join(steps))
        arguments = [npu, compiled, given, found, str(len(steps))]
        arguments += [] if fast is None else [str(fast)]
        result = subprocess.run(
            [build(sanitizer), *arguments], capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stderr[-3000:]
        return found.read_bytes()
