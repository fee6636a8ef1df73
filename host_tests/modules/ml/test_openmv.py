# SPDX-License-Identifier: MIT
"""OpenMV's own unit tests of `ml`, unmodified, on the board; OPENMV_DIR names a checkout of it.

Scripts, models and pictures are theirs, and are not part of this tree.
"""

import ast
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
TRUE = (
    "ml_blazeface",
    "ml_face_landmarks",
    "ml_hand_landmarks",
    "ml_movenet",
    "ml_palm_detection",
    "ml_person_detect",
    "ml_regression",
    "ml_yolo_lc",
    "ml_yolov8",
)


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


@pytest.mark.slow
def test_fomo_has_the_numbers_of_its_script(openmv, rom):
    """It compares a score with 7 digits, which is equal only where a float has 32 bits."""
    script = (openmv / "scripts/unittest/tests/ml_fomo.py").read_text()
    (expected,) = re.findall(r"return output\[1\] == (\[.*?\n    \])", script, re.DOTALL)
    assert "return output[1] ==" in script
    found = rom.exec(
        script.replace("return output[1] ==", "return output[1] or")
        + "\nprint(unittest('/rom', '/tmp'))",
        timeout=60,
    )
    found, expected = ast.literal_eval(found), ast.literal_eval(expected)
    assert [box for box, _ in found] == [box for box, _ in expected]
    assert [score for _, score in found] == pytest.approx([s for _, s in expected], abs=1e-7)


@pytest.mark.slow
def test_regression_example(openmv, rom):
    """It says itself what it should print."""
    folder = openmv / "scripts/examples/03-Machine-Learning/00-TensorFlow"
    script = (folder / "tf_regression.py").read_text()
    assert "# Should print 53.78332" in script
    out = rom.exec(script, timeout=60)
    assert float(out.split("[")[-1].split("]")[0]) == pytest.approx(53.78332, abs=1e-4)
