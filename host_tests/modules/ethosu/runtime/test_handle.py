# SPDX-License-Identifier: MIT
"""Class `ethosu.NPU` on a board: payloads without a model file, life cycle of a handle."""

import numpy as np
import pytest
from ethosu_tools.oracle import Oracle

from host_tests.kit import board_models, firmware_image


@pytest.fixture(scope="module")
def raw(vela, small_models, board_npu):
    """Vela's raw output for small_cnn: command stream, weights, input and output offsets."""
    options = ["--output-format", "raw", "--accelerator-config", board_npu]
    return np.load(vela(small_models["small_cnn"], *options))


@pytest.fixture
def parts(board, raw, small_models):
    """A board with `payload`, `weights`, `scratch`; the input from `fill` gives `golden`."""
    oracle = Oracle(small_models["small_cnn"])
    tensor = oracle.inputs[0]
    x = np.arange(np.prod(tensor.shape)).astype(tensor.dtype).reshape(tensor.shape)
    golden = oracle.step([x])[0].tobytes()
    start, end = int(raw["input_offset"][0]), int(raw["output_offset"][0])
    board.write_file("/payload", raw["cmd_data"].tobytes())
    board.write_file("/weights", raw["weight_data"].tobytes())
    board.exec(
        "import ethosu, gc\n"
        "payload, weights = open('/payload', 'rb').read(), open('/weights', 'rb').read()\n"
        f"store = bytearray({int(raw['scratch_shape'][0])} + 32)\n"
        "import uctypes\n"
        "skip = -uctypes.addressof(store) % 32\n"
        "scratch = memoryview(store)[skip:skip + len(store) - 32]\n"
        f"golden = {golden!r}\n"
        f"def fill(): scratch[{start}:{start + x.nbytes}] = {x.tobytes()!r}\n"
        f"def result(): return bytes(scratch[{end}:{end + len(golden)}]) == golden\n"
    )
    return board


def test_invoke(parts):
    parts.exec(
        "with ethosu.reserve() as n:\n    fill(); n.invoke(payload, [weights, scratch, scratch])"
    )
    assert parts.eval("result()")


def test_invoke_async_and_wait(parts):
    parts.exec("fill()\nn = ethosu.reserve()\nn.invoke_async(payload, [weights, scratch, scratch])")
    parts.exec("n.wait()\nn.release()")
    assert parts.eval("result()")


def test_buffers_live_while_the_npu_works(parts):
    parts.exec(
        "def go():\n"
        "    fill()\n"
        "    n = ethosu.reserve()\n"
        "    n.invoke_async(bytes(payload), (bytearray(weights), scratch, scratch))\n"
        "    return n\n"
        "n = go()\ngc.collect()\n"
        "garbage = [bytearray(b'\\xA5' * 4096) for _ in range(50)]\n"
        "n.wait()\nn.release()"
    )
    assert parts.eval("result()")


def test_a_second_start_is_rejected_and_the_first_succeeds(request, parts):
    if request.config.getoption("--ethosu-port"):
        pytest.skip("masks the interrupt of the emulated board")
    parts.exec(f"import machine\nfill()\nn = ethosu.reserve()\n{firmware_image.mask()}")
    parts.exec("n.invoke_async(payload, [weights, scratch, scratch])")
    error = board_models.raised(parts, "n.invoke_async(payload, [weights, scratch, scratch])")
    assert error.startswith("OSError 16 an inference is running")
    parts.exec(f"{firmware_image.unmask()}\nn.wait()\nn.release()")
    assert parts.eval("result()")


def test_ctrl_c_during_wait(request, parts):
    if request.config.getoption("--ethosu-port"):
        pytest.skip("masks the interrupt of the emulated board")
    parts.exec(f"import machine\nn = ethosu.reserve()\n{firmware_image.mask()}")
    start = "n.invoke_async(payload, [weights, scratch, scratch])"
    board_models.interrupt(parts, f"{start}\nn.wait()")
    parts.exec(firmware_image.unmask())
    assert board_models.raised(parts, "n.wait()").startswith("OSError 22 no inference was started")
    parts.exec("fill()\nn.invoke(payload, [weights, scratch, scratch])\nn.release()")
    assert parts.eval("result()")


def test_release_stops_a_running_inference(parts):
    parts.exec("n = ethosu.reserve()\nn.invoke_async(payload, [weights, scratch, scratch])")
    parts.exec("n.release()\nn.release()")
    parts.exec(
        "with ethosu.reserve() as n:\n    fill(); n.invoke(payload, [weights, scratch, scratch])"
    )
    assert parts.eval("result()")


def test_a_lost_handle_releases_its_npu(parts):
    parts.exec("ethosu.reserve()\nn = ethosu.reserve()")
    assert parts.eval("n.info()['config']") == parts.eval("ethosu.npus()[0]")


@pytest.mark.parametrize("missing", [0, 1])
def test_too_small_region_is_refused_before_the_start(parts, missing):
    bases = ["weights", "scratch", "scratch"]
    bases[missing] = f"{bases[missing]}[:16]"
    code = f"with ethosu.reserve() as n: n.invoke(payload, [{', '.join(bases)}])"
    assert board_models.raised(parts, code).startswith("ValueError command at word ")


def test_buffer_that_the_npu_cannot_see(request, parts):
    if request.config.getoption("--ethosu-port"):
        pytest.skip("uses an address of the emulated board")
    unseen = firmware_image.of().unseen(100_000)
    parts.exec(f"t = uctypes.bytearray_at({unseen}, len(scratch))")
    code = "with ethosu.reserve() as n: n.invoke(payload, [weights, t, t])"
    assert board_models.raised(parts, code).startswith("OSError 14 base pointer 1, ")
    parts.exec(
        "with ethosu.reserve() as n:\n    fill(); n.invoke(payload, [weights, scratch, scratch])"
    )
    assert parts.eval("result()")
