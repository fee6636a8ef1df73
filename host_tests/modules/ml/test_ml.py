# SPDX-License-Identifier: MIT
"""Package `ml` follows OpenMV's conventions for arrays, callables, images, results."""

import numpy as np
import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

from host_tests.kit.board_models import MODEL, raised
from host_tests.modules.ethosu.binding.tensor.test_values import quantized
from host_tests.modules.ethosu.image import definition
from host_tests.modules.ethosu.image.definition import CORNERS, RGB565, RGB888, Case


@pytest.fixture(scope="module")
def board_with_ulab(ulab_firmware, board_npu, compiled, small_models, example):
    with QemuBoard(Machine(emulated(npu=board_npu, firmware=ulab_firmware))) as board:
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
def test_every_array_is_real_values(board_with_ulab, example, dtype):
    """`ml` treats every array as real values, unlike `ethosu` for the tensor's typecode."""
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


def test_a_model_has_a_postprocessor_of_its_own(board_with_ulab):
    board_with_ulab.exec(f"own = ml.Model({MODEL!r}, postprocess=keep)")
    assert board_with_ulab.eval("own.predict([x]).tobytes()") == board_with_ulab.eval(
        "m.predict([x], callback=keep).tobytes()"
    )


def test_outputs(board_with_ulab, example):
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
def test_images(board_with_ulab, example, kind, depth):
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


def test_nms_maps_boxes_back_to_the_image(board_with_ulab):
    """Boxes of a 100 x 100 tensor map back to the part (20, 10, 200, 100) of an image.

    A box that overlaps the best one gets a lower score, whatever its label. A box below the
    threshold is dropped, even without overlap.
    """
    board_with_ulab.exec(
        "boxes = ml.utils.NMS(100, 100, (20, 10, 200, 100))\n"
        "add = boxes.add_bounding_box\n"
        "add(25, 50, 50, 75, 0.9, 1)\nadd(26, 50, 50, 75, 0.8, 0)\n"
        "add(0, 0, 10, 10, 0.09, 2)\nadd(-5, 80, 5.9, 200, 0.5, 1)\n"
        "add(1, 1, 1.9, 5, 0.9, 3)\nadd(1, 1, 9, 5, 1.1, 3)"
    )
    assert board_with_ulab.eval("boxes.get_bounding_boxes(0.1, 0.1)") == [
        [], [([70, 60, 50, 25], 0.9), ([20, 90, 10, 20], 0.5)]
    ]  # fmt: skip
    kept = board_with_ulab.eval("boxes.get_bounding_boxes(0.1, 0)")
    assert [score for _, score in kept[0]] == [0.8]
    iou = 24 / 25
    (((_, score),), *_) = board_with_ulab.eval("boxes.get_bounding_boxes(0.1, 1.0)")
    assert score == pytest.approx(0.8 * np.exp(-iou * iou))
    assert board_with_ulab.eval("ml.utils.NMS(9, 9, (0, 0, 1, 1)).get_bounding_boxes()") == [[]]
    assert raised(board_with_ulab, "ml.utils.NMS(9, 9, (0, 0, 0, 1))").startswith("ValueError roi")


def test_keypoints_are_pixels(board_with_ulab):
    for rows in ("np.array([[10, 20, 7], [0, 0, 8]])", "[[10, 20, 7], [0, 0, 8]]"):
        board_with_ulab.exec(
            f"boxes, rows = ml.utils.NMS(100, 100, (20, 10, 200, 100)), {rows}\n"
            "boxes.add_bounding_box(1, 1, 9, 9, 0.9, 0, keypoints=rows)\n"
            "found = boxes.get_bounding_boxes()[0][0][2]"
        )
        assert board_with_ulab.eval("[list(row) for row in found]") == [[40, 30, 7], [20, 10, 8]]


FAKE = """
from ml.postprocessing.edgeimpulse import Fomo
from ml.postprocessing.darknet import YoloV2, YoloLC
from ml.postprocessing.ultralytics import YoloV5
class Fake:
    labels = None
    def __init__(self, shape, scale, zero):
        self.input_shape = [(1, 96, 96, 3)]
        self.output_shape, self.output_scale = [shape], [scale]
        self.output_zero_point, self.output_dtype = [zero], ["b"]
class Whole: roi = (0, 0, 96, 96)
def found(head, shape, scale, zero, values):
    return head(Fake(shape, scale, zero), [Whole], [np.array(values, dtype=np.int8).reshape(shape)])
"""


def test_fomo_takes_scales_and_the_best_label_above_the_threshold(board_with_ulab):
    """FOMO takes the scales and a cell's best label; a score must exceed the threshold."""
    values = [-128] * (8 * 8 * 3)
    values[3 * 9 + 1 : 3 * 9 + 3] = [32, 64]
    values[3 * 30 + 1] = 0
    board_with_ulab.exec(FAKE + f"v = {values}")
    call = "found(Fomo({}), (1, 8, 8, 3), 1 / 256, -128, v)"
    assert board_with_ulab.eval(call.format("0.5, 1.0, 2.0")) == [
        [], [], [([12, 6, 12, 24], 0.75)]
    ]  # fmt: skip
    assert board_with_ulab.eval(call.format("0.5, w_scale=0.5, h_scale=0.5")) == [
        [], [], [([15, 15, 6, 6], 0.75)]
    ]  # fmt: skip
    assert board_with_ulab.eval(call.format("0.75")) == ()


def test_scores_of_yolo_are_those_of_an_object(board_with_ulab):
    """YOLO's score is an object's, regardless of label probabilities, as v5 and v2 ignore them."""
    board_with_ulab.exec(FAKE)
    five = "found(YoloV5(0.5), (1, 1, 7), 1 / 128, 0, [64, 64, 32, 32, 96, 16, 32])"
    assert board_with_ulab.eval(five) == [[], [([36, 36, 24, 24], 0.75)]]
    values = [0] * (5 * 7)
    values[7 * 1 + 4 : 7 * 2] = [16, 5, 0]
    two = f"found(YoloV2(0.6), (1, 1, 1, 35), 1 / 16, 0, {values})"
    (((_, score),),) = board_with_ulab.eval(two)
    assert score == pytest.approx(1 / (1 + np.exp(-1)))
    values = [0] * (5 * 6)
    values[6 * 4 + 4] = 16
    lc = f"found(YoloLC(0.6), (1, 1, 1, 30), 1 / 16, 0, {values})"
    (((box, _),),) = board_with_ulab.eval(lc)
    assert box[2:] == [int(96 * 0.748154), int(96 * 0.857092)]


DRAWING = """
class Canvas:
    def __init__(self, width): self.calls, self.size = [], (width, 480)
    def width(self): return self.size[0]
    def height(self): return self.size[1]
    def draw_rectangle(self, *a, **k): self.calls.append(("rectangle", a, k))
    def draw_string(self, *a, **k): self.calls.append(("string", a, k))
    def draw_circle(self, *a, **k): self.calls.append(("circle", a, k))
    def draw_line(self, *a, **k): self.calls.append(("line", a, k))
    def set_pixel(self, *a): self.calls.append(("pixel", a, {}))
def calls(f, *args, width=640, **options):
    canvas = Canvas(width)
    f(canvas, *args, **options)
    return canvas.calls
"""


def test_drawing_calls(board_with_ulab):
    """Drawing calls accept all formats, image-dependent sizes, and arguments by name."""
    board = board_with_ulab
    board.exec(DRAWING)
    label, red = "((255, 0, 0),)", (255, 0, 0)
    assert board.eval(
        f"calls(ml.utils.draw_predictions, [(5, 40, 20, 30)], ('cat',), {label}, [0.5], None)"
    ) == [
        ("rectangle", ((5, 40, 20, 30),), {"color": red, "thickness": 1}),
        ("rectangle", ((5, 20, 8 * 16, 20),), {"color": red, "fill": True}),
        ("string", ((5, 20), "CAT 0.50", (255, 255, 255)), {"scale": 2}),
    ]
    relative = f"calls(ml.utils.draw_predictions, [(0.25, 0.5, 0.5, 0.75)], ('a',), {label})"
    assert board.eval(relative)[0][1] == ((160, 240, 160, 120),)
    point = f"calls(ml.utils.draw_predictions, [(5, 4, 10, 6)], ('a',), {label}, format='point')"
    assert board.eval(point)[0] == (
        "circle", ((10, 7, 10),), {"color": red, "thickness": 1, "fill": True}
    )  # fmt: skip
    assert board.eval(point)[1][1][0][1] == 0
    assert board.eval("calls(ml.utils.draw_keypoints, [(1.9, 2)], 0)") == [
        ("pixel", ((1, 2), red), {})
    ]
    assert board.eval("calls(ml.utils.draw_keypoints, [(1, 2)], -1)") == []
    assert board.eval(
        "calls(ml.utils.draw_skeleton, [(1, 2), (3, 4)], [(0, 1)], 2, (1, 1, 1), 3, True, "
        "line_color=(2, 2, 2), line_thickness=5)"
    ) == [
        ("circle", ((1, 2, 2),), {"color": (1, 1, 1), "thickness": 3, "fill": True}),
        ("circle", ((3, 4, 2),), {"color": (1, 1, 1), "thickness": 3, "fill": True}),
        ("line", ((1, 2, 3, 4),), {"color": (2, 2, 2), "thickness": 5}),
    ]


def test_an_int8_array_is_dequantised_without_wrapping(board_with_ulab):
    board_with_ulab.exec(FAKE + "fake = Fake((1, 2), 0.5, -128)")
    real = "ml.utils.dequantize(fake, np.array([127, -128], dtype=np.int8)).tolist()"
    assert board_with_ulab.eval(real) == [127.5, 0]


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
    for shape in ("5", "(1, 16, 16)", "(1, 3, 16, 16)"):
        found = raised(board, f"m.predict([np.zeros({shape})])")
        assert found.startswith("ValueError input") and "(1, 16, 16, 3)" in found
    assert raised(board, "ml.Normalization()(bytearray(3), (1, 1, 1, 3), 66)").startswith(
        "ValueError no image"
    )
    assert raised(board, "ml.Model('nothing')").startswith("OSError 2")
