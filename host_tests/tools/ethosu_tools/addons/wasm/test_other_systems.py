# SPDX-License-Identifier: MIT
"""The command on a system that lacks what only Linux or POSIX has: each command works, or says in
one sentence that it needs Linux. `make lint` asks mypy the same of lines that no test runs.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ethosu_tools import cli
from ethosu_tools.link.open import places

ABSENT = Path(__file__).parent / "absent"
PROGRAM = Path(sys.executable).with_name("ethosu")
NEEDS_LINUX = "needs Linux, and this is macOS\n"
# Imports every module of the tools, but not programs and code of boards.
IMPORT_ALL = """\
import importlib, pkgutil, ethosu_tools
for each in pkgutil.walk_packages(ethosu_tools.__path__, "ethosu_tools."):
    if each.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(each.name)
    except ModuleNotFoundError as error:
        if error.name in {"fcntl", "resource", "pty", "tty", "termios"}:
            raise SystemExit(f"{each.name} imports {error.name}")
"""


def run(program, *words):
    """Run a program, which neither hangs nor shows a traceback."""
    run = subprocess.run(
        [program, *words],
        env=os.environ | {"PYTHONPATH": str(ABSENT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in run.stderr
    return run


def test_every_module_can_be_imported():
    done = run(sys.executable, "-c", IMPORT_ALL)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["", *cli.discover()])
def test_every_command_explains_itself(name):
    assert run(PROGRAM, *[name] * bool(name), "--help").stdout.startswith("usage: ethosu")


# A board in wasmtime would run until Ctrl-C.
@pytest.mark.parametrize("name", sorted(cli.discover().keys() - {"web"}))
def test_no_command_ends_with_a_traceback(name):
    done = run(PROGRAM, name)
    assert done.returncode == 0 or done.stderr.startswith("ethosu: ")


@pytest.mark.parametrize("where", [*places(), "COM3", "socket://127.0.0.1:1"])
def test_a_model_runs_or_the_place_needs_what_is_missing_here(where, small_models, compiled):
    model = compiled(small_models["small_cnn"], "ethos-u55-128")
    done = run(PROGRAM, "run", model, "--on", where)
    if where in ("qemu", "accel"):
        assert done.returncode == 4 and done.stderr.endswith(NEEDS_LINUX)
    elif where == "sim":
        assert done.returncode == 0
    else:
        assert done.returncode in (0, 4, 5) and NEEDS_LINUX not in done.stderr


@pytest.mark.parametrize(
    "words", ["qemu", "qemu --examples", "profile MODEL --on qemu", "validate MODEL IN --on qemu"]
)
def test_an_emulated_board_needs_linux(words, small_models, compiled, tmp_path):
    import numpy as np

    np.savez(tmp_path / "in.npz", **{"0": np.zeros((1, 1, 16, 16, 3), "i1")})
    model = compiled(small_models["small_cnn"], "ethos-u55-128")
    given = {"MODEL": str(model), "IN": str(tmp_path / "in.npz")}
    done = run(PROGRAM, *(given.get(word, word) for word in words.split()))
    assert done.returncode == 4 and done.stderr.endswith(f"an emulated board {NEEDS_LINUX}")
