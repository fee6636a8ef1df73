# SPDX-License-Identifier: MIT
"""Each command reads a model file once, and has the C library describe its contents once."""

import hashlib
import sys
from collections import Counter
from contextlib import contextmanager

import numpy as np
import pytest
from ethosu_tools.model import reader

_opened: list[str] | None = None


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and _opened is not None:
        _opened.append(str(arguments[0]))


sys.addaudithook(_note)  # cannot be removed again


def _digest(data):
    return hashlib.sha256(data).hexdigest()


@contextmanager
def counting(monkeypatch):
    """Yield counters of opened files, and of described contents by hash."""
    global _opened
    opened, described, real = Counter(), Counter(), reader.Reader.__init__
    _opened = []

    def describe(self, data):
        described[_digest(data)] += 1
        real(self, data)

    with monkeypatch.context() as patch:
        patch.setattr(reader.Reader, "__init__", describe)
        yield opened, described
    opened.update(_opened)
    _opened = None


# Workers of `validate` describe the bytes that they receive, too.
DESCRIBED_TWICE = "validate"
# `check` compiles for all boards, and some get equal bytes.
COMPILES_FOR_ALL = "check SOURCE"
COMMANDS = [
    "inspect MODEL",
    "run MODEL",
    "run MODEL --on qemu --reference SOURCE",
    "profile MODEL --operations",
    "decode MODEL log.txt",
    "inspect MODEL --memory",
    "profile MODEL SOURCE",
    "profile SOURCE",
    "check MODEL --reference SOURCE --html page.html",
    "check SOURCE --html page.html",
    "validate MODEL data.npz --reference SOURCE --workers 1",
    "profile MODEL --on qemu --count 1",
    "deploy MODEL -o rom.img",
    "compile SOURCE -o out.tflite --board MPS3_AN547 --selftest",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_reads_and_describes_a_model_once(
    ethosu, small_models, compiled, tmp_path, monkeypatch, command
):
    monkeypatch.chdir(tmp_path)
    source = small_models["small_cnn"]
    files = {"MODEL": compiled(source), "SOURCE": source}
    (tmp_path / "log.txt").write_text(
        "NPU stopped at byte 8 of the command stream: bus error (STATUS 0x4)"
    )
    np.savez("data.npz", np.zeros((1, 16, 16, 3), np.int8))
    words = [files.get(word, word) for word in command.split()]
    with counting(monkeypatch) as (opened, described):
        code, _, err = ethosu(*words)
    assert code == 0, err
    reads = {str(path): opened[str(path)] for path in files.values() if path in words}
    assert set(reads.values()) == {1}, reads
    most = 2 if command.startswith(DESCRIBED_TWICE) else 1
    if command.startswith(COMPILES_FOR_ALL):
        contents = [path.read_bytes() for path in files.values() if path in words]
        described = {key: described[key] for key in map(_digest, contents)}
    assert max(described.values()) == most, described
