# SPDX-License-Identifier: MIT
"""Runs MicroPython's own tests and mpremote's, of the same release, on the emulated board."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import Board
from ethosu_tools.link.emulator.qemu import Machine

from host_tests.kit import needs, sharing

pytestmark = pytest.mark.slow

# Folders of tests, and how many of the default release's tests apply to the board and pass.
FOLDERS = {
    "basics": 532,
    "micropython": 92,
    "float": 67,
    "misc": 5,
    "extmod": 130,
    "unicode": 14,
    "stress": 12,
    "inlineasm/thumb": 18,
}
# This test counts how often 0.1 s fit into 0.45 s; on a busy host, that is less than in CPython.
LEFT_OUT = "extmod/asyncio_fair.py"
UNITTEST = Path(__file__).with_name("unittest_of_board.py")
# How each end of a test is counted.
ENDS = """
import unittest
class Ends(unittest.TestCase):
    def test_passes(self):
        with self.assertRaises(ValueError): int("x")
    @unittest.skipIf(True, "as an example")
    def test_is_skipped(self): pass
"""
BAD_ENDS = """
    def test_fails(self):
        with self.assertRaises(ValueError): pass
    def test_is_wrong(self): nothing
"""
OF_MPREMOTE = (
    "errno",
    "eval_exec_run",
    "filesystem",
    "fs_tree",
    "mip_local_install",
    "mount",
    "recursive_cp",
    "resume",
)


@pytest.fixture(scope="module")
def upstream() -> Path:
    """Return MicroPython's source, with its tests and its mpremote."""
    tree = sharing.micropython()
    if not (tree / "tests/run-tests.py").is_file():
        needs.missing(f"NOT TESTED WITH MICROPYTHON'S OWN TESTS: {tree} has none")
    return tree


@pytest.fixture
def machine(board_npu: str) -> Iterator[Machine]:
    with Machine(emulated(npu=board_npu)) as machine:
        yield machine


@pytest.mark.parametrize("folder", FOLDERS)
def test_micropython_s_own_tests_pass(emulator_only, upstream, board_npu, tmp_path, folder):
    """MicroPython's tests pass; extmod needs a clock of instructions for machine_soft_timer.py."""
    with Machine(emulated(npu=board_npu), repeatable=folder == "extmod") as machine:
        with Board(machine.port) as board:
            install_unittest(board)
            if folder == "unicode":
                board.exec("os.mkdir('/data')")
                for file in (upstream / "tests/unicode/data").iterdir():
                    board.write_file(f"/data/{file.name}", file.read_bytes())
        command = [sys.executable, "run-tests.py", "-t", f"port:{machine.port}"]
        command += ["-r", tmp_path, "-d", folder, "-e", LEFT_OUT]
        done = subprocess.run(command, cwd=upstream / "tests", capture_output=True, text=True)
    file = tmp_path / "_results.json"
    assert file.is_file(), done.stdout[-3000:] + done.stderr  # the runner failed
    results = json.loads(file.read_text())["results"]
    failed = [name for name, result, *_ in results if result == "fail"]
    passed = [name for name, result, *_ in results if result == "pass"]
    print(f"{folder}: {len(passed)} passed, {len(failed)} failed")
    assert failed == [], done.stdout[-3000:]
    assert len(passed) >= FOLDERS[folder], done.stdout[-3000:]


def install_unittest(board):
    board.exec("import os\nos.mkdir('/lib')")
    board.write_file("/lib/unittest.py", UNITTEST.read_bytes())


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (ENDS, "Ran 2 tests\n\nOK (skipped=1)"),
        (ENDS + BAD_ENDS, "Ran 4 tests\n\nFAILED (failures=1, errors=1)"),
    ],
    ids=["good", "bad"],
)
def test_the_board_s_unittest_counts_each_end(emulator_only, machine, program, expected):
    with Board(machine.port) as board:
        install_unittest(board)
        printed = board.exec(f"{program}\nunittest.main()")
    text = printed.replace("\r", "")
    assert text.partition(f"{'-' * 70}\n")[2].strip() == expected


@pytest.mark.parametrize("name", OF_MPREMOTE)
def test_mpremote_s_own_tests_pass(emulator_only, upstream, machine, tmp_path, name):
    script = upstream / f"tools/mpremote/tests/test_{name}.sh"
    program = upstream / "tools/mpremote/mpremote.py"
    command = f"{sys.executable} {program} connect {machine.port}"
    done = subprocess.run(
        ["bash", script],
        env=os.environ | {"MPREMOTE": command, "TMP": str(tmp_path), "PYTHONUNBUFFERED": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    printed = done.stdout.replace("\r", "").replace(str(tmp_path), "${TMP}")
    expected = Path(f"{script}.exp").read_text()
    if name == "resume":  # after `disconnect` it looks for a USB device, which QEMU's line is not
        expected = expected.removesuffix("5\n") + "mpremote: no device found\n"
    assert printed == expected


def test_no_test_of_mpremote_is_left_out(upstream):
    scripts = (upstream / "tools/mpremote/tests").glob("test_*.sh")
    assert sorted(script.stem.removeprefix("test_") for script in scripts) == sorted(OF_MPREMOTE)
