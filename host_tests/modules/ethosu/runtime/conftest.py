# SPDX-License-Identifier: MIT
"""Fixtures for the tests of the model runtime and of the Python module on a board."""

import subprocess
from pathlib import Path

import pytest

from host_tests.kit import sharing, vela_once
from host_tests.modules.ethosu.driver import cbuild

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def damage():
    """Runs the program of damage.c: `damage("cut", path)`; returns what it printed."""

    def build(kind: str, *flags: str) -> Path:
        sharing.make("tools/sim_host", "objects", f"SANITIZE={kind}")
        command = [
            *cbuild.sanitized("address", f"-I{HERE / 'describe'}", *flags),
            *(HERE / "damage.c", HERE / "board_none.c", HERE / "exercise.c"),
            HERE / "describe/describe_all.c",
            *sorted((sharing.BUILD / "sim_host" / kind / "modules").rglob("*.o")),
            *("-lm", "-o"),
        ]
        return sharing.program("damage", command)

    def run(how: str, path: Path, width: int = 64) -> str:
        program = build("address") if width == 64 else build("address32", "-m32")
        result = subprocess.run([program, how, path], capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr[-2000:]
        return result.stdout

    return run


@pytest.fixture(scope="session")
def vela(tmp_path_factory):
    """Runs Vela with custom options: `vela(model, "--cop-format", "COP2")`."""

    def run(model: Path, *options: str) -> Path:
        folder = tmp_path_factory.mktemp("vela")
        vela_once.run_vela(model, [*options, "--output-dir", folder])
        (product,) = [*folder.glob("*_vela.tflite"), *folder.glob("*_vela.npz")]
        return product

    return run


@pytest.fixture(scope="session")
def wake_words() -> dict[str, Path]:
    """The streaming wake-word models of the package pymicro-wakeword, by name."""
    import pymicro_wakeword

    folder = Path(pymicro_wakeword.__file__).parent / "models"
    names = ("okay_nabu", "hey_jarvis", "alexa", "hey_mycroft")
    return {name: folder / f"{name}.tflite" for name in names}


@pytest.fixture(scope="session")
def case_of():
    """A model's inputs and expected outputs, computed once: `case_of(path, steps)`."""
    from .reference_cases import make_case

    cases = {}

    def get(model: Path, steps: int, *, extremes: bool = True):
        key = model, steps, extremes
        if key not in cases:
            cases[key] = make_case(model, steps, extremes=extremes)
        return cases[key]

    return get
