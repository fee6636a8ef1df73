# SPDX-License-Identifier: MIT
"""The command on a system that lacks what only Linux or POSIX has: each command works, or says in
one sentence that it needs Linux. `make lint` asks mypy the same of lines that no test runs.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools import cli
from ethosu_tools.link.open import places

ABSENT = Path(__file__).parent / "absent"
NPU = "ethos-u55-128"
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


def run(program, *words, lacks=""):
    """Run a program without these packages; it shows no traceback."""
    run = subprocess.run(
        [program, *words],
        env=os.environ | {"PYTHONPATH": str(ABSENT), "ABSENT_PACKAGES": lacks},
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
    model = compiled(small_models["small_cnn"], NPU)
    done = run(PROGRAM, "run", model, "--on", where)
    if where in ("qemu", "accel"):
        assert done.returncode == 4 and done.stderr.endswith(NEEDS_LINUX)
    elif where == "sim":
        assert done.returncode == 0
    else:
        assert done.returncode in (0, 4, 5) and NEEDS_LINUX not in done.stderr


@pytest.fixture
def given(small_models, compiled, tmp_path):
    """The files of command lines."""
    original = small_models["small_cnn"]
    np.savez(tmp_path / "in.npz", **{"0": np.zeros((1, 1, 16, 16, 3), "i1")})
    return {
        "ORIGINAL": str(original),
        "MODEL": str(compiled(original, NPU)),
        "IN": str(tmp_path / "in.npz"),
        "OUT": str(tmp_path / "made.tflite"),
    }


@pytest.mark.parametrize(
    "words", ["qemu", "qemu --examples", "profile MODEL --on qemu", "validate MODEL IN --on qemu"]
)
def test_an_emulated_board_needs_linux(words, given):
    done = run(PROGRAM, *(given.get(word, word) for word in words.split()))
    assert done.returncode == 4 and done.stderr.endswith(f"an emulated board {NEEDS_LINUX}")


# Commands, with what they say without LiteRT, and without Vela and LiteRT; "" if they work.
REFERENCE, COMPILER = "ai-edge-litert", "ethos-u-vela"
WITHOUT = (
    ("compile ORIGINAL -o OUT", "", COMPILER),
    ("check ORIGINAL --npu ethos-u55-128", "", COMPILER),
    ("check MODEL", "", COMPILER),
    ("run MODEL", "", ""),
    ("run MODEL --reference ORIGINAL", REFERENCE, REFERENCE),
    ("validate MODEL IN", "", ""),
    ("inspect MODEL --memory", "", ""),
    ("profile MODEL", "", COMPILER),
    ("bisect ORIGINAL", REFERENCE, COMPILER),
)


@pytest.mark.parametrize("words, without_litert, without_both", WITHOUT)
def test_without_litert_or_vela_the_rest_works(words, without_litert, without_both, given):
    for lacks, needed in (
        ("ai_edge_litert", without_litert),
        ("ai_edge_litert ethosu", without_both),
    ):
        done = run(PROGRAM, *(given.get(word, word) for word in words.split()), lacks=lacks)
        if needed:
            assert done.returncode == 4
            (sentence,) = (each for each in done.stderr.splitlines() if needed in each)
            assert sentence.startswith("ethosu: ")
        else:
            assert done.returncode == 0, done.stderr


def test_what_was_not_compared_is_said(given):
    made = run(PROGRAM, "compile", given["ORIGINAL"], "-o", given["OUT"], lacks="ai_edge_litert")
    assert "not compared with TFLite's reference kernels: the reference is" in made.stdout
    said = run(PROGRAM, "check", given["ORIGINAL"], "--npu", NPU, lacks="ai_edge_litert").stdout
    assert "the reference is ai-edge-litert" in said
