# SPDX-License-Identifier: MIT
"""Package `ml` on the board: OpenMV's rule for arrays, callables, images, results."""

import numpy as np
import pytest
from ethosu_tools.board import QemuBoard
from ethosu_tools.qemu import Machine

from modules.ethosu.binding.conftest import MODEL, example, raised  # noqa: F401
from modules.ethosu.binding.test_values import quantized
from modules.ethosu.image import definition
from modules.ethosu.image.definition import CORNERS, RGB565, RGB888, Case


@pytest.fixture(scope="module")
def board_with_ulab(ulab_firmware, board_npu, compiled, small_models, example):  # noqa: F811
    with QemuBoard(Machine(board_npu, firmware=ulab_firmware)) as board:
        board.write_file(MODEL, compiled(small_models["small_cnn"], board_npu).read_bytes())
        _, x, y = example
        board.exec(
            "import ml, ethosu\nfrom ulab import numpy as np\n"
            f"m = ml.Model({MODEL!r})\nx = np.frombuffer({x.tobytes()!r}, dtype=np.int8)\n"
            f"golden = {y.tobytes()!r}\nraw = ethosu.Model({MODEL!r})\n"
            "def keep(model, inputs, outputs): return outputs[0]\n"
        )
        yield board


pytestmark = pytest.mark.slow


def test_ulab_has_four_dimensions(board_with_ulab):
    assert board_with_ulab.eval("np.zeros((1, 2, 3, 4)).shape") == (1, 2, 3, 4)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "float"])
def test_every_array_is_real_values(board_with_ulab, example, dtype):  # noqa: F811
    """And in `ethosu` one of the tensor's own typecode is raw."""
    board = board_with_ulab
    oracle, x, _ = example
    values = np.clip(x, 0, 127) if dtype == "uint8" else x
    wanted = oracle.step([quantized(values, oracle.inputs[0]).reshape(x.shape)])[0]
    board.exec(f"given = np.array({[int(v) for v in values.flat]!r}, dtype=np.{dtype})")
    assert board.eval("bytes(m.predict([given], callback=keep).tobytes())") == wanted.tobytes()
    if dtype == "int8":
        assert board.eval("bytes(raw.predict([given])[0])") == board.eval("golden")
        assert wanted.tobytes() != board.eval("golden")


def test_slices_with_steps_are_taken(board_with_ulab):
    board_with_ulab.exec(
        "thin = np.zeros(1536, dtype=np.int8)\nthin[::2] = x\n"
        "wanted = m.predict([x], callback=keep).tobytes()"
    )
    assert board_with_ulab.eval("m.predict([thin[::2]], callback=keep).tobytes() == wanted")


def test_outputs(board_with_ulab, example):  # noqa: F811
    board, tensor = board_with_ulab, example[0].outputs[0]
    board.exec("real, out = m.predict([x])[0], m.predict([x], callback=keep)")
    assert board.eval("(real.shape, out.shape, out.tobytes() == bytes(out))") == (
        (1, 10), (1, 10), True
    )  # fmt: skip
    values = np.frombuffer(board.eval("bytes(out.tobytes())"), np.int8)
    wanted = (values.astype(float) - tensor.zero_point) * tensor.scale
    assert board.eval("real.flatten().tolist()") == pytest.approx(wanted, rel=1e-6)


def test_callables_get_what_openmv_gives(board_with_ulab):
    board_with_ulab.exec(
        "seen = []\n"
        "def fill(buffer, shape, dtype):\n"
        "    seen[:] = [type(buffer) is bytearray, len(buffer), shape, dtype == ord('b')]\n"
        "    buffer[:] = x.tobytes()\n"
    )
    assert board_with_ulab.eval("m.predict([fill], callback=keep).tobytes() == golden")
    assert board_with_ulab.eval("seen") == [True, 768, (1, 16, 16, 3), True]


IMAGE = """
class Image:
    def __init__(self, pixels, size): self.pixels, self.size = pixels, size
    def width(self): return self.size[0]
    def height(self): return self.size[1]
    def bytearray(self): return self.pixels
"""


@pytest.mark.parametrize(("kind", "depth"), [(RGB565, 2), (RGB888, 3)])
def test_images(board_with_ulab, example, kind, depth):  # noqa: F811
    pixels = np.random.default_rng(8).integers(0, 256, (20, 36, depth), np.uint8)
    case = Case(pixels, kind, (16, 16, 3), roi=(4, 0, 32, 20), filter=CORNERS)
    seen = (definition.write(case) ^ 128).view(np.int8)
    board = board_with_ulab
    board.exec(
        f"{IMAGE}\nimg = Image({pixels.tobytes()!r}, (36, 20))\n"
        "norm = ml.Normalization(roi=(4, -5, 40, 40))\nbound = norm(img)"
    )
    wanted = example[0].step([seen[None]])[0]
    assert board.eval("bytes(m.predict([bound], callback=keep).tobytes())") == wanted.tobytes()
    assert board.eval("(bound.roi, norm.image)") == ((4, -5, 40, 40), None)
    assert board.eval("m.predict([img], callback=lambda m, i, o: i[0].roi)") == (0, 0, 36, 20)


def test_normalization_of_a_float_tensor(board_with_ulab):
    board = board_with_ulab
    pixels = bytes(range(16))
    board.exec(
        f"{IMAGE}\nfrom array import array\nimg = Image({pixels!r}, (4, 4))\n"
        "out = array('f', bytes(64))\n"
        "norm = ml.Normalization(scale=(-1.0, 1.0), mean=(0.1, 0.2, 0.3), stdev=(0.5, 0.5, 0.25))\n"
        "norm(img)(out, (1, 4, 4, 1), ord('f'))"
    )
    mean = 0.299 * 0.1 + 0.587 * 0.2 + 0.114 * 0.3
    stdev = 0.299 * 0.5 + 0.587 * 0.5 + 0.114 * 0.25
    wanted = ((np.arange(16) / 255 * 2 - 1) - mean) / stdev
    assert board.eval("list(out)") == pytest.approx(wanted, rel=1e-6)


def test_nms_leads_boxes_back_to_the_image(board_with_ulab):
    """A tensor of 100 x 100 of the part (20, 10, 200, 100) of an image: half as wide."""
    board_with_ulab.exec(
        "boxes = ml.utils.NMS(100, 100, (20, 10, 200, 100))\n"
        "boxes.add_bounding_box(0.25, 0.5, 0.5, 0.75, 0.9, 1)\n"
        "boxes.add_bounding_box(0.26, 0.5, 0.5, 0.75, 0.8, 1)"
    )
    assert board_with_ulab.eval("boxes.get_bounding_boxes(0.1, 0.1)") == [
        [], [([70, 60, 50, 25], 0.9)]
    ]  # fmt: skip


def test_utils(board_with_ulab):
    board = board_with_ulab
    board.exec("p = np.array([0.1, 0.5, 0.9])\nt = ml.utils.threshold")
    assert board.eval("ml.utils.sigmoid(ml.utils.logit(p)).tolist()") == pytest.approx(
        [0.1, 0.5, 0.9]
    )
    assert board.eval("list(t(np.array([1, 5, 3, 5], dtype=np.int8), 2, 1.0))") == [1, 2, 3]
    assert board.eval("list(t(np.array([[1, 5], [0, 1]]), 2, 1.0, find_max=True))") == [0]
    board.exec("real = ml.utils.dequantize(m, np.array([3.0]))")
    assert board.eval("ml.utils.quantize(m, real)[0]") == pytest.approx(3)


def test_wrong_inputs(board_with_ulab):
    board = board_with_ulab
    assert raised(board, "m.predict(x)").startswith("TypeError inputs is of type ndarray, a list")
    assert raised(board, "m.predict([x, x])") == "ValueError 2 inputs given, the model has 1"
    assert raised(board, "m.predict([np.zeros(5)])").startswith("ValueError")
    assert raised(board, "ml.Normalization()(bytearray(3), (1, 1, 1, 3), 66)").startswith(
        "ValueError no image"
    )
    assert raised(board, "ml.Model('nothing')").startswith("OSError 2")
