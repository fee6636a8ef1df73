# SPDX-License-Identifier: MIT
"""ulab arrays as inputs and outputs, built into a firmware from the sources in ULAB_DIR."""

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
    """A board with ulab as `np`, model `m`, input `x` and the expected output `golden`."""
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


def test_callable_input_and_post_processor(ulab):
    """A script in OpenMV style: ulab arrays in, scores as an array."""
    ulab.exec(
        "def fill(memory, shape, dtype): memory[:] = x.tobytes()\n"
        "def best(model, inputs, outputs):\n"
        "    raw = np.array(outputs[0])\n"
        "    return np.argmax((raw - model.output_zero_point[0]) * model.output_scale[0])\n"
        "import ml\n"
        "wanted = max(range(10), key=lambda i: (golden[i] + 128) & 255)\n"
    )
    assert ulab.eval(f"ml.Model({MODEL!r}, best).predict([fill]) == wanted")


def test_openmv_script(ulab):
    """As in OpenMV's scripts: labels with scores, the best of them, a post-processor."""
    ulab.exec(
        "import ml\n"
        f"net = ml.Model({MODEL!r}, load_to_fb=True)\nprint(net)\n"
        "image = (np.array(x) - net.input_zero_point[0]) * net.input_scale[0]\n"
        "labels = [str(i) for i in range(10)]\n"
        "scores = net.predict([image])[0].flatten().tolist()\n"
        "label, score = max(list(zip(labels, scores)), key=lambda pair: pair[1])\n"
        "def decode(model, inputs, outputs):\n"
        "    n, classes = model.output_shape[0]\n"
        "    row = np.array(outputs[0][0, :classes], dtype=np.float)\n"
        "    return (row - model.output_zero_point[0]) * model.output_scale[0]\n"
        "golden_values = array('b', golden)\ntop = max(golden_values)\n"
        "rows = ml.Model('/model.tflite', postprocess=decode).predict([image])"
    )
    assert ulab.eval("max(net.predict([image])[0][0]) == score")
    assert ulab.eval("max(abs(rows - np.array(scores))) < 1e-6")
    assert ulab.eval("scores.index(score) == int(label) == list(golden_values).index(top)")
    assert ulab.eval("(net.input_shape, net.output_dtype)") == (((1, 16, 16, 3),), ("b",))


def test_wrong_arrays(ulab):
    assert raised(ulab, "m.predict([np.zeros(767, dtype=np.int8)])").startswith("ValueError input")
    assert raised(ulab, "m.predict([np.zeros(768, dtype=np.int16)])").startswith("TypeError input")
    assert raised(ulab, "m.predict([np.zeros(767)])").startswith("ValueError input 0 has 767")
    assert ulab.eval("bytes(m.predict([x])[0]) == golden")


def test_views(ulab):
    """A contiguous slice is used in place. One with steps is not a buffer, but its copy is."""
    ulab.exec(
        "wide, thin = (np.zeros(1536, dtype=np.int8) for _ in range(2))\n"
        "wide[768:] = x\nthin[::2] = x"
    )
    assert ulab.eval("bytes(m.predict([wide[768:]])[0]) == golden")
    assert raised(ulab, "m.predict([thin[::2]])") == (
        "TypeError input 0 is of type ndarray, expected a buffer, numbers or a callable"
    )
    assert ulab.eval("bytes(m.predict([thin[::2].copy()])[0]) == golden")
