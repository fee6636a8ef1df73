# SPDX-License-Identifier: MIT
"""The NPU works in memory that was given to it and in no other, whatever the program does."""

import pytest

from .conftest import raised

# others(): new objects that came to be in these bytes.
_SETUP = """
import struct, uctypes
need = m.info()['arena_size'] + 64
file = open('/model.tflite', 'rb').read()
payload = struct.pack('<4sIIII', b'COP1', 5, 5, 2 | 1 << 16, 0xFFFF << 16)
def others(start, size):
    gc.collect()
    new = [bytearray(b'\\xA5' * 512) for _ in range(1500)]
    inside = lambda at: start - 512 < at < start + size
    return [each for each in new if inside(uctypes.addressof(each))], new
def unspoilt(k, start, size):
    hit, new = others(start, size)
    right = bytes(k.predict([x])[0]) == golden
    return len(hit), right, all(each == b'\\xA5' * 512 for each in new)
"""

# How a buffer `given` of `size` bytes is made, and what happens to its owner later.
_OWNERS = {
    "a slice": ("given = memoryview(bytearray(1024 + size))[1024:]", "pass"),
    "a slice of a slice": ("given = memoryview(bytearray(2080 + size))[1024:][1056:]", "pass"),
    "a slice of ethosu.buffer": ("given = ethosu.buffer(1024 + size)[1024:]", "pass"),
    "uctypes.bytearray_at": (
        "given = uctypes.bytearray_at(uctypes.addressof(bytearray(4096 + size)) + 4096, size)",
        "pass",
    ),
    "bytearray.extend": ("given = bytearray(size)", "given.extend(bytes(200000))"),
    "bytearray +=": ("given = bytearray(size)", "given += bytes(200000)"),
    "bytearray.append": ("given = bytearray(size)", "for _ in range(5000): given.append(0)"),
    "insertion into a bytearray": ("given = bytearray(size)", "given[5:5] = bytes(200000)"),
    "removal from a bytearray": ("given = bytearray(size)", "given[5:] = b''\ngiven.extend(b'0')"),
    "array.extend": ("given = array('B', bytes(size))", "given.extend(array('B', bytes(200000)))"),
    "array.append": ("given = array('B', bytes(size))", "for _ in range(5000): given.append(0)"),
    "extend below a view": (
        "owner = bytearray(size)\ngiven = memoryview(owner)",
        "owner.extend(bytes(200000))",
    ),
}  # fmt: skip


def _function(*parts: str) -> str:
    lines = "\n".join(parts).splitlines()
    return "def make(size):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.fixture
def memory(emulated):
    emulated.exec(_SETUP)
    return emulated


@pytest.mark.parametrize("owner", _OWNERS)
def test_an_arena_stays_with_its_model(memory, owner):
    """Models at several places in the heap: nothing else comes to be in their arenas."""
    given, later = _OWNERS[owner]
    memory.exec(
        _function(
            given,
            "k = ethosu.Model('/model.tflite', arena=given)",
            later,
            "return k, k.info()['arena_address']",
        )
        + "seen = set()\n"
        "for pad in range(4):\n"
        "    pads = [bytearray(16) for _ in range(pad)]\n"
        "    k, at = make(need)\n"
        "    seen.add(unspoilt(k, at, need - 64))\n"
    )
    assert memory.eval("seen") == {(0, True, True)}


def test_an_arena_of_ethosu_buffer_stays_with_its_model(memory):
    memory.exec(
        "seen = set()\n"
        "for pad in range(6):\n"
        "    pads = [bytearray(16) for _ in range(pad)]\n"
        "    k = ethosu.Model('/model.tflite', arena=ethosu.buffer(need))\n"
        "    seen.add(unspoilt(k, k.info()['arena_address'], need - 64))\n"
    )
    assert memory.eval("seen") == {(0, True, True)}


@pytest.mark.parametrize("owner", _OWNERS)
def test_a_source_stays_with_its_model(memory, owner):
    given, later = _OWNERS[owner]
    memory.exec(
        _function(
            given,
            "memoryview(given)[:] = file",
            "k = ethosu.Model(given)\nat = uctypes.addressof(given)",
            later,
            "return k, at",
        )
        + "k, at = make(len(file))\nseen = unspoilt(k, at, len(file))"
    )
    assert memory.eval("seen") == (0, True, True)


def test_a_view_of_a_tensor_keeps_an_arena_that_was_given(memory):
    memory.exec(
        "def make():\n"
        "    k = ethosu.Model('/model.tflite', arena=memoryview(bytearray(1024 + need))[1024:])\n"
        "    k.run_into([x])\n"
        "    return k.outputs[0].data\n"
        "y = make()\nhit = others(uctypes.addressof(y), 10)[0]"
    )
    assert memory.eval("(len(hit), bytes(y) == golden)") == (0, True)


@pytest.mark.parametrize("owner", _OWNERS)
def test_a_job_keeps_the_blocks_that_it_works_in(memory, owner):
    """One DMA to a buffer that is dropped or resized while the NPU works."""
    given, later = _OWNERS[owner]
    memory.exec(
        "words = (0x130, 0x10131, 0x4030, 0, 0x4031, 0, 0x4032, 4096, 0x10, 0xFFFF0000)\n"
        "job = struct.pack('<4sIII10I', b'COP1', 5, 5, 2 | 10 << 16, *words)\n"
        "keep = []\nn = ethosu.reserve()\n"
        + _function(
            "while True:",
            *(f"    {line}" for line in given.splitlines()),
            "    at = uctypes.addressof(given)",
            "    if at % 32 == 0: break",
            "    keep.append((given, bytearray(16)))",
            "n.invoke_async(job, [ethosu.buffer(4096), given])",
            later,
            "return at",
        )
        + "mask()\n"
        "try: hit = others(make(4096), 4096)[0]\n"
        "finally: unmask()\n"
        "n.wait()\nn.release()\n"
    )
    assert memory.eval("len(hit)") == 0


def test_blocks_are_free_again_after_a_job_and_with_a_model(memory):
    """Nothing is lost: 200 models and 200 jobs, each on a block of its own that is resized."""
    memory.exec(
        "def once():\n"
        "    big = bytearray(20000)\n"
        "    k = ethosu.Model('/model.tflite', arena=big)\n"
        "    big.extend(bytes(20000))\n"
        "    k.deinit()\n"
        "    with ethosu.reserve() as n:\n"
        "        base = bytearray(20000)\n"
        "        n.invoke_async(payload, [base])\n"
        "        base.extend(bytes(20000))\n"
        "        n.wait()\n"
        "once()\ngc.collect()\nbefore = gc.mem_alloc()\n"
        "for _ in range(200): once()\n"
        "gc.collect()\nlost = gc.mem_alloc() - before"
    )
    assert memory.eval("lost") < 2000
    assert memory.eval("bytes(m.predict([x])[0]) == golden")


@pytest.mark.parametrize(
    "code",
    [
        "ethosu.Model(file, arena=view)",
        "ethosu.Model(view)",
        "with ethosu.reserve() as n: n.invoke(payload, [view])",
        "with ethosu.reserve() as n: n.invoke(view, [])",
    ],
)
def test_memory_that_the_heap_has_taken_back_is_refused(memory, code):
    """A view of a bytearray that has moved since."""
    memory.exec(
        "big = bytearray(100000)\nbig[:len(file)] = file\nview = memoryview(big)\n"
        "big.extend(bytes(400000))\n"
    )
    assert "is no block of the heap" in raised(memory, code)
