# SPDX-License-Identifier: MIT
"""Pytest plugin: its `board` is a real board (`--ethosu-port`), one of a pool, or an emulated one.

A test that uses `board` runs unchanged on all of them:

    def test_answer(board):
        assert board.eval("6 * 7") == 42

    @pytest.mark.ethosu(npu="ethos-u85-256", tags=["camera"])
    def test_large_model(board): ...
"""

import os
from collections import ChainMap
from collections.abc import Callable, Generator, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..base import addons
from ..boards import files
from . import pytest_report

if TYPE_CHECKING:
    from ..link.board import Board
    from ..link.emulator.firmware_run import Ended
    from .golden import Golden
    from .pool import Needs, Place, Pool, Taken

DEFAULT_COHERENCE = "strict"
# Options with a short name, which is available unless another plugin or a conftest.py uses it.
SHORT = {f"--{name}": f"--ethosu-{name}" for name in ("port", "board", "npu", "coherence")}
LONG = SHORT | {"--as-chip": "--ethosu-as-chip", "--update-golden": "--ethosu-update"}
MARK = "ethosu(npu=, board=, tags=, count=): requirements for `board`, or for the `boards` (count)"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that select the board."""
    group = parser.getgroup(
        "ethosu",
        "boards with an Ethos-U NPU (--port, --board, --npu, --coherence and --as-chip also "
        "work, unless another plugin defines them)",
    )
    group.addoption(
        "--ethosu-port",
        action="append",
        default=[],
        metavar="PORT",
        help="serial port or pyserial URL (socket://, rfc2217://) of a board, "
        + "".join(f"{text}, " for text in addons.texts("port").values())
        + "or qemu; repeat the option for a pool (default: qemu)",
    )
    group.addoption(
        "--ethosu-pool", type=Path, metavar="TOML", help="file with a list of boards, see pool.py"
    )
    group.addoption(
        "--ethosu-board",
        metavar="BOARD",
        help=f"board to emulate (default: $ETHOSU_BOARD, else {files.DEFAULT})",
    )
    group.addoption("--ethosu-npu", metavar="NPU", help="NPU that the board must have")
    group.addoption(
        "--ethosu-count",
        type=int,
        default=1,
        metavar="N",
        help="number of boards in the fixture `boards`",
    )
    group.addoption(
        "--ethosu-wait",
        type=float,
        default=0,
        metavar="SECONDS",
        help="how long to wait for boards that are in use (default: 0)",
    )
    group.addoption(
        "--ethosu-coherence",
        metavar="off|strict|evict:SEED",
        help="data cache of simulated and emulated CPUs (default: $ETHOSU_COHERENCE, else "
        f"{DEFAULT_COHERENCE})",
    )

    group.addoption(
        "--ethosu-as-chip",
        action="store_true",
        help="run emulated boards as their chips: without the emulator's registers, with the UART "
        "as console",
    )
    group.addoption(
        "--ethosu-update",
        action="store_true",
        help="write the files of the fixture `golden`, instead of comparing (also --update-golden)",
    )


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None]:
    """Expand short option names, once before pytest searches conftest.py and again afterwards."""

    def free() -> set[str]:
        return LONG.keys() - parser._opt2dest.keys()

    _check_root(early_config, args)
    early_config.known_args_namespace = parser.parse_known_args(
        _long_names(args, free()), namespace=early_config.known_args_namespace
    )
    yield
    args[:] = _long_names(args, free())


def _check_root(config: pytest.Config, args: list[str]) -> None:
    """Reject a root folder that pytest derived from the path of a port or of a pool's file.

    Pytest determines that folder before it loads plugins, when it takes the value of an unknown
    option for a path of tests.
    """
    here = config.invocation_params.dir
    if config.inipath or config.known_args_namespace.rootdir:
        return
    for option, value in pairwise(args):
        path = here / value
        if (
            option in (*SHORT, *SHORT.values(), "--ethosu-pool")
            and path.exists()
            and here not in path.parents
            and config.rootpath in path.parents
        ):
            raise pytest.UsageError(
                f"pytest would use {config.rootpath} as the root folder of the tests, because of "
                f"{value}: write {option}={value}"
            )


def _long_names(args: list[str], free: set[str]) -> list[str]:
    end = args.index("--") if "--" in args else len(args)
    parts = (arg.partition("=") for arg in args[:end])
    names = {name: LONG[name] for name in free}
    return ["".join([names.get(name, name), *rest]) for name, *rest in parts] + args[end:]


def pytest_configure(config: pytest.Config) -> None:
    """Set board and coherence mode for this process and its children."""
    from .. import boards
    from ..base import locks
    from ..base.errors import InputError
    from ..boards import coherence, setup

    if hasattr(config, "workerinput"):
        locks.begin_run(config.workerinput["testrunuid"])
    config.addinivalue_line("markers", MARK)
    mode = config.getoption("--ethosu-coherence") or os.environ.get(coherence.VARIABLE)
    try:
        os.environ[boards.VARIABLE] = boards.chosen(config.getoption("--ethosu-board")).name
        os.environ[coherence.VARIABLE] = coherence.check(mode or DEFAULT_COHERENCE)
    except InputError as error:
        raise pytest.UsageError(str(error)) from None
    if config.getoption("--ethosu-as-chip"):
        os.environ[setup.AS_CHIP_VARIABLE] = "yes"
    config.pluginmanager.register(pytest_report.Reporter(), "ethosu-report")


def _places(config: pytest.Config) -> "list[Place]":
    from ..base.errors import ToolError
    from .pool import Place, expanded, read

    file = config.getoption("--ethosu-pool")
    run = getattr(config, "workerinput", {}).get("testrunuid", f"process-{os.getpid()}")
    try:
        places = read(file) if file else []
        places += [Place(port) for port in config.getoption("--ethosu-port")]
        return expanded(places or [Place()], run)
    except ToolError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    """Limit the workers of pytest-xdist to the number of boards that only one can use at a time."""
    given = config.getoption("--ethosu-pool") or config.getoption("--ethosu-port")
    places = _places(config) if given else []  # slow to load; each worker has its own
    has_xdist = config.pluginmanager.has_plugin("xdist")
    if has_xdist and places and all(place.locked for place in places):
        workers = max(1, len(places) // max(1, config.getoption("--ethosu-count")))
        requested = config.option.numprocesses
        if isinstance(requested, int) and requested <= workers:
            workers = requested
        if requested is not None:
            config.option.numprocesses = workers if workers > 1 else 0
            config.option.distload = False
    return (yield)


@pytest.fixture(scope="session")
def _pool(request: pytest.FixtureRequest) -> "Iterator[Pool]":
    from .pool import Pool

    config = request.config
    pool = Pool(_places(config), config.getoption("--ethosu-wait"))
    yield pool
    pool.release()
    pytest_report.record_excluded(config, pool.summary())


@pytest.fixture(scope="session")
def board_npu(request: pytest.FixtureRequest) -> str:
    """Return the NPU under test, in Vela's spelling; for a pool, of this worker's first board."""
    from .. import boards
    from .pool import Needs

    npu: str | None = request.config.getoption("--ethosu-npu")
    place = _places(request.config)[0]
    if npu or not place.locked:
        return npu or place.npu or boards.chosen(place.board).npus[0]
    taken = _use(request, Needs(), 1)
    if not taken[0].npus:
        pytest.fail(f"the board {taken[0].place.title} has no NPU", pytrace=False)
    return taken[0].npus[0]


@pytest.fixture
def boards(request: pytest.FixtureRequest, board_npu: str) -> "list[Board]":
    """Return boards after a soft reset; their number is `--ethosu-count` or from the mark."""
    count = _mark(request).get("count", request.config.getoption("--ethosu-count"))
    return _boards_of_test(request, count)


@pytest.fixture
def board(request: pytest.FixtureRequest, board_npu: str) -> "Board":
    """Return a board after a soft reset, at its raw REPL."""
    return _boards_of_test(request, 1)[0]


@pytest.fixture
def firmware_run(board_npu: str) -> "Callable[..., Ended]":
    """Run any firmware to its end: `firmware_run(IMAGE, until=, timeout=, arguments=)`.

    Returns its output and exit code; raises BoardError at the time-out.
    """
    from ..boards.setup import emulated
    from ..link.emulator.firmware_run import run

    def run_image(
        image: "Path | str", *, board: str | None = None, npu: str = board_npu, **options: Any
    ) -> "Ended":
        return run(emulated(board, npu, firmware=Path(image)), **options)

    return run_image


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> "Golden":
    """Return `golden(path, outputs)`, which compares arrays with a file, bit by bit.

    `path` is an .npz or .npy in the folder of the test's file; --ethosu-update writes it.
    """
    from .golden import Golden

    updates = request.config.getoption("--ethosu-update")
    return Golden(request.path.parent, request.node.nodeid, updates)


@pytest.fixture
def board_port(request: pytest.FixtureRequest, _pool: "Pool") -> "Iterator[str]":
    """Return a board's port, for a program that opens the port itself."""
    (board,) = _boards_of_test(request, 1)
    with board.lent() as port:
        yield port


def _mark(request: pytest.FixtureRequest) -> dict[str, Any]:
    marks = (mark.kwargs for mark in request.node.iter_markers("ethosu"))  # the closest one first
    return dict(ChainMap(*marks))


def _needs(request: pytest.FixtureRequest) -> "Needs":
    from .pool import Needs

    mark = _mark(request)
    unknown = mark.keys() - {"npu", "board", "tags", "count"}
    if unknown:
        pytest.fail(
            f"unknown arguments of the mark ethosu: {', '.join(sorted(unknown))}; {MARK}",
            pytrace=False,
        )
    npu = mark.get("npu", request.config.getoption("--ethosu-npu"))
    return Needs(npu, mark.get("board"), frozenset(mark.get("tags", ())))


def _boards_of_test(request: pytest.FixtureRequest, count: int) -> "list[Board]":
    taken = _use(request, _needs(request), count)
    pytest_report.begin(request.node, taken)
    return [one.board for one in taken]


def _use(request: pytest.FixtureRequest, needs: "Needs", count: int) -> "list[Taken]":
    from ..base.errors import BoardError, ToolError
    from .pool import NoSuchBoardError

    pool: Pool = request.getfixturevalue("_pool")
    try:
        return pool.use([needs] * count)
    except ToolError as error:
        problem = error
    # Outside the handler, because pytest would otherwise show the causing exception as well.
    # The command line must be valid; a mark that the pool cannot satisfy is for another pool.
    if isinstance(problem, NoSuchBoardError) and _mark(request):
        pytest.skip(str(problem))
    failure = pytest.fail.Exception(str(problem), pytrace=False)
    if isinstance(problem, BoardError):
        setattr(failure, pytest_report.FAILURE, type(problem).__name__)
    raise failure
