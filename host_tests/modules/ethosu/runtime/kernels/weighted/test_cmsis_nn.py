# SPDX-License-Identifier: MIT
"""Weighted operators computed by CMSIS-NN are bit-exact within the planned scratch.

Apart from scratch sizes, this needs CMSIS_NN_DIR to name a CMSIS-NN tree.
"""

import os
import subprocess
from pathlib import Path

import pytest
from ai_edge_litert import schema_py_generated as schema
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

from host_tests.kit import needs
from host_tests.kit.models.mixed_models import MODELS
from host_tests.modules.ethosu.driver import cbuild

from .. import board_cases, plan_writer, runner
from ..maker import STEPS, make

HERE = Path(__file__).parent
NAMES = plan_writer.CMSIS_NN_KERNELS
CASES = 100
MANY = 1000
BAD_PLAN = -9

# CMSIS-NN lacks int16 TRANSPOSE_CONV, grouped CONV_2D and FULLY_CONNECTED with many scales.
MIN_SHARE = {"CONV_2D": 0.7, "TRANSPOSE_CONV": 0.5, "FULLY_CONNECTED": 0.6}
# Minimum number of calls per graph when it is computed in parts.
MIN_CALLS = {"CONV_2D": 2, "DEPTHWISE_CONV_2D": 2, "TRANSPOSE_CONV": 0.7, "FULLY_CONNECTED": 2}


@pytest.fixture(scope="session")
def with_its_scratch(build_cases) -> Path:
    """Build our own loops with CMSIS-NN's scratch; assertions compare its size with the plan."""
    return build_cases("-DETHOSU_ENABLE_ASSERTS", "-DETHOSU_CMSIS_NN_SIZES")


@pytest.mark.parametrize("name", NAMES)
def test_scratch_is_planned(with_its_scratch, tmp_path, name):
    assert runner.check(with_its_scratch, tmp_path, name, CASES, cmsis_nn=True) == []


@pytest.fixture(scope="session")
def cmsis_nn() -> Path:
    """Return the CMSIS-NN tree."""
    return needs.tree("CMSIS_NN_DIR", "CMSIS-NN")


@pytest.fixture(scope="session")
def build_with(repo, build_dir, cmsis_nn, tmp_path_factory):
    """Build run_cases.c with CMSIS-NN and sanitizers: `build_with("-DSOMETHING")`."""

    def build(*flags: str) -> Path:
        folder = tmp_path_factory.mktemp("cmsis_nn")
        make_it = ["make", "-s", "-j2", "-C", repo / "tools/sim_host", "SANITIZE=address"]
        make_it += [f"BUILD={folder}", f"CMSIS_NN_DIR={cmsis_nn}"]
        make_it += [f"CPPFLAGS={' '.join((*flags, '-finstrument-functions'))}"]
        subprocess.run(make_it, check=True)
        program = folder / "run_cases"
        sources = HERE.parent / "run_cases.c", HERE / "count_cmsis_nn.c"
        objects = *sorted(folder.rglob("*.o")), build_dir / "npu_sim/address/libnpu_sim.a"
        command = cbuild.sanitized("address", f"-I{cmsis_nn / 'Include'}")
        cbuild.run([*command, *sources, *objects, "-lm", "-o", program])
        return program

    return build


@pytest.fixture(scope="session")
def with_cmsis_nn(build_with) -> Path:
    """Build the program with assertions."""
    return build_with("-DETHOSU_ENABLE_ASSERTS")


def _check(program, folder, monkeypatch, name, count, least=None):
    monkeypatch.setenv("CMSIS_NN_CALLS", str(folder / "calls"))
    assert runner.check(program, folder, name, count, cmsis_nn=True) == []
    share = int((folder / "calls").read_text()) / (count * STEPS)
    assert share >= (least or MIN_SHARE.get(name, 0.9))


@pytest.mark.parametrize("name", NAMES)
def test_equals_the_reference(with_cmsis_nn, tmp_path, monkeypatch, name):
    _check(with_cmsis_nn, tmp_path, monkeypatch, name, CASES)


@pytest.fixture(scope="session")
def in_parts(build_with) -> Path:
    """Build a program that computes each line, row, image or output separately."""
    return build_with("-DETHOSU_ENABLE_ASSERTS", "-DCMSIS_NN_MAX=1")


@pytest.mark.parametrize("name", NAMES)
def test_parts_equal_the_reference(in_parts, tmp_path, monkeypatch, name):
    """Long operators, computed in parts so that they can be stopped between, are exact."""
    _check(in_parts, tmp_path, monkeypatch, name, CASES, MIN_CALLS[name])


def _filters(model):
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(model, 0))
    (operator,) = tree.subgraphs[0].operators
    return tree.subgraphs[0].tensors[operator.inputs[1]].shape[0]


def _load(program, folder, model, case):
    (result,) = runner.run(program, folder, [(model, case.inputs)])
    return result


def test_own_plan_is_refused_with_cmsis_nn(build_with, tmp_path):
    case = make("FULLY_CONNECTED", 0)
    result = _load(build_with(), tmp_path, plan_writer.add_plan(case.model), case)
    filters = _filters(case.model)
    assert result.status == BAD_PLAN
    assert result.text == (
        f"operator 0 (FULLY_CONNECTED) of subgraph 0: 0 bytes of scratch planned, {4 * filters} "
        "needed (planner 0, kernel 1; here kernel 1+CMSIS-NN); "
        "run: ethosu compile --cmsis-nn MODEL.tflite"
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_equals_the_reference_on_many(with_cmsis_nn, tmp_path, monkeypatch, name):
    _check(with_cmsis_nn, tmp_path, monkeypatch, name, MANY)


@pytest.fixture(scope="module")
def cmsis_nn_board(repo, cmsis_nn, tmp_path_factory):
    """Return a board whose firmware has CMSIS-NN with vector code, and assertions."""
    folder = tmp_path_factory.mktemp("firmware")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    command = ["make", "-C", repo / "firmware", "-j2", f"BUILD={folder}"]
    command += [f"CMSIS_NN_DIR={cmsis_nn}"]
    environment["CFLAGS_EXTRA"] = "-DETHOSU_ENABLE_ASSERTS"
    subprocess.run(command, check=True, capture_output=True, env=environment)
    with QemuBoard(Machine(emulated(firmware=folder / "firmware.elf"))) as board:
        yield board


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_equals_the_reference_on_a_board(cmsis_nn_board, name):
    """CMSIS-NN on a board is exact, and allocates no memory."""
    board_cases.check_cases(cmsis_nn_board, name, CASES, cmsis_nn=True)


@pytest.fixture(scope="session")
def planner_library(repo, cmsis_nn):
    """Return the runtime with CMSIS-NN that `ethosu compile --cmsis-nn` uses."""
    make_it = ["make", "-s", "-j2", "sim-host", f"CMSIS_NN_DIR={cmsis_nn}"]
    subprocess.run(make_it, cwd=repo, check=True, timeout=600)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mixed_cnn", "detection"])
def test_mixed_graph_on_a_board(cmsis_nn_board, planner_library, compile_mixed, name):
    mixed = MODELS[name]
    model = compile_mixed(name, mixed.make(), mixed.options, cmsis_nn=True)
    board_cases.check_graph(cmsis_nn_board, model.source, model.planned)
