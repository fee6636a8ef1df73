# SPDX-License-Identifier: MIT
"""Decoded weights are found by their compressed bytes, and the cache is limited."""

import ctypes as c

import pytest

from host_tests.tools.npu_sim import hardware

CORES = 4
ENTRIES = 512
LIMIT = 192 << 20


class Streams(c.Structure):
    """struct npu_weight_streams."""

    _fields_ = (("bytes", c.c_char_p * CORES), ("length", c.c_size_t * CORES))


class Cache(c.Structure):
    """struct npu_weight_cache."""

    _fields_ = (
        ("entries", c.c_void_p * ENTRIES),
        ("time", c.c_uint64),
        ("bytes", c.c_size_t),
        ("next", c.c_uint),
    )


class Weights:
    """The C functions on one cache."""

    def __init__(self, library):
        self.cache = Cache()
        self._library = library
        for name in ("find", "add", "pack"):
            getattr(library, f"npu_cache_{name}").restype = c.c_void_p

    def __call__(self, function, *arguments):
        return getattr(self._library, f"npu_cache_{function}")(c.byref(self.cache), *arguments)

    def add(self, key, first, second=b"", count=16):
        return self("add", c.c_uint64(key), c.byref(streams(first, second)), c.c_size_t(count))

    def find(self, key, first, second=b""):
        return self("find", c.c_uint64(key), c.byref(streams(first, second)))


def streams(first, second):
    return Streams((first, second, b"", b""), (len(first), len(second), 0, 0))


@pytest.fixture
def weights(npu_library):
    weights = Weights(c.CDLL(str(hardware.library_path())))
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
    weights("drop", c.c_void_p(entry))
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
    assert weights("pack", c.c_void_p(entry), c.c_size_t(LIMIT // 2)) is not None
    assert weights.find(1, b"new") == entry and weights.cache.bytes > LIMIT
