# SPDX-License-Identifier: MIT
"""Fixtures for all tests: boards, models before and after Vela, a model loaded on a board."""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ethosu_tools import boards
from ethosu_tools.base import paths
from ethosu_tools.base.errors import NoEmulatorError
from ethosu_tools.boards import setup
from ethosu_tools.link.board import Board, QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import vela_raw

from host_tests.kit import board_models, firmware_image, matrix, needs, ram_disk, sharing
from host_tests.kit.models import reference_cases, vela_once
from host_tests.kit.sharing import REPO
from host_tests.tools.qemu_plugin import releases


@pytest.fixture(scope="session")
def repo() -> Path:
    """Root of the source tree."""
    return REPO


@pytest.fixture(scope="session")
def build_dir() -> Path:
    """Output folder of the parts' builds."""
    return sharing.BUILD


@pytest.fixture(scope="session")
def emulator_only(request: pytest.FixtureRequest) -> None:
    """Skip a test that needs an emulated board's registers, counters, memory or firmware."""
    if request.config.getoption("--ethosu-port"):
        pytest.skip("needs an emulated board, and --port gives another one")


@pytest.fixture(scope="session")
def emulator_registers() -> None:
    """Skip tests of the emulator's registers without them; conftest.py skips other users."""
    if setup.runs_as_chip():
        raise NoEmulatorError("the board has no emulator's registers")


@pytest.fixture
def counting(request: pytest.FixtureRequest, emulator_only) -> Iterator[Board]:
    """Return an emulated board with reproducible counts."""
    firmware = request.config.getoption("--firmware")
    with QemuBoard(Machine(setup.emulated(firmware=firmware), repeatable=True)) as board:
        yield board


@pytest.fixture
def board(request: pytest.FixtureRequest, board: Board) -> Board:
    """Return the plugin's board; at `--port`, tests only write to RAM."""
    if request.config.getoption("--ethosu-port"):
        ram_disk.use(board)
    else:
        ram_disk.make_room(board)
    return board


@pytest.fixture
def writable_rom(request: pytest.FixtureRequest) -> None:
    """Skip tests that write the ROM file system, which would persist on a real board."""
    if request.config.getoption("--ethosu-port"):
        pytest.skip("would write the ROM file system of a real board")
    if not firmware_image.of().writes_rom:
        pytest.skip("the ROM file system of this board is read-only")


def shared(name: str, what: str) -> Path:
    folder = REPO.parent / "shared" / name
    if not folder.is_dir():
        needs.missing(f"{folder} is not there: {what} are not part of the tree")
    return folder


@pytest.fixture(scope="session")
def shared_models() -> Path:
    """Return the folder of third-party models next to the tree."""
    return shared("models", "third-party models")


@pytest.fixture(scope="session")
def golden() -> Path:
    """Return the folder of models with inputs and outputs that vendors computed."""
    return shared("golden", "outputs that vendors computed")


@pytest.fixture(scope="module", params=matrix.cases(releases.ALL, {releases.INSTALLED}))
def each_qemu(request: pytest.FixtureRequest, record_testsuite_property) -> Iterator[None]:
    """Run each QEMU in turn, regardless of `--qemu`; reports state which one it was."""
    yield from matrix.use_qemu(request, record_testsuite_property)


@pytest.fixture(scope="session")
def small_models(tmp_path_factory) -> dict[str, Path]:
    """Return the project's own small models, by name."""
    from ethosu_tools.model.make_model import MODELS

    folder = tmp_path_factory.mktemp("small_models")
    paths = {name: folder / f"{name}.tflite" for name in MODELS}
    for name, make in MODELS.items():
        paths[name].write_bytes(make())
    return paths


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory) -> Path:
    """Return the folder of the models that exactness/models.py makes."""
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """Compile a model once per NPU: `compiled(path, "ethos-u55-128", *options_of_vela)`."""
    from ethosu_tools.compile.vela import compile_model

    folder = tmp_path_factory.mktemp("compiled")
    done: dict[tuple[Path, str, *tuple[str, ...]], Path] = {}

    def compile_once(source: Path, npu: str = "ethos-u55-128", *options: str) -> Path:
        key = source, npu, *options
        if key not in done:
            done[key] = folder / f"{source.stem}_{npu}_{len(done)}.tflite"
            compile_model(source, npu, done[key], more_options=options)
        return done[key]

    return compile_once


@dataclass(frozen=True)
class Planned:
    """A model's files in three forms, Vela's report, and the plan."""

    source: Path
    compiled: Path
    planned: Path
    facts: dict[str, Any]
    plan: Any


@pytest.fixture(scope="session")
def compile_mixed(tmp_path_factory) -> Callable[..., Planned]:
    """Compile and plan as `ethosu compile` does, with some operators left on the CPU."""
    from ethosu_tools.compile import vela
    from ethosu_tools.compile.plan import plan_file

    folder = tmp_path_factory.mktemp("mixed")

    def compile_it(name, model, options=(), npu="ethos-u55-128", **choices):
        source, compiled, planned = (folder / f"{name}{end}.tflite" for end in ("", "_v", "_p"))
        source.write_bytes(model)
        facts = vela.compile_model(source, npu, compiled, more_options=options)
        plan = plan_file(compiled, planned, **choices)
        return Planned(source, compiled, planned, facts, plan)

    return compile_it


@pytest.fixture
def empty_tree(tmp_path, monkeypatch) -> Iterator[Path]:
    """Make a folder that `ethosu_tools` takes for the source tree."""
    monkeypatch.setattr(paths, "root", lambda: tmp_path)
    boards.forget()
    yield tmp_path
    boards.forget()


@pytest.fixture(scope="session")
def vela(tmp_path_factory):
    """Run Vela with custom options: `vela(model, "--cop-format", "COP2")`."""

    def run(model: Path, *options: str) -> Path:
        folder = tmp_path_factory.mktemp("vela")
        vela_once.run_vela(model, [*options, "--output-dir", folder])
        (product,) = [*folder.glob("*_vela.tflite"), *folder.glob("*_vela.npz")]
        return product

    return run


@pytest.fixture(scope="session")
def raw(vela, small_models):
    """Vela's raw output of small_cnn: `raw(npu)`."""

    @functools.cache
    def get(npu: str):
        options = "--accelerator-config", npu, "--output-format", "raw"
        return vela_raw.read(vela(small_models["small_cnn"], *options))

    return get


@pytest.fixture(scope="session")
def case_of() -> Callable[..., reference_cases.Case]:
    """Compute a model's inputs and expected outputs once: `case_of(path, steps)`."""
    return functools.cache(reference_cases.make_case)


@pytest.fixture(scope="session")
def example(small_models):
    """Return the small model's reference, an input and the expected output."""
    from ethosu_tools.sim.oracle import Oracle

    oracle = Oracle(small_models["small_cnn"])
    shape = oracle.inputs[0].shape
    x = np.random.default_rng(3).integers(-128, 128, shape).astype(np.int8)
    return oracle, x, oracle.step([x])[0]


@pytest.fixture
def api(board, board_npu, compiled, small_models, example) -> Board:
    """Return the board with small_cnn as `m`, an input `x` and the expected output `golden`."""
    board_models.load(board, compiled(small_models["small_cnn"], board_npu))
    board_models.put(board, example)
    return board


@pytest.fixture
def emulated(emulator_only, api) -> Board:
    """Return such a board with features that only the emulated board has."""
    api.exec("import emulator\n" + firmware_image.emulator() + firmware_image.places())
    return api
