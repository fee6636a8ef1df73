# SPDX-License-Identifier: MIT
"""Fixtures for all tests; `board` comes from ethosu_tools.pytest_plugin."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ethosu_tools.board import Board, QemuBoard
from ethosu_tools.errors import SetupError
from ethosu_tools.qemu import Machine, find_qemu

from host_tests.kit import debian, firmware_image, matrix, needs, ram_disk, sharing
from host_tests.kit.sharing import REPO

pytest_plugins = ["host_tests.kit.cpu_seconds", "host_tests.kit.vela_once"]

# Tests start hundreds of Python processes, which read what the first one compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell that starts pytest with `&` makes it and its children ignore Ctrl-C, which tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Select the emulator for all tests except those that select one themselves."""
    parser.addoption(
        "--qemu",
        choices=["installed", "newer"],
        default="installed",
        help="QEMU that emulates: the installed one, or that of Debian's backports",
    )
    parser.addoption(
        "--firmware",
        type=Path,
        metavar="ELF",
        help="image of tests that count instructions (default: the board's)",
    )


@pytest.fixture(scope="session", autouse=True)
def _qemu(request: pytest.FixtureRequest, record_testsuite_property) -> Iterator[None]:
    """Run the requested QEMU; reports state which one it was."""
    from host_tests.tools.qemu_plugin import releases

    with pytest.MonkeyPatch.context() as patch:
        if request.config.getoption("--qemu") == "newer":
            patch.setenv("ETHOSU_QEMU", str(request.getfixturevalue("newer_qemu")))
        with contextlib.suppress(SetupError):
            version = releases.version(Path(find_qemu()))
            record_testsuite_property("qemu", f"QEMU {'.'.join(map(str, version))}")
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that run on the board under test, and those that need the web page."""
    for item in items:
        if "tools/web" in item.nodeid:
            item.add_marker("page")
        if "board_npu" in getattr(item, "fixturenames", ()):
            item.add_marker("on_board")


def pytest_sessionfinish() -> None:
    """Limit the size of the cache of compiled models and programs."""
    sharing.forget_old()


@pytest.fixture(scope="session")
def repo() -> Path:
    """Root of the source tree."""
    return REPO


@pytest.fixture(scope="session")
def build_dir() -> Path:
    """Output folder of the parts' builds."""
    return sharing.BUILD


@pytest.fixture
def counting(request: pytest.FixtureRequest) -> Iterator[Board]:
    """An emulated board with reproducible counts."""
    if request.config.getoption("--ethosu-port"):
        pytest.skip("counts instructions of an emulated board")
    firmware = request.config.getoption("--firmware")
    with QemuBoard(Machine(None, firmware=firmware, repeatable=True)) as board:
        yield board


@pytest.fixture
def board(request: pytest.FixtureRequest, board: Board) -> Board:
    """The plugin's board; on one at `--port` tests only write to RAM."""
    if request.config.getoption("--ethosu-port"):
        ram_disk.use(board)
    else:
        ram_disk.make_room(board)
    return board


@pytest.fixture
def writable_rom(request: pytest.FixtureRequest) -> None:
    """Required by tests that write the board's ROM file system, which persists on a real board."""
    if request.config.getoption("--ethosu-port"):
        pytest.skip("would write the ROM file system of a real board")
    if not firmware_image.of().writes_rom:
        pytest.skip("the ROM file system of this board is read-only")


@pytest.fixture(scope="session")
def shared_models() -> Path:
    """Folder of third-party models next to the tree."""
    models = REPO.parent / "shared" / "models"
    if not models.is_dir():
        needs.missing(f"{models} is not there: third-party models are not part of the tree")
    return models


@pytest.fixture(scope="session")
def newer_qemu() -> Path:
    """qemu-system-arm from Debian's backports, in addition to the installed one."""
    from host_tests.tools.qemu_plugin import releases

    try:
        return releases.backports()
    except debian.PackageMissingError as error:
        needs.missing(f"NOT TESTED WITH A NEWER QEMU: {error}")


@pytest.fixture(scope="module", params=["installed", pytest.param("newer", marks=pytest.mark.slow)])
def each_qemu(request: pytest.FixtureRequest, record_testsuite_property) -> Iterator[None]:
    """Run each QEMU in turn, regardless of `--qemu`; reports state which one it was."""
    yield from matrix.use_qemu(request, record_testsuite_property)


@pytest.fixture(scope="session")
def small_models(tmp_path_factory) -> dict[str, Path]:
    """The project's own small models, by name."""
    from ethosu_tools.make_model import MODELS

    folder = tmp_path_factory.mktemp("small_models")
    paths = {name: folder / f"{name}.tflite" for name in MODELS}
    for name, make in MODELS.items():
        paths[name].write_bytes(make())
    return paths


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """Compiles a model once per NPU: `compiled(path, "ethos-u55-128", *options_of_vela)`."""
    from ethosu_tools.vela import compile_model

    folder = tmp_path_factory.mktemp("compiled")
    done: dict[tuple[Path, str, *tuple[str, ...]], Path] = {}

    def compile_once(source: Path, npu: str = "ethos-u55-128", *options: str) -> Path:
        key = source, npu, *options
        if key not in done:
            done[key] = folder / f"{source.stem}_{npu}_{len(done)}.tflite"
            compile_model(source, npu, done[key], more=options)
        return done[key]

    return compile_once
