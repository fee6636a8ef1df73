# SPDX-License-Identifier: MIT
"""Decoded weights are found by their compressed bytes, and the cache is limited."""

import pytest

from host_tests.tools.npu_sim import hardware

ENTRIES = 512
LIMIT = 192 << 20


class Weights:
    """The C functions on one cache."""

    def __init__(self):
        self._ffi, self._library = hardware.internal("weights/weight_cache.h")
        self.cache = self._ffi.new("struct npu_weight_cache *")

    def __call__(self, function, *arguments):
        return getattr(self._library, f"npu_cache_{function}")(self.cache, *arguments)

    def add(self, key, *streams, count=16):
        return self._on(streams, "add", key, count)

    def find(self, key, *streams):
        return self._on(streams, "find", key) or None

    def _on(self, streams, function, key, *more):
        buffers = [self._ffi.from_buffer("uint8_t[]", stream) for stream in streams]
        given = {"bytes": buffers, "length": [*map(len, streams)]}
        return self(function, key, self._ffi.new("struct npu_weight_bytes *", given), *more)


@pytest.fixture
def weights(npu_library):
    weights = Weights()
    yield weights
    weights("free")
    assert weights.cache.bytes == 0


def test_an_entry_is_found_by_all_its_bytes_and_its_order(weights):
    entry = weights.add(1, b"abc", b"de")
    assert weights.find(1, b"abc", b"de") == entry
    others = [(2, b"abc", b"de"), (1, b"abd", b"de"), (1, b"abc", b"df"), (1, b"abc"), (1, b"ab")]
    assert [weights.find(*other) for other in others] == [None] * len(others)


def test_a_dropped_entry_is_not_found(weights):
    entry = weights.add(1, b"abc")
    weights("drop", entry)
    assert weights.find(1, b"abc") is None


def test_the_entry_used_longest_ago_makes_room(weights):
    for key in range(ENTRIES):
        weights.add(key, b"abc")
    assert weights.find(0, b"abc")
    weights.add(ENTRIES, b"abc")
    assert weights.find(1, b"abc") is None
    assert weights.find(0, b"abc") and weights.find(ENTRIES, b"abc")


def test_the_limit_applies_except_to_the_entry_in_use(weights):
    half = LIMIT // 2 // 2
    weights.add(0, b"old", count=half)
    entry = weights.add(1, b"new", count=half)
    assert weights.find(0, b"old") is None and weights.find(1, b"new") == entry
    assert weights("pack", entry, LIMIT // 2)
    assert weights.find(1, b"new") == entry and weights.cache.bytes > LIMIT
