# SPDX-License-Identifier: MIT
"""Tests names, selection and forwarding of the data cache's mode."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ethosu_tools.base.errors import InputError
from ethosu_tools.boards import coherence
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.emulator import qemu

WRONG = ["", "on", "evict", "evict:", "evict:-1", "evict:1x", "evict:4294967296", "Strict"]


@pytest.mark.parametrize("mode", ["off", "strict", "evict:0", "evict:4294967295"])
def test_modes(mode):
    assert coherence.check(mode) == mode


@pytest.mark.parametrize("mode", WRONG)
def test_other_modes_are_refused(mode):
    with pytest.raises(InputError, match="expected off, strict or evict:SEED"):
        coherence.check(mode)


def test_the_environment_is_the_default_for_callers(monkeypatch):
    monkeypatch.delenv(coherence.VARIABLE, raising=False)
    assert coherence.chosen() == "off"
    monkeypatch.setenv(coherence.VARIABLE, "evict:3")
    assert coherence.chosen() == "evict:3"
    assert coherence.chosen("strict") == "strict"
    monkeypatch.setenv(coherence.VARIABLE, "on")
    with pytest.raises(InputError, match="'on' is not a coherence mode"):
        coherence.chosen()


@pytest.mark.parametrize("command", [["run", "model.tflite", "--input", "in.npz"], ["qemu"]])
def test_commands_refuse_other_modes(ethosu, command):
    code, _, err = ethosu(*command, "--coherence", "on")
    assert code == 2
    assert "'on' is not a coherence mode: expected off, strict or evict:SEED" in err


def test_a_machine_passes_the_mode_to_the_plugin(monkeypatch):
    monkeypatch.setenv(coherence.VARIABLE, "evict:5")
    with qemu.Machine() as machine:
        assert b"coherence=evict:5" in _command_line(machine)
    with qemu.Machine(emulated(coherence="off")) as machine:
        assert b"coherence=off" in _command_line(machine)


def _command_line(machine: qemu.Machine) -> bytes:
    return Path(f"/proc/{machine.process.pid}/cmdline").read_bytes()


@pytest.mark.parametrize(
    ("options", "environment", "mode"),
    [([], None, None), (["--coherence", "evict:1"], "strict", "evict:1"), ([], "strict", "strict")],
)
def test_pytest_sets_the_mode_for_all_that_it_starts(tmp_path, options, environment, mode):
    from ethosu_tools.testing.pytest_plugin import DEFAULT_COHERENCE

    (tmp_path / "test_mine.py").write_text(
        "import os\n\n\ndef test_mode():\n"
        f"    assert os.environ['ETHOSU_COHERENCE'] == {mode or DEFAULT_COHERENCE!r}\n"
    )
    done = _pytest(tmp_path, options, environment)
    assert done.returncode == 0, done.stdout


def test_pytest_refuses_other_modes(tmp_path):
    done = _pytest(tmp_path, ["--coherence", "on"], None)
    assert done.returncode != 0
    assert "'on' is not a coherence mode" in done.stderr


def _pytest(folder, options, environment):
    variables = {key: text for key, text in os.environ.items() if key != coherence.VARIABLE}
    if environment:
        variables[coherence.VARIABLE] = environment
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        timeout=120,
    )
