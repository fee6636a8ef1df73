# SPDX-License-Identifier: MIT
"""The examples and the code in the docs run on the board, unmodified."""

import re
import shlex
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools import arrays, cli, make_model, paths, romfs
from ethosu_tools.board import QemuBoard
from ethosu_tools.model import describe
from ethosu_tools.qemu import Machine

from host_tests.kit import needs
from host_tests.modules.ethosu.audio import references
from host_tests.modules.ethosu.runtime.executorch import made
from tools.web import discs, doc_rom

REPO = Path(__file__).resolve().parents[4]
MODULE = REPO / "modules/ethosu"
EXAMPLES = sorted((MODULE / "examples").glob("*.py"))
PAGES = [
    *sorted((MODULE / "docs").glob("*.md")),
    *(MODULE / "README.md", REPO / "README.md", REPO / "docs/tutorial.md"),
]
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


PYTORCH = MODULE / "docs/pytorch.md"


def blocks(page, language="python"):
    block = rf"^```{language}\n(.*?)^```$"
    return re.findall(block, page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def spotter(small_models, board_npu, raw):
    """Stand-in for the docs' keyword spotter: a program with as many outputs, and labels."""
    program = made.quantised_ends(small_models["small_cnn"], raw(board_npu))
    program.constant_method("get_labels", *(f"word {index}" for index in range(10)))
    return program.encode()


def keyword_model():
    """Stand-in for MLPerf Tiny's keyword model, with as many features and words."""
    net = make_model.Net("keywords", 3)
    x = net.conv(net.input((1, 49, 10, 1)), 8, kernel=(10, 4), stride=(2, 2))
    x = net.dense(net.reshape(x, (1, 25 * 5 * 8)), 12, gain=8.0)
    return net.finish(net.softmax(x))


def person_model():
    """Stand-in for TensorFlow Lite Micro's person_detect.tflite."""
    net = make_model.Net("person", 4)
    x = net.conv(net.input((1, 96, 96, 1)), 4, kernel=(8, 8), stride=(8, 8))
    x = net.dense(net.reshape(x, (1, 12 * 12 * 4)), 2, gain=8.0)
    return net.finish(net.softmax(x))


def bitmap(pixels):
    """A greyscale .bmp file, bottom row first."""
    height, width = pixels.shape
    head = struct.pack("<2sIIIIiiHH24x", b"BM", 54 + pixels.size, 0, 54, 40, width, height, 1, 8)
    return head + pixels[::-1].tobytes()


@pytest.fixture(scope="module")
def rom(emulator_only, board_npu, compiled, spotter, tmp_path_factory):
    """A board with the models loaded by examples and docs."""
    keywords = tmp_path_factory.mktemp("keywords") / "kws.tflite"
    keywords.write_bytes(keyword_model())
    files = doc_rom.files(board_npu) | discs.rom_files(board_npu)
    files["kws.tflite"] = compiled(keywords, board_npu).read_bytes()
    person = tmp_path_factory.mktemp("person") / "person.tflite"
    person.write_bytes(person_model())
    files["person_detect.tflite"] = compiled(person, board_npu).read_bytes()
    files["grey.bmp"] = bitmap(np.arange(96 * 96, dtype=np.uint8).reshape(96, 96))
    files["kws.pte"] = spotter
    with QemuBoard(Machine(board_npu, romfs=romfs.build(files))) as board:
        yield board


def test_the_assistant_understands_words_after_the_wake_word(
    rom, board_npu, compiled, shared_models
):
    """With the real keyword model, and words that it recognises when spoken by espeak-ng."""
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
        # Its bytes are copied to the int8 tensor, as in its test.
        seen = np.frombuffer(data, np.int8)[data[10] | data[11] << 8 :].reshape(96, 96)[::-1]
        files[f"{name}.bmp"] = bitmap(seen.view(np.uint8) ^ 128)
        np.save(tmp_path / "pixels.npy", seen.reshape(1, 96, 96, 1))
        command = [references.python(), "-c", IN_TFLM, str(source), tmp_path / "pixels.npy"]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        score = (int(printed.splitlines()[-1]) + 128) / 256  # softmax output
        expected.append(f"{name}.bmp: {answer}, score {score:.4f}")
    with QemuBoard(Machine(board_npu, romfs=romfs.build(files))) as board:
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPO)))
def test_page(rom, page):
    rom.soft_reset()
    assert blocks(page)
    for block in blocks(page):
        rom.exec(block, timeout=30)


@pytest.fixture(params=["stand-in", pytest.param("real", marks=pytest.mark.slow)])
def exporter(request, spotter, tmp_path):
    """A Python with ExecuTorch, or a stand-in."""
    if request.param == "real":
        return needs.python_with("executorch", "EXECUTORCH_PYTHON")
    (tmp_path / "ready").write_bytes(spotter)
    path = tmp_path / "python"
    path.write_text(
        f"#!{sys.executable}\nimport json, shutil, sys\n"
        f"if sys.argv[1] != '-c':\n"
        f"    shutil.copy({str(tmp_path / 'ready')!r}, json.loads(sys.argv[2])['output'])\n"
    )
    path.chmod(0o755)
    return str(path)


def test_commands_of_the_page_on_pytorch(exporter, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks(PYTORCH, "py")
    Path("kws.py").write_text(code)
    lines = [line for block in blocks(PYTORCH, "sh") for line in block.splitlines()]
    assert len(lines) == 8
    for line in lines:
        words = shlex.split(line)[1:]
        if words[0] == "compile":
            words += ["--python", exporter]
        if words[0] == "run":
            inputs = arrays.random_inputs(describe(Path("kws.pte")).inputs)
            np.savez("in.npz", **{"0": inputs[0]})
        if words[0] == "deploy":
            words[words.index("--on") :] = ["-o", "rom.img"]
        assert cli.main(words) == 0, capsys.readouterr().err
    assert "get_labels" in capsys.readouterr().out
