# SPDX-License-Identifier: MIT
"""Features and guarantees of the Python module `ethosu` on a board."""

import numpy as np
import pytest

from host_tests.kit import board_models


@pytest.fixture
def cnn(api):
    return api


def test_metadata_in_openmv_form(cnn, small_models, case_of):
    from ethosu_tools.oracle import Oracle

    oracle = Oracle(small_models["small_cnn"])
    for side, tensor in (("input", oracle.inputs[0]), ("output", oracle.outputs[0])):
        assert cnn.eval(f"m.{side}_shape") == (tuple(tensor.shape),)
        assert cnn.eval(f"m.{side}_dtype") == (np.dtype(tensor.dtype).char,)
        assert cnn.eval(f"m.{side}_scale") == pytest.approx((tensor.scale,))
        assert cnn.eval(f"m.{side}_zero_point") == (tensor.zero_point,)
    assert cnn.eval("m.len") > 1000
    assert cnn.eval("m.ram") >= cnn.eval("m.info()['arena_size']")


def test_predict_returns_new_arrays(cnn):
    cnn.exec("a = m.predict([x])\nb = m.predict([array('b', bytes(len(x)))])")
    assert cnn.eval("bytes(a[0]) == golden")
    assert cnn.eval("bytes(b[0]) != golden")


def test_run_into_buffers_of_the_caller(cnn):
    cnn.exec("y = bytearray(len(golden))\nm.run_into([x], [y])")
    assert cnn.eval("y == golden")


def test_run_in_place(cnn):
    cnn.exec("m.inputs[0].data[:] = x\nm.run_into()")
    assert cnn.eval("bytes(m.outputs[0].data) == golden")


def test_inference_allocates_nothing(cnn):
    cnn.exec(
        "import gc, micropython\ny = bytearray(len(golden))\nins, outs = [x], [y]\n"
        "def run():\n"  # function without new names, which would allocate
        "    micropython.heap_lock()\n"
        "    try:\n"
        "        for _ in range(1000): m.run_into(ins, outs)\n"
        "    finally: micropython.heap_unlock()\n"
        "m.run_into(ins, outs)\nrun()"
    )
    assert cnn.eval("y == golden")


def test_model_from_a_buffer(cnn):
    cnn.exec("f = open('/model.tflite', 'rb').read()\nn = ethosu.Model(f)")
    assert cnn.eval("bytes(n.predict([x])[0]) == golden")
    assert cnn.eval("n.info()['copied_bytes']") == 0


def test_misaligned_buffer_is_copied(cnn):
    cnn.exec("f = open('/model.tflite', 'rb').read()\nn = ethosu.Model(memoryview(b'?' + f)[1:])")
    assert cnn.eval("n.info()['copied_bytes']") > 0
    assert cnn.eval("bytes(n.predict([x])[0]) == golden")


def test_arena_of_the_caller(cnn):
    cnn.exec("n = ethosu.Model('/model.tflite', arena=bytearray(m.info()['arena_size'] + 63))")
    assert cnn.eval("bytes(n.predict([x])[0]) == golden")
    cnn.exec("a = bytearray(16)")
    error = board_models.raised(cnn, "ethosu.Model('/model.tflite', arena=a)")
    assert error.startswith("ValueError arena has 16 bytes, the model needs ")


def test_views_survive_deinit_and_collection(cnn):
    cnn.exec(
        "import gc\nm.run_into([x])\nview = m.outputs[0].data\nm.deinit()\ndel m\ngc.collect()\n"
        "garbage = [bytearray(b'\\xA5' * 4096) for _ in range(100)]"
    )
    assert cnn.eval("bytes(view) == golden")


def test_with_closes_the_model(cnn):
    cnn.exec("with m as n: pass")
    assert "closed by deinit()" in board_models.raised(cnn, "n.predict([x])")


def test_reset_of_variables(board, board_npu, compiled, small_models):
    board_models.load(board, compiled(small_models["small_streaming"], board_npu))
    board.exec("x = bytearray([31] * len(m.inputs[0].data))")
    first, second = board.eval("[bytes(m.predict([x])[0]) for _ in range(2)]")
    board.exec("m.reset()")
    assert board.eval("[bytes(m.predict([x])[0]) for _ in range(2)]") == [first, second]
    assert first != second, "the model has no state to test with"


def test_cpu_sleeps_while_the_npu_works(emulated, cnn):
    # On a busy host the NPU's thread may finish before the CPU reaches its WFI.
    cnn.exec(
        "slept = 0\nfor _ in range(30):\n    m.predict([x])\n    slept += emulator.npu_slept()"
    )
    assert cnn.eval("slept") > 0


def test_masked_interrupt_times_out_and_the_next_inference_is_right(emulated, cnn):
    cnn.exec("n = ethosu.Model('/model.tflite', timeout_ms=50)\nmask()")
    error = board_models.raised(cnn, "n.predict([x])")
    assert error.startswith("OSError 110 "), error
    assert "50 ms" in error
    cnn.exec("unmask()")
    assert cnn.eval("bytes(n.predict([x])[0]) == golden")


def test_ctrl_c_during_an_inference(emulated, cnn):
    cnn.exec("mask()")
    board_models.interrupt(cnn, "m.predict([x])")
    assert cnn.eval("ethosu.reserve().info()['config']").startswith("ethos-u"), "NPU not given back"
    cnn.exec("unmask()")
    assert cnn.eval("bytes(m.predict([x])[0]) == golden")


def test_callbacks_run_during_an_inference(emulated, cnn):
    cnn.exec(
        "import micropython\nseen = []\nn = ethosu.Model('/model.tflite', timeout_ms=50)\nmask()\n"
        "machine.Timer(-1).init(mode=machine.Timer.ONE_SHOT, period=5,"
        " callback=lambda timer: seen.append(1))"
    )
    assert board_models.raised(cnn, "n.predict([x])").startswith("OSError 110 ")
    assert cnn.eval("seen") == [1]
    cnn.exec("unmask()")


def test_reentry_from_a_callback_is_refused(emulated, cnn):
    """If the callback runs before `n` has started, its own inference times out."""
    cnn.exec(
        "seen = []\n"
        "inside = False\n"
        "def again(timer):\n"
        "    if not inside: return\n"
        "    try: k.predict([x])\n"
        "    except OSError as error: seen.append(error.errno)\n"
        "k = ethosu.Model('/model.tflite', timeout_ms=50)\n"
        "n = ethosu.Model('/model.tflite', timeout_ms=50)\n"
        "timer = machine.Timer(-1)\n"
        "timer.init(mode=machine.Timer.PERIODIC, period=5, callback=again)"
    )
    cnn.exec(
        "mask()\n"
        "inside = True\n"
        "try: n.predict([x])\n"
        "except OSError as error: ended = error.errno\n"
        "inside = False\nunmask()\ntimer.deinit()"
    )
    assert cnn.eval("ended") == 110
    assert cnn.eval("set(seen) - {110}") == {16}
    assert cnn.eval("bytes(n.predict([x])[0]) == golden")


def test_soft_reset_stops_the_npu(emulated, cnn):
    cnn.exec("mask()\nn = ethosu.reserve()")
    cnn.soft_reset()
    cnn.exec("import ethosu")
    assert cnn.eval("ethosu.reserve().info()['resets']") == 1
