# SPDX-License-Identifier: MIT
"""OpenMV's own unit tests of `ml`, unmodified, on the board; OPENMV_DIR names a checkout of it.

Scripts, models and pictures are theirs, and are not part of this tree.
"""

import os
import re
from pathlib import Path

import needs
import pytest
import sharing
from ethosu_tools import romfs
from ethosu_tools.board import QemuBoard
from ethosu_tools.qemu import Machine
from ethosu_tools.vela import compile_model

STAND_INS = Path(__file__).with_name("openmv_image.py")
# Scripts that are true as they are.
TRUE = ("ml_person_detect", "ml_regression", "ml_yolo_lc", "ml_yolov8")
# Scripts that compare boxes to the pixel, which OpenMV's own way to resize a picture gives.
NEAR = ("ml_blazeface", "ml_face_landmarks", "ml_fomo", "ml_hand_landmarks", "ml_movenet",
        "ml_palm_detection")  # fmt: skip
RECTANGLE = re.compile(r"\[(\d+), (\d+), (\d+), (\d+)\]")


@pytest.fixture(scope="module")
def openmv():
    name = os.environ.get("OPENMV_DIR")
    if name is None:
        needs.missing("OPENMV'S SCRIPTS NOT RUN: set OPENMV_DIR to a checkout of its tree")
    tree = Path(name)
    assert (tree / "lib/models").is_dir(), f"{tree} has no lib/models: it is no tree of OpenMV"
    return tree


@pytest.fixture(scope="module")
def rom(openmv, ulab_firmware, board_npu):
    """A board with OpenMV's models, compiled for its NPU, and pictures in /rom."""
    files = {}
    for path in sorted((openmv / "lib/models").glob("*.tflite")):
        folder = sharing.compiled(
            path.stem,
            path.read_bytes(),
            [board_npu],
            lambda model, out: compile_model(model, board_npu, out / "compiled.tflite"),
        )
        files[path.name] = (folder / "compiled.tflite").read_bytes()
    for path in (openmv / "lib/models").glob("*.txt"):
        files[path.name] = path.read_bytes()
    for path in (openmv / "scripts/unittest/data").glob("*.bmp"):
        files[path.name] = path.read_bytes()
    machine = Machine(board_npu, firmware=ulab_firmware, romfs=romfs.build(files))
    with QemuBoard(machine) as board:
        board.exec(STAND_INS.read_text())
        yield board


@pytest.mark.slow
@pytest.mark.parametrize("name", TRUE)
def test_unit_test(openmv, rom, name):
    script = (openmv / f"scripts/unittest/tests/{name}.py").read_text()
    out = rom.exec(f"{script}\nprint(unittest('/rom', '/tmp'))", timeout=60)
    assert out.split()[-1] == "True"


def overlap(a, b):
    """Intersection over union of two boxes (x, y, width, height)."""
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    shared = max(width, 0) * max(height, 0)
    return shared / (a[2] * a[3] + b[2] * b[3] - shared)


@pytest.mark.slow
@pytest.mark.parametrize("name", NEAR)
def test_first_box_is_found(openmv, rom, name):
    """One that was found shares 0.7 of its area or more with the first box of the script."""
    script = (openmv / f"scripts/unittest/tests/{name}.py").read_text()
    expected = tuple(int(each) for each in RECTANGLE.search(script).groups())
    rom.exec(
        "import ml\nfound, boxes = [], ml.utils.NMS.get_bounding_boxes\n"
        "def note(self, *args):\n"
        "    result = boxes(self, *args)\n"
        "    found.extend([tuple(each[0]) for one in result for each in one])\n"
        "    return result\n"
        f"ml.utils.NMS.get_bounding_boxes = note\n{script}\nunittest('/rom', '/tmp')\n"
        "ml.utils.NMS.get_bounding_boxes = boxes",
        timeout=60,
    )
    assert max(overlap(expected, each) for each in rom.eval("found")) > 0.7


@pytest.mark.slow
def test_regression_example(openmv, rom):
    """It says itself what it should print."""
    folder = openmv / "scripts/examples/03-Machine-Learning/00-TensorFlow"
    script = (folder / "tf_regression.py").read_text()
    assert "# Should print 53.78332" in script
    out = rom.exec(script, timeout=60)
    assert float(out.split("[")[-1].split("]")[0]) == pytest.approx(53.78332, abs=1e-4)
