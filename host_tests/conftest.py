# SPDX-License-Identifier: MIT
"""Sets the marks of all tests; kit/options.py has the options, kit/fixtures.py the fixtures."""

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from ethosu_tools.base.errors import NoEmulatorError, RemoteError, SetupError
from ethosu_tools.boards.setup import runs_as_chip
from ethosu_tools.link.emulator.qemu import find_qemu

from host_tests.kit import firmware_image, needs, sharing
from host_tests.tools.qemu_plugin import releases

pytest_plugins = [
    "host_tests.kit.process.cpu_seconds",
    "host_tests.kit.models.vela_once",
    "host_tests.kit.fixtures",
]

# The firmware's answer to `import emulator` where it does not find the emulator.
NOT_EMULATED = "emulator: not running on QEMU with the ethosu plugin"

# Tests start hundreds of Python processes, which read what the first one compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Each Python that imports NumPy would start threads of OpenBLAS, which no test uses.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A shell that starts pytest with `&` makes it and its children ignore Ctrl-C, which tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _qemu(request: pytest.FixtureRequest, record_testsuite_property) -> Iterator[None]:
    """Use the requested QEMU, and name it in reports."""
    release = request.config.getoption("--qemu")
    with pytest.MonkeyPatch.context() as patch:
        if release != releases.INSTALLED:
            patch.setenv("ETHOSU_QEMU", str(needs.qemu(release)))
        with contextlib.suppress(SetupError):
            version = releases.version(Path(find_qemu()))
            record_testsuite_property("qemu", f"QEMU {'.'.join(map(str, version))}")
        yield


def pytest_configure(config: pytest.Config) -> None:
    """Exempt thousands of collected tests from garbage collection, to save time."""
    firmware_image.choose_npu(config.getoption("--ethosu-npu"))
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that run on the board under test."""
    for item in items:
        if "board_npu" in getattr(item, "fixturenames", ()):
            item.add_marker("on_board")


def _needs_emulator(error: BaseException) -> bool:
    return isinstance(error, NoEmulatorError) or (
        isinstance(error, RemoteError) and NOT_EMULATED in str(error)
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[object]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With --as-chip, skip tests that use the emulator's registers, which the chip lacks."""
    report = yield
    raised = call.excinfo
    if report.failed and runs_as_chip() and raised and _needs_emulator(raised.value):
        report.outcome = "skipped"
        reason = "needs the emulator's registers, and --as-chip runs without them"
        report.longrepr = str(item.path), (item.location[1] or 0) + 1, f"Skipped: {reason}"
    return report


def pytest_sessionfinish() -> None:
    """Limit the size of the cache of compiled models and programs."""
    sharing.forget_old()
