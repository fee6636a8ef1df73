# SPDX-License-Identifier: MIT
"""The machine CORSTONE_320 under the FVP's name."""

import subprocess
import sys

import pytest
from ethosu_tools.addons.fvp import simulate

from host_tests.tools.qemu_plugin.test_corstone_320 import in_itcm


@pytest.mark.parametrize("verbose", [[], ["--verbose"]])
def test_an_fvp_says_why_the_emulator_ended(image, capfd, verbose):
    """Its exit code, 1, would else count as the firmware's."""
    cpu = "mps4_board.subsystem.cpu0"
    words = ["-C", f"{cpu}.semihosting-cmd_line=prog pacg"]
    assert simulate.main("FVP_Corstone_SSE-320", [*words, *verbose, str(image)]) == 1
    error = capfd.readouterr().err.splitlines()[-1]
    assert "error: QEMU ended with 1: ethosu: fatal: the instruction PACG at 0x1200" in error


def test_under_the_fvps_name(image, plugin, tmp_path):
    """As ExecuTorch starts it, and as Zephyr does."""
    commands = [sys.executable, "-m", "ethosu_tools.cli", "fvp", "install", tmp_path]
    subprocess.run(commands, check=True, stdout=subprocess.DEVNULL)

    def fvp(*words: object) -> str:
        line = [str(tmp_path / "FVP_Corstone_SSE-320"), *map(str, words)]
        done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    uart = ["-C", "mps4_board.uart0.out_file=-", "-C", "mps4_board.uart0.shutdown_tag=ready"]
    assert "vectors 285212672\n" in fvp(*uart, "-a", image)
    zephyr = ["-C", "mps4_board.subsystem.iotss3_systemcontrol.INITSVTOR_RST=0"]
    assert "vectors 0\n" in fvp(*uart, *zephyr, in_itcm())
