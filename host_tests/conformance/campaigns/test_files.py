# SPDX-License-Identifier: MIT
"""Short form of the campaign on the host's readers."""

import contextlib
import random

import pytest
from ethosu_tools.base.errors import InputError
from ethosu_tools.model import tflite

from host_tests.kit.models import damage

from . import files
from .common import FoundError
from .files import Files


def test_damaged_files_are_read_or_refused(small_corpus):
    counts = Files(small_corpus).run(1, 0, 1000)
    assert counts["read"] > 130
    assert counts["refused"] > 330


@pytest.mark.parametrize("words", files.COMMANDS)
def test_commands_end_with_one_sentence(small_corpus, tmp_path, words):
    """Commands report damaged files in a sentence, including a stream without an operation."""
    sound = sorted((small_corpus / "models").iterdir())
    draw = random.Random(words)
    path = tmp_path / "model.tflite"
    for model in draw.sample(sound, 3):
        data = model.read_bytes()
        found = [t.content for t in tflite.parse(data)[0].tensors if t.content[:4] == b"COP1"]
        stop = data.index(found[0]) + 32 if found else 0
        empty = data[:stop] + bytes.fromhex("0000ffff") + data[stop + 4 :]
        for changed in (damage.damaged(data, draw), empty):
            path.write_bytes(changed)
            with contextlib.suppress(InputError):
                files.command(words, path)


def test_a_reader_that_takes_too_long_is_found(small_corpus, monkeypatch):
    monkeypatch.setattr(files, "CALLS", 10)
    monkeypatch.setattr(files, "CALLS_PER_BYTE", 0)
    with pytest.raises(FoundError, match="TooManyCallsError"):
        Files(small_corpus).run(1, 0, 5)


def test_a_reader_that_raises_something_else_is_found(small_corpus, monkeypatch):
    def read(_path, _data):
        raise KeyError("a field")

    monkeypatch.setattr(files, "READERS", dict.fromkeys(files.READERS, (read,)))
    with pytest.raises(FoundError, match="KeyError: 'a field'"):
        Files(small_corpus).run(1, 0, 1)
