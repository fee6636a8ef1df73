# SPDX-License-Identifier: MIT
"""A reset of the NPU does not wait for an operation to end, however long that takes."""

import threading

import pytest

from host_tests.tools.npu_sim.assembler import Stream
from host_tests.tools.npu_sim.hardware import Hardware, Outcome

_TAPS, _WIDTH, _DEPTH = 8192, 8192, 256
# Each operation takes 2^34 steps in a single row.
_OPERATIONS = {
    "max": ("POOL", 0),
    "average": ("POOL", 1),
    "reduce_sum": ("POOL", 2),
}


@pytest.mark.parametrize("padded", [0, 1])
@pytest.mark.parametrize("kind", _OPERATIONS)
def test_an_abort_takes_effect_within_a_row(kind, padded):
    name, param = _OPERATIONS[kind]
    width = _WIDTH + _TAPS - 1 - padded
    depth = 1 if kind == "reduce_sum" else _DEPTH
    stream = Stream("ethos-u55-128").defaults(
        IFM_DEPTH_M1=_DEPTH - 1, IFM_STRIDE_X=_DEPTH, IFM_STRIDE_Y=width * _DEPTH,
        IFM_WIDTH0_M1=width - 1, IFM_PAD_LEFT=padded, KERNEL_WIDTH_M1=_TAPS - 1,
        OFM_DEPTH_M1=depth - 1, OFM_STRIDE_X=depth, OFM_STRIDE_Y=_WIDTH * depth,
        OFM_WIDTH_M1=_WIDTH - 1, OFM_WIDTH0_M1=_WIDTH - 1, OFM_PRECISION=0x101,
    ).op(name, param).stop()  # fmt: skip
    with Hardware("ethos-u55-128") as device:
        bases = [device.add(bytes(size)).address for size in (width * _DEPTH, _WIDTH * depth)]
        done = []
        device.observe(done.append)
        device.start(device.add(stream), bases)
        timer = threading.Timer(0.3, device.abort)
        timer.start()
        outcome = device.execute()
        timer.join()
        assert outcome is Outcome.ABORTED, device.log
        assert not done, "the operation ended before the abort was heard"
