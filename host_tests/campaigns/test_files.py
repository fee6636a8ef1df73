# SPDX-License-Identifier: MIT
"""Short form of the campaign on the host's readers."""

import pytest

from . import files
from .common import FoundError
from .files import Files


def test_damaged_files_are_read_or_refused(small_corpus):
    counts = Files(small_corpus).run(1, 0, 150)
    assert counts["read"] > 20
    assert counts["refused"] > 50


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
