# SPDX-License-Identifier: MIT
"""The native module handles small stacks, moving buffers and read-only buffers."""

import pytest

from host_tests.kit.board_models import raised
from host_tests.modules.ethosu.natmod.native_board import CALLBACK


@pytest.mark.parametrize(
    "call",
    ["ethosu.Model('/m.tflite')", "ethosu.Model(file)", "ethosu.Model(file[:5000])",
     "m.predict([x])", "asyncio.run(m.run([x]))",
     "ethosu.reserve(timeout_ms=5).invoke(payload, [])"],
)  # fmt: skip
def test_at_the_limit_of_the_stack_there_is_an_exception(fresh, call):
    """Close to the stack's limit, a call works or raises; the board survives.

    A call may leave a handle's address on the stack, so a dropped handle may stay reserved.
    """
    fresh.exec(
        CALLBACK + "file, out = open('/m.tflite', 'rb').read(), set()\n"
        "def deep(f, up):\n"
        "    try: r = deep(f, up)\n"
        "    except RuntimeError: r = 0\n"
        "    if r == up:\n"
        "        try: f()\n"
        "        except RuntimeError as error: out.add(error.args[0])\n"
        "        except ValueError as error: pass\n"
        "        except OSError as error: assert error.errno == 16\n"
        "    return None if r is None or r == up else r + 1\n"
        f"for up in range(50): deep(lambda: {call}, up)",
        timeout=60,
    )
    assert fresh.eval("out") == {"maximum recursion depth exceeded"}
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")


def test_loading_checks_for_the_stack_that_it_needs(fresh):
    """Close to the recursion limit, where predict() just works, loading is rejected."""
    fresh.exec(
        "def deep(frames, work): return deep(frames - 1, work) if frames else work()\n"
        "def works(frames, work):\n"
        "    try: return deep(frames, work) is not None\n"
        "    except RuntimeError as e: assert 'recursion' in str(e)\n"
        "def last(work):\n"
        "    frames = 0\n"
        "    while works(frames + 1, work): frames += 1\n"
        "    return frames\n"
        "predict, load = last(lambda: m.predict([x])), last(lambda: ethosu.Model('/m.tflite'))",
        timeout=60,
    )
    assert fresh.eval("predict - load") > 20


def test_base_that_the_payload_writes_must_be_writable(fresh):
    """The NPU may read bytes objects, but a base that it writes must be writable."""
    fresh.exec(
        "import struct, uctypes\n"
        "stream = 0x130, 0x10131, 0x4030, 0, 0x4031, 0, 0x4032, 64, 0x10, 0xFFFF0000\n"
        "payload = struct.pack('<14I', 0x31504F43, 5, 5, 2 | 10 << 16, *stream)\n"
        "fixed = b'U' * 128\nskip = -uctypes.addressof(fixed) % 32\n"
        "fixed = memoryview(fixed)[skip : skip + 64]\ntarget = ethosu.buffer(64)\n"
        "def run(*bases):\n    with ethosu.reserve(timeout_ms=0) as n: n.invoke(payload, bases)"
    )
    assert raised(fresh, "run(target, fixed)").startswith(
        "TypeError base that the payload writes is of type memoryview, expected a writable buffer"
    )
    fresh.exec("run(fixed, target)")
    assert fresh.eval("bytes(target)") == b"U" * 64


def test_memory_that_was_resized_is_not_used(fresh):
    """A resized bytearray is rejected: its old block, which we cannot keep, may be reused."""
    fresh.exec(
        "from array import array\nfile = bytearray(open('/m.tflite', 'rb').read())\n"
        "arena = bytearray(m.ram)\nk = ethosu.Model(file, arena=arena)\n"
        "assert bytes(k.predict([x])[0]) == golden\n"
        "arena.extend(bytes(50000))\ngarbage = [bytearray(512) for _ in range(200)]"
    )
    for use in ("k.predict([x])", "k.run_into()", "k.reset()", "k.inputs[0].quantize([0] * 768)",
                "asyncio.run(k.run([x]))"):  # fmt: skip
        assert raised(fresh, use).startswith("ValueError arena was resized"), use
    assert fresh.eval("any(any(block) for block in garbage)") is False
    fresh.exec("k = ethosu.Model(file)\nfile.extend(bytes(50000))")
    assert raised(fresh, "k.predict([x])").startswith("ValueError the model's buffer was resized")
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")


def test_a_buffer_resized_during_a_job_is_reported(fresh):
    fresh.exec(CALLBACK + "payload, base = bytearray(payload), bytearray(64)")
    fresh.exec("n = ethosu.reserve(timeout_ms=0)")
    for buffer in ("payload", "base"):
        fresh.exec(f"n.invoke_async(payload, [base])\n{buffer}.extend(bytes(50000))")
        assert raised(fresh, "n.wait()").startswith("OSError 14 payload or base was resized while")
        fresh.exec("payload = bytearray(payload[:20])\nn.invoke(payload, [base])")
    fresh.exec("n.release()")


def test_arena_that_is_a_view_is_kept(fresh):
    """A model keeps its arena's owner, and so does a tensor's view after the model is gone."""
    fresh.exec(
        "import uctypes\n"
        "def load():\n"
        "    return ethosu.Model('/m.tflite', arena=memoryview(bytearray(9999 + m.ram))[999:])\n"
        "def others(tensor):\n"
        "    gc.collect()\n"
        "    at, new = uctypes.addressof(tensor), [bytearray(512) for _ in range(200)]\n"
        "    return sum(uctypes.addressof(each) - at in range(-512, 0) for each in new)\n"
        "k = load()\nassert bytes(k.predict([x])[0]) == golden and not others(k.inputs[0].data)\n"
        "k.run_into([x])\ny = k.outputs[0].data\ndel k\nassert not others(y)"
    )
    assert fresh.eval("bytes(y) == golden")
