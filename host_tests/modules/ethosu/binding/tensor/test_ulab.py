# SPDX-License-Identifier: MIT
"""ulab arrays work as inputs and outputs, in a firmware with ulab from ULAB_DIR."""

import os

import pytest
from ethosu_tools import boards
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

from host_tests.kit import sharing
from host_tests.kit.board_models import MODEL, raised

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ulab(request, build_dir, board_npu, compiled, small_models, example):
    """Return a board with ulab as `np`, model `m`, input `x` and expected output `golden`."""
    source = os.environ.get("ULAB_DIR")
    if source is None or request.config.getoption("--ethosu-port"):
        pytest.skip("NOT TESTED WITH ULAB: set ULAB_DIR to a checkout of its source")
    name = boards.chosen().name
    sharing.make("firmware", f"BOARD={name}", f"ULAB_DIR={source}")
    _, x, y = example
    firmware = build_dir / f"firmware/{name}-ulab/firmware.elf"
    with QemuBoard(Machine(emulated(npu=board_npu, firmware=firmware))) as board:
        board.write_file(MODEL, compiled(small_models["small_cnn"], board_npu).read_bytes())
        board.exec(
            "import ethosu\nfrom array import array\nfrom ulab import numpy as np\n"
            f"m = ethosu.Model({MODEL!r})\n"
            f"x = np.frombuffer({x.tobytes()!r}, dtype=np.int8)\ngolden = {y.tobytes()!r}\n"
        )
        yield board


def test_raw_values(ulab):
    assert ulab.eval("bytes(m.predict([x])[0]) == golden")
    assert ulab.eval("bytes(m.predict([x.reshape((16, 48))])[0]) == golden")
    ulab.exec("y = np.zeros(10, dtype=np.int8)\nm.run_into([x], [y])")
    assert ulab.eval("y.tobytes() == golden")


def test_real_values(ulab):
    ulab.exec(
        "real = (np.array(x) - m.input_zero_point[0]) * m.input_scale[0]\n"
        "assert bytes(m.predict([real])[0]) == golden\n"
        "raw = np.zeros(768, dtype=np.int8)\nm.inputs[0].quantize(real, raw)\n"
        "scores = np.zeros(10)\nm.outputs[0].dequantize(bytearray(golden), scores)\n"
        "seen = np.array(m.predict([x], real=True)[0])"
    )
    assert ulab.eval("raw.tobytes() == x.tobytes()")
    assert ulab.eval("max(abs(scores - seen)) < 1e-6")


def test_wrong_arrays(ulab):
    assert raised(ulab, "m.predict([np.zeros(767, dtype=np.int8)])").startswith("ValueError input")
    assert raised(ulab, "m.predict([np.zeros(768, dtype=np.int16)])").startswith("TypeError input")
    assert raised(ulab, "m.predict([np.zeros(767)])").startswith("ValueError input 0 has 767")
    assert ulab.eval("bytes(m.predict([x])[0]) == golden")


def test_views(ulab):
    """A contiguous slice is used in place; a slice with steps must be copied first."""
    ulab.exec(
        "wide, thin = (np.zeros(1536, dtype=np.int8) for _ in range(2))\n"
        "wide[768:] = x\nthin[::2] = x"
    )
    assert ulab.eval("bytes(m.predict([wide[768:]])[0]) == golden")
    assert raised(ulab, "m.predict([thin[::2]])") == (
        "TypeError input 0 is of type ndarray, expected a buffer, numbers or a callable"
    )
    assert ulab.eval("bytes(m.predict([thin[::2].copy()])[0]) == golden")
