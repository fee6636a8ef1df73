# SPDX-License-Identifier: MIT
"""The simulator library, and models compiled by Vela, each once for its content and options."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

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
    for target in (["tools/npu_sim", "shared"], ["tools/sim_host"]):
        command = ["make", "-s", "-C", *target]
        done = subprocess.run(
            command, cwd=repo, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
    return repo / "build/npu_sim/libnpu_sim.so"


@pytest.fixture(scope="session")
def vela(build_dir: Path) -> Compile:
    """`vela(model, config, *options)`: the compiled file of a model given as path or bytes."""

    def compile_model(model: Path | bytes, config: str, *options: str) -> Path:
        content = model if isinstance(model, bytes) else model.read_bytes()
        key = hashlib.sha256(b"\0".join([content, config.encode(), *map(str.encode, options)]))
        folder = build_dir / "models" / "npu_sim"
        compiled = folder / f"{key.hexdigest()[:24]}.tflite"
        if not compiled.exists():
            folder.mkdir(parents=True, exist_ok=True)
            _run_vela(content, config, options, compiled)
        return compiled

    return compile_model


def _run_vela(content: bytes, config: str, options: tuple[str, ...], compiled: Path) -> None:
    work = compiled.with_suffix(f".{os.getpid()}")
    work.mkdir(exist_ok=True)
    source = work / "model.tflite"
    source.write_bytes(content)
    command = [sys.executable, "-m", "ethosu.vela", "--accelerator-config", config]
    done = subprocess.run(
        [*command, "--output-dir", str(work), *options, str(source)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"Vela refused the model: {done.stdout[-500:]}{done.stderr[-500:]}"
    (work / "model_vela.tflite").replace(compiled)
    for file in work.iterdir():
        file.unlink()
    work.rmdir()


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
