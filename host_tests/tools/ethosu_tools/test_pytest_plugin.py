# SPDX-License-Identifier: MIT
"""The pytest plugin, as a user's project meets it: `board` without any set-up, and `--port`."""

import subprocess
import sys

import pytest
from ethosu_tools import qemu

USERS_TESTS = """\
def test_answer(board):
    assert board.eval("6 * 7") == 42
    board.exec("left_over = 1")

def test_each_test_gets_a_fresh_interpreter(board):
    assert board.eval("'left_over' in globals()") is False

def test_npu_is_the_one_asked_for(board, board_npu):
    assert board.eval("__import__('ethosu').npus()") == [board_npu]
"""


@pytest.fixture
def users_pytest(tmp_path):
    """Runs pytest in a user's own folder."""
    (tmp_path / "test_mine.py").write_text(USERS_TESTS)

    def run(*options):
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )

    return run


def test_board_is_emulated_by_default(users_pytest):
    done = users_pytest("--npu", "ethos-u55-256")
    assert "3 passed" in done.stdout and done.returncode == 0, done.stdout


def test_same_tests_run_on_a_port(users_pytest):
    with qemu.Machine("ethos-u55-64", console="uart") as machine:
        done = users_pytest("--port", machine.port, "--npu", "ethos-u55-64")
    assert "3 passed" in done.stdout and done.returncode == 0, done.stdout


def test_a_port_has_one_worker(users_pytest):
    """Two would speak to the board at the same time."""
    with qemu.Machine("ethos-u55-64", console="uart") as machine:
        done = users_pytest("-n", "2", "--port", machine.port, "--npu", "ethos-u55-64")
    assert "3 passed" in done.stdout and done.returncode == 0, done.stdout
    assert "bringing up nodes" not in done.stdout


def test_port_that_is_not_there_fails_with_its_name(users_pytest):
    done = users_pytest("--port", "/dev/no_such_port")
    assert done.returncode != 0 and "/dev/no_such_port cannot be opened" in done.stdout
