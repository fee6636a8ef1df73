# SPDX-License-Identifier: MIT
"""OpenMV's own `ml` unit tests and examples run unmodified on the board.

OPENMV_DIR names a checkout of OpenMV's tree. Scripts, models and pictures are from there and not
part of this tree. `--board OPENMV_AE3-M55_HP` runs them on its own board.
"""

import ast
import os
import re
import struct
import wave
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools.addons.openmv import modules as stand_ins
from ethosu_tools.base.errors import RemoteError
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import romfs

from host_tests.kit import needs
from host_tests.modules.ethosu.audio import references
from host_tests.modules.openmv.test_modules import bmp

pytestmark = pytest.mark.slow
EXAMPLES = "scripts/examples/03-Machine-Learning/00-TensorFlow"
# Unit tests that pass unmodified.
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
# Camera scripts that draw the objects they find, and a picture that contains such an object.
DRAW = {
    "blazeface_detector": "faces",
    "blazepalm_detection": "hand",
    "face_landmarks_multi_face": "faces",
    "face_landmarks_single_face": "faces",
    "hand_landmarks_multi_hand": "hand",
    "hand_landmarks_single_hand": "hand",
    "movenet_singlepose_detection": "person",
    "tf_object_detection": "faces",
    "yolo_v8_detector": "person",
}
# This script's model does not find the person in OpenMV's picture, as OpenMV's test confirms.
FINDS_NOTHING = {"yolo_lc_person_detector": "person"}
# Scripts for which the user must specify a model.
NO_MODEL = ("yolo_v2_detector", "yolo_v5_detector")
NEEDS_ULAB = ("micro_speech", "tf_image_classification", "tf_regression")
FRAMES = 3

# `csi` ends the script after a number of frames, otherwise it would never end.
CAMERA = """
import csi
class Enough(Exception): pass
class Camera(csi.CSI):
    def __init__(self):
        super().__init__({folder!r})
        self.taken = 0
    def snapshot(self, **options):
        if self.taken == {frames}: raise Enough
        self.taken += 1
        return super().snapshot(**options)
    def untouched(self):
        self.next -= 1
        return bytes(super().snapshot().bytearray())
csi.CSI = Camera
"""


@pytest.fixture(scope="module")
def openmv():
    name = os.environ.get("OPENMV_DIR")
    if name is None:
        needs.missing("OPENMV'S SCRIPTS NOT RUN: set OPENMV_DIR to a checkout of its tree")
    tree = Path(name)
    assert (tree / "lib/models").is_dir(), (
        f"{tree} has no lib/models: it is not a checkout of OpenMV"
    )
    return tree


@pytest.fixture(scope="module")
def files(openmv, board_npu, compiled):
    """Return OpenMV's models, compiled for the board's NPU, and pictures, as for /rom."""
    files = {}
    for path in sorted((openmv / "lib/models").glob("*.tflite")):
        if path.stem != "audio_preprocessor":
            files[path.name] = compiled(path, board_npu).read_bytes()
    for path in (openmv / "lib/models").glob("*.txt"):
        files[path.name] = path.read_bytes()
    pictures = openmv / "scripts/unittest/data"
    for path in pictures.glob("*.bmp"):
        files[path.name] = path.read_bytes()
    for name in ("faces", "hand", "person"):
        files[f"{name}/1.bmp"] = square((pictures / f"{name}.bmp").read_bytes())
    return files


def square(picture):
    """Crop the centre of a picture as OpenMV's unit tests do."""
    first, width, height = struct.unpack_from("<I4xii", picture, 10)
    step = (2 * width + 3) // 4 * 4
    lines = np.frombuffer(picture, np.uint8, step * abs(height), first).reshape(-1, step)
    lines = lines[:: -1 if height > 0 else 1, : 2 * width].reshape(-1, width, 2)
    size = min(width, abs(height))
    left, top = (width - size) // 2, (abs(height) - size) // 2
    return bmp(lines[top : top + size, left : left + size], upwards=False)


def start(files, npu, firmware=None):
    tree = romfs.tree_of(files)
    return QemuBoard(
        Machine(emulated(npu=npu, firmware=firmware), romfs=romfs.build(stand_ins.tree_of(tree)))
    )


@pytest.fixture(scope="module")
def rom(files, ulab_firmware, board_npu):
    with start(files, board_npu, ulab_firmware) as board:
        yield board


@pytest.fixture(scope="module")
def shipped(files, board_npu):
    """Return the released firmware, without ulab."""
    with start(files, board_npu) as board:
        yield board


def run(board, openmv, name, picture=None):
    """Run an OpenMV script in a fresh interpreter; returns its output."""
    board.soft_reset()
    if picture:
        board.exec(CAMERA.format(folder=f"/rom/{picture}", frames=FRAMES))
    return until_enough(board, (openmv / EXAMPLES / f"{name}.py").read_text())


def until_enough(board, script):
    """Run a script until it is stopped; returns its output."""
    try:
        return board.exec(script, timeout=120, overall=600)
    except RemoteError as error:
        if "Enough" not in str(error):
            raise
        return error.output


def test_every_example_is_listed(openmv):
    there = sorted(path.stem for path in (openmv / EXAMPLES).glob("*.py"))
    assert there == sorted([*DRAW, *FINDS_NOTHING, *NO_MODEL, *NEEDS_ULAB])


def check_drawn(board, openmv, name):
    out = run(board, openmv, name, DRAW[name])
    assert out.count("fps") >= FRAMES - 2  # frames with a detection print none
    assert board.eval("bytes(csi0.frame.bytearray()) != csi0.untouched()")


@pytest.mark.parametrize("name", DRAW)
def test_example_draws_what_it_finds(openmv, rom, name):
    check_drawn(rom, openmv, name)


@pytest.mark.parametrize("name", DRAW)
def test_example_runs_without_ulab(openmv, shipped, name):
    check_drawn(shipped, openmv, name)


@pytest.mark.parametrize("name", FINDS_NOTHING)
def test_example_runs(openmv, rom, shipped, name):
    for board in (rom, shipped):
        assert run(board, openmv, name, FINDS_NOTHING[name]).count("fps") == FRAMES


@pytest.mark.parametrize("name", NO_MODEL)
def test_an_example_names_the_model_that_its_user_must_supply(openmv, rom, name):
    with pytest.raises(RemoteError, match=r"(?s)OSError.*<model_file_name>"):
        run(rom, openmv, name, "person")


@pytest.mark.parametrize("name", NEEDS_ULAB)
def test_examples_that_need_ulab_report_it(openmv, shipped, name):
    found = "'array' object has no attribute 'flatten'|no module named 'ulab'"
    with pytest.raises(RemoteError, match=found):
        run(shipped, openmv, name, "person")


def test_image_classification_example(openmv, rom):
    out = run(rom, openmv, "tf_image_classification", "person")
    scores = [float(value) for value in re.findall(r"person = (\S+)", out)]
    assert len(scores) == FRAMES - 1 and min(scores) > 0.85


def test_regression_example(openmv, rom):
    """The regression example prints the output that the script itself expects."""
    out = run(rom, openmv, "tf_regression")
    assert "# Should print 53.78332" in (openmv / EXAMPLES / "tf_regression.py").read_text()
    assert float(out.split("[")[-1].split("]")[0]) == pytest.approx(53.78332, abs=1e-4)


def test_micro_speech_example(openmv, files, ulab_firmware, board_npu, tmp_path):
    """The example recognises the words of TensorFlow Lite Micro's recordings in order."""
    sounds = references.micro_speech_example() / "testdata"
    samples = b""
    for name in ("silence", "yes", "silence", "no", "silence"):
        with wave.open(str(sounds / f"{name}_1000ms.wav")) as sound:
            samples += sound.readframes(16000)
    path = tmp_path / "sound.wav"
    with wave.open(str(path), "wb") as sound:
        sound.setparams((1, 2, 16000, 0, "NONE", ""))
        sound.writeframes(samples)
    few = {name: data for name, data in files.items() if name.startswith("micro_speech")}
    with start({**few, "sound.wav": path.read_bytes()}, board_npu, ulab_firmware) as board:
        board.exec(
            "import time, audio\n_sleep = time.sleep_ms\n"
            "class Enough(Exception): pass\n"
            "def until_the_end(ms):\n"
            f"    if audio._file.tell() == {path.stat().st_size}: raise Enough\n"
            "    _sleep(ms)\n"
            "time.sleep_ms = until_the_end"
        )
        out = until_enough(board, (openmv / EXAMPLES / "micro_speech.py").read_text())
    heard = re.findall(r'Heard: "(\w+)"', out)  # a word may be recognised twice before it ends
    assert list(dict.fromkeys(heard)) == ["Yes", "No"] and heard == sorted(heard, reverse=True)


@pytest.mark.parametrize("name", TRUE)
def test_unit_test(openmv, rom, name):
    script = (openmv / f"scripts/unittest/tests/{name}.py").read_text()
    rom.exec("import sys\nclass omv:\n    arch = lambda: 'MPS3'\nsys.modules['omv'] = omv")
    out = rom.exec(f"{script}\nprint(unittest('/rom', '/tmp'))", timeout=60)
    assert out.split()[-1] == "True"


def test_fomo_has_the_numbers_of_its_script(openmv, rom):
    """FOMO's score equals the script's 7 digits, which requires 32-bit floats."""
    script = (openmv / "scripts/unittest/tests/ml_fomo.py").read_text()
    (expected,) = re.findall(r"return output\[1\] == (\[.*?\n    \])", script, re.DOTALL)
    assert "return output[1] ==" in script
    rom.exec("import sys\nclass omv:\n    arch = lambda: 'MPS3'\nsys.modules['omv'] = omv")
    found = rom.exec(
        script.replace("return output[1] ==", "return output[1] or")
        + "\nprint(unittest('/rom', '/tmp'))",
        timeout=60,
    )
    found, expected = ast.literal_eval(found), ast.literal_eval(expected)
    assert [box for box, _ in found] == [box for box, _ in expected]
    assert [score for _, score in found] == pytest.approx([s for _, s in expected], abs=1e-7)
