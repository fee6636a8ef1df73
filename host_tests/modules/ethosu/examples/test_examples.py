# SPDX-License-Identifier: MIT
"""The examples and the code in the docs run on the board, unmodified."""

import re
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools.base import paths
from ethosu_tools.base.errors import RemoteError
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import make_model, romfs

from host_tests.kit import found, pages
from host_tests.modules.ethosu.audio import references
from tools.setup import discs, doc_rom

REPO = Path(__file__).resolve().parents[4]
MODULE = REPO / "modules/ethosu"
EXAMPLES = sorted((MODULE / "examples").glob("*.py"))
EXPECTED = {
    "assistant": "wake\r\n",
    "anomaly": "vibration 0.1 anomaly 0.0\r\n",
    "camera": "frame 3 ",
    "image": "class ",
    "keyword": "heard ",
    "low_level": "done: True",
    "objects": "red ",
    "person": "grey.bmp: ",
    "pmu": "MAC unit busy ",
    "selftest": "self-test passed: True",
    "tensor_dma": "in place: the same",
    "two_models": "sound ",
    "wake_word": "heard ",
}


def keyword_model():
    """Make a stand-in for MLPerf Tiny's keyword model, with as many features and words."""
    net = make_model.Net("keywords", 3)
    x = net.conv(net.input((1, 49, 10, 1)), 8, kernel=(10, 4), stride=(2, 2))
    x = net.dense(net.reshape(x, (1, 25 * 5 * 8)), 12, gain=8.0)
    return net.finish(net.softmax(x))


def person_model():
    """Make a stand-in for TensorFlow Lite Micro's person_detect.tflite."""
    net = make_model.Net("person", 4)
    x = net.conv(net.input((1, 96, 96, 1)), 4, kernel=(8, 8), stride=(8, 8))
    x = net.dense(net.reshape(x, (1, 12 * 12 * 4)), 2, gain=8.0)
    return net.finish(net.softmax(x))


def bitmap(pixels):
    """Make a greyscale .bmp file, bottom row first."""
    height, width = pixels.shape
    palette = b"".join(bytes((grey, grey, grey, 0)) for grey in range(256))
    size, start = 1078 + pixels.size, 1078
    head = struct.pack("<2sIIIIiiHH24x", b"BM", size, 0, start, 40, width, height, 1, 8)
    return head + palette + pixels[::-1].tobytes()


@pytest.fixture(scope="module")
def rom(emulator_only, board_npu, compiled, small_models, raw, tmp_path_factory):
    """Return a board with the models that examples and docs load."""
    keywords = tmp_path_factory.mktemp("keywords") / "kws.tflite"
    keywords.write_bytes(keyword_model())
    files = doc_rom.files(board_npu) | discs.rom_files(board_npu)
    files["kws.tflite"] = compiled(keywords, board_npu).read_bytes()
    person = tmp_path_factory.mktemp("person") / "person.tflite"
    person.write_bytes(person_model())
    files["person_detect.tflite"] = compiled(person, board_npu).read_bytes()
    files["grey.bmp"] = bitmap(np.arange(96 * 96, dtype=np.uint8).reshape(96, 96))
    for each in found.modules("program_rows"):
        files |= each.of_pages(small_models["small_cnn"], raw(board_npu))
    with QemuBoard(Machine(emulated(npu=board_npu), romfs=romfs.build(files))) as board:
        yield board


def test_the_assistant_understands_words_after_the_wake_word(
    rom, board_npu, compiled, shared_models
):
    """The real keyword model recognises words, spoken by espeak-ng, after the wake word."""
    real = compiled(shared_models / "kws_ref_model.tflite", board_npu).read_bytes()
    rom.soft_reset()
    rom.write_file("/kws.tflite", real)
    code = (MODULE / "examples/assistant.py").read_text().replace("/rom/kws", "/kws")
    assert rom.exec(code, timeout=30) == "wake\r\nyes\r\n"


IN_TFLM = """
import sys, numpy
from tflite_micro.python.tflite_micro import runtime
model = runtime.Interpreter.from_file(sys.argv[1])
model.set_input(numpy.load(sys.argv[2]), 0)
model.invoke()
print(model.get_output(0).ravel()[1])
"""


@pytest.mark.slow
def test_pictures_with_and_without_persons_are_distinguished(board_npu, compiled, tmp_path):
    """TensorFlow Lite Micro's model and pictures give its own test's results and scores."""
    tree = references.tflm() / "tensorflow/lite/micro"
    source = tree / "models/person_detect.tflite"
    files = {"person_detect.tflite": compiled(source, board_npu).read_bytes()}
    expected = []
    for name, answer in (("no_person", "nobody"), ("person", "person")):
        data = (tree / f"examples/person_detection/testdata/{name}.bmp").read_bytes()
        # The picture's bytes are copied to the int8 tensor, as in TensorFlow Lite Micro's test.
        seen = np.frombuffer(data, np.int8)[data[10] | data[11] << 8 :].reshape(96, 96)[::-1]
        files[f"{name}.bmp"] = bitmap(seen.view(np.uint8) ^ 128)
        np.save(tmp_path / "pixels.npy", seen.reshape(1, 96, 96, 1))
        command = [references.python(), "-c", IN_TFLM, str(source), tmp_path / "pixels.npy"]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        score = (int(printed.splitlines()[-1]) + 128) / 256  # softmax output
        expected.append(f"{name}.bmp: {answer}, score {score:.4f}")
    with QemuBoard(Machine(emulated(npu=board_npu), romfs=romfs.build(files))) as board:
        out = board.exec((MODULE / "examples/person.py").read_text(), timeout=30)
    assert out.splitlines() == expected


def test_every_example_has_an_expected_output():
    assert {path.stem for path in EXAMPLES} == set(EXPECTED)


def test_the_examples_of_the_emulated_board_have_their_files():
    folder = paths.examples()
    for example in folder.glob("*.py"):
        named = re.findall(r"/rom/(\w+\.\w+)", example.read_text())
        assert [name for name in named if not (folder / name).is_file()] == [], example.name


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(rom, path):
    rom.soft_reset()
    printed = rom.exec(path.read_text(), timeout=30)
    assert EXPECTED[path.stem] in printed and "DMA: 0" not in printed


@pytest.mark.parametrize("page", pages.with_blocks("python", "board"))
def test_page(rom, page):
    rom.soft_reset()
    for block in pages.blocks(page):
        if block.kind == "board":
            rom.exec(pages.program(block), timeout=30)


@pytest.mark.parametrize("block", pages.every("python", "hardware"), ids=lambda block: block.where)
def test_a_program_for_hardware_names_what_this_board_lacks(rom, block):
    rom.soft_reset()
    with pytest.raises(RemoteError, match="ImportError: can't import name"):
        rom.exec(block.text)
