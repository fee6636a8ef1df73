# SPDX-License-Identifier: MIT
"""The simulator library, and models compiled by Vela, each once for its content and options."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import sharing

CONFIGS = (
    "ethos-u55-32",
    "ethos-u55-64",
    "ethos-u55-128",
    "ethos-u55-256",
    "ethos-u65-256",
    "ethos-u65-512",
)
U85_CONFIGS = (
    "ethos-u85-128",
    "ethos-u85-256",
    "ethos-u85-512",
    "ethos-u85-1024",
    "ethos-u85-2048",
)

Compile = Callable[..., Path]


@pytest.fixture(scope="session", autouse=True)
def npu_library(repo: Path) -> Path:
    """Build the simulator, alone and with driver and runtime."""
    sharing.make("tools/npu_sim", "shared")
    sharing.make("tools/sim_host")
    return repo / "build/npu_sim/libnpu_sim.so"


@pytest.fixture(scope="session")
def vela() -> Compile:
    """`vela(model, config, *options)`: the compiled file of a model given as path or bytes."""

    def compile_model(model: Path | bytes, config: str, *options: str) -> Path:
        content = model if isinstance(model, bytes) else model.read_bytes()
        folder = sharing.compiled(
            "model",
            content,
            [config, *options],
            lambda source, output: _run_vela(
                source, output, ["--accelerator-config", config, *options]
            ),
        )
        return folder / "model_vela.tflite"

    return compile_model


def _run_vela(source: Path, output: Path, options: list[str]) -> None:
    command = [sys.executable, "-m", "ethosu.vela", *options, "--output-dir", output, source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"Vela refused the model: {done.stdout[-500:]}{done.stderr[-500:]}"


def random_inputs(
    inputs: list[tuple[tuple[int, ...], str]], random: np.random.Generator
) -> list[np.ndarray]:
    """Raw values over the whole range of each input's type."""
    arrays = []
    for shape, dtype in inputs:
        limits = np.iinfo(dtype)
        arrays.append(random.integers(limits.min, limits.max, shape, dtype, endpoint=True))
    return arrays


def extreme_inputs(inputs: list[tuple[tuple[int, ...], str]]) -> list[list[np.ndarray]]:
    """All lowest values, all highest, all 0."""
    return [
        [np.full(shape, pick(np.iinfo(dtype)), dtype) for shape, dtype in inputs]
        for pick in (lambda t: t.min, lambda t: t.max, lambda _: 0)
    ]
