# SPDX-License-Identifier: MIT
"""Tests the NPU handle's done, cancel, callbacks, await, power and counters."""

import pytest

from host_tests.kit.board_models import interrupt, keep_file, raised


@pytest.fixture
def npu(api, board_npu, raw):
    """Return a board with a reserved NPU `n`, `payload`, `bases` and helper functions."""
    call = raw(board_npu)
    start, end = call.inputs[0].offset, call.outputs[0].offset
    fast = f"ethosu.buffer({call.fast_scratch_size})" if call.fast_scratch_size else "scratch"
    keep_file(api, "/payload", call.commands)
    keep_file(api, "/weights", call.weights)
    api.exec(
        "import time, uctypes\n"
        "payload, weights = open('/payload', 'rb').read(), open('/weights', 'rb').read()\n"
        f"store = bytearray({call.scratch_size} + 32)\n"
        "skip = -uctypes.addressof(store) % 32\n"
        "scratch = memoryview(store)[skip:skip + len(store) - 32]\n"
        f"bases = [weights, scratch, {fast}]\n"
        f"def fill(): scratch[{start}:{start} + len(x)] = bytes(x)\n"
        f"def right(): return bytes(scratch[{end}:{end} + len(golden)]) == golden\n"
        "def works():\n    fill()\n    n.invoke(payload, bases)\n    return right()\n"
        "n = ethosu.reserve(npu=m.npu)\n"
    )
    return api


@pytest.fixture
def handle(npu, emulated):
    """Return such a board with features that only the emulated board has."""
    return emulated


def test_done_and_wait(handle):
    assert handle.eval("n.done()")
    handle.exec("mask(); fill(); n.invoke_async(payload, bases)")
    assert handle.eval("(n.done(), n.wait(0))") == (False, False)
    error = raised(handle, "n.invoke_async(payload, bases)")
    assert error.startswith("OSError 16 an inference is running")
    handle.exec("unmask()\nwhile not n.done(): pass")
    assert handle.eval("(n.wait(), right())") == (True, True)


def test_wait_keeps_to_the_time_of_the_start(handle):
    handle.exec("mask(); n.invoke_async(payload, bases, timeout_ms=20)")
    assert "within 20 ms" in raised(handle, "n.wait()")
    handle.exec("unmask()")
    assert handle.eval("works()")


def test_a_loop_until_it_is_done_ends_with_its_time(handle):
    handle.exec(
        "emulator.fault('hang')\nn.invoke_async(payload, bases, timeout_ms=20)\n"
        "while not n.done(): pass",
        timeout=5,
    )
    assert raised(handle, "n.wait()").startswith("OSError 110 inference took longer than 20 ms")
    assert handle.eval("works()")


def test_a_lost_model_releases_the_npu_after_its_time_out(emulated):
    """An NPU that hangs without a waiter is stopped by the next call that needs the NPU."""
    emulated.exec(
        "import time\nemulator.fault('hang')\n"
        "def lose(): ethosu.Model('/model.tflite', timeout_ms=500)._start([x])"
    )
    assert raised(emulated, "lose()\nm.predict([x])").startswith("OSError 16 the NPU is busy")
    emulated.exec("time.sleep_ms(510)")
    assert emulated.eval("bytes(m.predict([x])[0]) == golden")


@pytest.mark.parametrize("hang", [0, 1])
def test_a_lost_handle_releases_the_npu(handle, hang):
    """Else no other program part could reserve it: once its inference has ended, or timed out."""
    handle.exec(
        f"emulator.fault('hang', {hang})\n"
        f"n.invoke_async(payload, bases, timeout_ms=20)\nn = None\n"
        "def take(): return ethosu.reserve(npu=m.npu, timeout_ms=2000)\n"
        "def work(depth): return work(depth - 1) if depth else take()\n"
        "n = work(10)"
    )
    assert handle.eval("works()")


def test_late_inference_of_a_handle_is_stopped_for_a_model(handle):
    handle.exec(
        "emulator.fault('hang')\nn.invoke_async(payload, bases, timeout_ms=20)\ntime.sleep_ms(30)\n"
    )
    assert raised(handle, "m.predict([x])").startswith("OSError 16 the NPU is reserved")
    assert raised(handle, "n.wait()") == "OSError 125 the inference was cancelled"
    assert handle.eval("works()")


def test_no_time_out_waits_until_interrupted(handle):
    """With a time-out of -1, only Ctrl-C ends the wait, and stops the NPU."""
    handle.exec("endless = ethosu.Model('/model.tflite', npu=n, timeout_ms=-1)")
    handle.exec("import asyncio")
    for code in (
        "endless.run_into([x])",
        "asyncio.run(endless.run([x]))",
        "n.invoke_async(payload, bases, timeout_ms=-1)\nn.wait()",
    ):
        handle.exec("emulator.fault('hang')")
        interrupt(handle, code)
        assert handle.eval("bytes(endless.predict([x])[0]) == golden")


@pytest.mark.parametrize("how", ["k.run_into([x])", "asyncio.run(k.run([x]))"])
def test_a_time_out_of_zero_is_the_shortest(emulated, how):
    emulated.exec("import asyncio\nk = ethosu.Model('/model.tflite', timeout_ms=0)")
    emulated.exec("emulator.fault('hang')")
    assert raised(emulated, how).startswith("OSError 110 inference took longer than 1 ms")
    assert emulated.eval("bytes(m.predict([x])[0]) == golden")


def test_callback_when_done(npu):
    npu.exec(
        "seen = []\nfill()\n"
        "n.invoke_async(payload, bases, callback=lambda npu: seen.append((npu is n, npu.wait())))\n"
        "time.sleep_ms(20)"
    )
    assert npu.eval("(seen, right())") == ([(True, True)], True)


def test_exception_in_a_callback_is_printed_and_nothing_breaks(npu):
    out = npu.exec(
        "def bad(npu): raise ValueError('in callback')\n"
        "fill()\nn.invoke_async(payload, bases, callback=bad)\ntime.sleep_ms(20)\nn.wait()"
    )
    assert "ValueError: in callback" in out
    assert npu.eval("right()")


def test_callback_starts_the_next_inference(npu):
    npu.exec(
        "left = 5\n"
        "def again(npu):\n"
        "    global left\n"
        "    npu.wait()\n"
        "    left -= 1\n"
        "    if left:\n"
        "        fill(); npu.invoke_async(payload, bases, callback=again)\n"
        "fill(); n.invoke_async(payload, bases, callback=again)\n"
        "while left: time.sleep_ms(1)"
    )
    assert npu.eval("right()")


def test_a_callback_is_called_for_its_own_inference_only(handle):
    """A finished inference's scheduled callback is not called for the next inference."""
    handle.exec(
        "import micropython\nseen = []\n"
        "def both(_):\n"  # the scheduler runs nothing else meanwhile
        "    n.invoke_async(payload, bases, callback=lambda npu: seen.append('first'))\n"
        "    while not n.done(): pass\n"
        "    n.wait(); mask()\n"
        "    n.invoke_async(payload, bases, callback=lambda npu: seen.append('second'))\n"
        "micropython.schedule(both, None)\n"
        "time.sleep_ms(5)\nearly = list(seen)\nunmask()\ntime.sleep_ms(10)\nn.wait()\n"
    )
    assert handle.eval("(early, seen)") == ([], ["second"])


def test_cancel(handle):
    handle.exec(
        "seen = []\nmask()\nn.invoke_async(payload, bases, callback=seen.append)\n"
        "n.cancel()\nn.cancel()\nunmask()\ntime.sleep_ms(5)"
    )
    assert handle.eval("(n.done(), seen)") == (True, [])
    assert raised(handle, "n.wait()") == "OSError 125 the inference was cancelled"
    assert raised(handle, "n.wait()").startswith("OSError 22 no inference was started")
    handle.exec("n.cancel()")
    assert handle.eval("works()")


def test_await(handle):
    handle.exec(
        "import asyncio, errno\n"
        "async def main():\n"
        "    for _ in range(3):\n"
        "        fill()\n"
        "        await n.run(payload, bases, timeout_ms=1000)\n"
        "        assert right()\n"
        "    mask()\n"
        "    task = asyncio.create_task(n.run(payload, bases))\n"
        "    await asyncio.sleep_ms(3)\n"
        "    task.cancel()\n"
        "    try: await task\n"
        "    except asyncio.CancelledError: pass\n"
        "    task = asyncio.create_task(n.run(payload, bases))\n"
        "    await asyncio.sleep_ms(3)\n"
        "    n.cancel()\n"  # as another task does
        "    try: await task\n"
        "    except OSError as error: assert error.errno == errno.ECANCELED; unmask()\n"
        "asyncio.run(main())"
    )
    assert handle.eval("works()")


# Bits of register CMD that allow the NPU to request clock and power off.
POWER_BITS = "machine.mem32[NPU + 8] & 0xC"


def test_power_only_while_running_or_all_the_time(handle):
    handle.exec("fill(); n.invoke(payload, bases)")
    idle = handle.eval(POWER_BITS)
    handle.exec("n.release(); n = ethosu.reserve(npu=m.npu, powered=True)")
    assert handle.eval("works()")
    assert handle.eval(POWER_BITS) != idle
    handle.exec("n.release()")
    assert handle.eval(POWER_BITS) == idle


def test_counters(npu):
    npu.exec(
        "with n.pmu(ethosu.PMU_NPU_ACTIVE, ethosu.PMU_MAC_ACTIVE) as p:\n"
        "    fill(); n.invoke(payload, bases)\n"
        "    live = p.cycles\n"
        "after = p.cycles"
    )
    cycles, active, macs = npu.eval("(after, p[0], p[1])")
    assert cycles >= active >= macs > 0
    assert npu.eval("live > 0 and p.cycles == after and len(p) == 2")
    assert raised(npu, "p[2]").startswith("IndexError")
    npu.exec("with p: pass")
    assert npu.eval("p[1]") == 0


def test_release_ends_counting_and_leaves_no_power_request(handle):
    handle.exec(
        "fill(); n.invoke(payload, bases)\n"
        f"idle = {POWER_BITS}\n"
        "with n.pmu(ethosu.PMU_NPU_ACTIVE) as p:\n"
        "    fill(); n.invoke(payload, bases)\n"
        f"    counting = {POWER_BITS}\n"
        "    n.release()\n"
        "    kept = p.cycles, p[0]\n"
        f"released = {POWER_BITS}\n"
    )
    assert handle.eval("idle == released != counting")
    assert handle.eval("p.cycles >= p[0] > 0 and kept == (p.cycles, p[0])")
    assert raised(handle, "with p: pass").startswith("OSError 1 this NPU was released")
    handle.exec("n = ethosu.reserve(npu=m.npu)")
    assert handle.eval("works()")
    handle.exec("n.release()")
    assert handle.eval(f"idle == {POWER_BITS}")


def test_a_new_counter_ends_the_previous_one(npu):
    npu.exec(
        "with n.pmu() as a:\n"
        "    fill(); n.invoke(payload, bases)\n"
        "    with n.pmu() as b: pass\n"
        "    kept = a.cycles\n"
        "    fill(); n.invoke(payload, bases)\n"
    )
    assert npu.eval("a.cycles == kept > b.cycles")


def test_creating_a_counter_has_no_effect(npu):
    npu.exec(
        "with n.pmu(ethosu.PMU_MAC_ACTIVE) as a:\n"
        "    b = n.pmu(ethosu.PMU_NPU_ACTIVE)\n"
        "    fill(); n.invoke(payload, bases)\n"
        "with n.pmu(ethosu.PMU_MAC_ACTIVE) as c:\n"
        "    fill(); n.invoke(payload, bases)\n"
    )
    assert npu.eval("a[0] == c[0] > 0")


def test_buffers_that_the_payload_writes_must_be_writable(npu):
    npu.exec(
        "size = (len(scratch) + 31) // 32 * 32\n"
        "fixed = bytes(size + 32)\nskip = -uctypes.addressof(fixed) % 32\n"
        "fixed = memoryview(fixed)[skip : skip + size]"
    )
    assert raised(npu, "n.invoke(payload, [weights, fixed, bases[2]])").startswith(
        "TypeError base that the payload writes is of type memoryview, expected a writable buffer"
    )
    assert npu.eval("works() and bytes(fixed) == bytes(len(fixed))")


@pytest.mark.parametrize("short", [0, 1])
def test_a_base_that_is_too_small_is_refused_before_the_start(npu, short):
    npu.exec(f"cut = list(bases)\ncut[{short}] = cut[{short}][:16]")
    assert raised(npu, "n.invoke(payload, cut)").startswith("ValueError command at word ")


def test_a_base_that_the_npu_cannot_see_is_refused(handle):
    handle.exec("t = uctypes.bytearray_at(UNSEEN, len(scratch))")
    error = raised(handle, "n.invoke(payload, [weights, t, bases[2]])")
    assert error.startswith("OSError 14 base pointer 1, ")
    assert handle.eval("works()")


def test_info_and_names(npu, board_npu):
    info = npu.eval("n.info()")
    assert info["config"] == board_npu == npu.eval("ethosu.npus()[n.npu]")
    assert repr(board_npu).strip("'") in npu.exec("print(n)")
    npu.exec(f"n.release(); n = ethosu.reserve(npu={board_npu!r}); n.release()")
    npu.exec("n = ethosu.reserve(npu=0); n.release()")


@pytest.mark.parametrize("name", ["EBUSY", "EFAULT", "ECANCELED", "ETIMEDOUT", "EIO", "ENODEV"])
def test_errors_have_names(api, name):
    api.exec("import errno")
    assert api.eval(f"errno.errorcode[errno.{name}]") == name


def test_errors_are_those_of_module_errno(handle):
    """Each exception's errno is in module errno, and is printed with its name."""
    handle.exec(
        "import errno\nk = ethosu.Model('/model.tflite', npu=n, timeout_ms=20)\n"
        "emulator.fault('hang')"
    )
    late = raised(handle, "k.run_into([x])")
    assert late.startswith(f"OSError {handle.eval('errno.ETIMEDOUT')} inference took longer")
    busy = raised(handle, "m.run_into([x])")
    assert busy.startswith(f"OSError {handle.eval('errno.EBUSY')} the NPU is reserved")
    cancelled = raised(handle, "k._start([x])\nk.cancel()\nk._step()")
    assert cancelled.startswith(f"OSError {handle.eval('errno.ECANCELED')} the inference was")
    handle.exec("emulator.fault('hang')\ntry: k.run_into([x])\nexcept OSError as e: late = str(e)")
    assert handle.eval("late").startswith("[Errno 110] ETIMEDOUT: inference took longer than 20 ms")
