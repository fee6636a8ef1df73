# SPDX-License-Identifier: MIT
"""`ml.apps.MicroSpeech` recognises the recordings of TensorFlow Lite Micro's example on the board.

Model and sounds are the example's (TFLM_DIR). Words must match those found with TensorFlow Lite
Micro's own features at each step. Its signal processing operators differ from the ethosu_audio
library in a few values, so scores are compared with TensorFlow Lite's reference kernels on the
board's own features.
"""

import wave

import numpy as np
import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.sim.oracle import Oracle

from host_tests.kit.board_models import raised
from host_tests.modules.ethosu.audio import references
from host_tests.modules.ethosu.binding.tensor.test_values import quantized

LABELS = ["Silence", "Unknown", "Yes", "No"]
# The example's own test expects these results for whole recordings.
HEARD = {"yes": "Yes", "no": "No", "silence": "Silence", "noise": "Silence"}
WORDS = "Yes", "No"
AROUND = 8000
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def example():
    return references.micro_speech_example()


@pytest.fixture(scope="module")
def sounds(example):
    """Return the recordings; words are surrounded by half a second of zeros."""
    found = {}
    for name in HEARD:
        with wave.open(str(example / f"testdata/{name}_1000ms.wav")) as file:
            assert file.getparams()[:3] == (1, 2, 16000)
            samples = np.frombuffer(file.readframes(16000), np.int16)
        samples = np.pad(samples, AROUND if HEARD[name] in WORDS else 0)
        found[name] = samples[: len(samples) // 320 * 320]
    return found


@pytest.fixture(scope="module")
def features(example, sounds):
    """Compute a slice per 320 samples, after 160 samples of silence."""
    padded = {name: np.pad(samples, (160, 0)) for name, samples in sounds.items()}
    return references.of_libraries(padded, example / "models/audio_preprocessor_float.tflite")


@pytest.fixture(scope="module")
def board(ulab_firmware, board_npu, compiled, example):
    model = example / "models/micro_speech_quantized.tflite"
    with QemuBoard(Machine(emulated(npu=board_npu, firmware=ulab_firmware))) as board:
        board.write_file("/micro_speech.tflite", compiled(model, board_npu).read_bytes())
        board.exec(
            "import ml, sys, machine\nfrom array import array\n"
            "class audio:  # in the place of the module of a board with a microphone\n"
            "    def init(**options): audio.options, audio.callback = options, None\n"
            "    def start_streaming(callback): audio.callback = callback\n"
            "    def stop_streaming(): audio.callback = None\n"
            "sys.modules['audio'] = audio\nfrom ml.apps import MicroSpeech\n"
            f"model = ml.Model('/micro_speech.tflite')\nlabels = {LABELS!r}\n"
        )
        yield board


def expected_of(oracle, rows, words):
    """Return (label or None, scores) after each slice, as listen() defines them."""
    tensor, output = oracle.inputs[0], oracle.outputs[0]
    spectrogram, history, expected = np.zeros((49, 40)), np.zeros((34, 4)), []
    for row in rows:
        spectrogram = np.vstack([spectrogram[1:], row])
        (raw,) = oracle.step([quantized(spectrogram, tensor).reshape(tensor.shape)])
        scores = (raw.astype(float) - output.zero_point) * output.scale
        history = np.vstack([history[1:], scores])
        mean = history.mean(axis=0)
        best = int(mean.argmax())
        label = LABELS[best] if mean[best] > 0.65 and LABELS[best] in words else None
        if label:
            spectrogram, history = np.zeros((49, 40)), np.zeros((34, 4))
        expected.append((label, mean))
    return expected


@pytest.mark.parametrize("name", HEARD)
def test_words_and_scores_of_each_step(board, example, sounds, features, name):
    words = WORDS if HEARD[name] in WORDS else ()
    oracle = Oracle(example / "models/micro_speech_quantized.tflite")
    board.write_file("/sound.pcm", sounds[name].tobytes())
    board.exec(
        "class Recorder(MicroSpeech):\n"
        "    def add_features(self, features):\n"
        "        rows.append(bytes(array('f', features)))\n"
        "        super().add_features(features)\n"
        "app = Recorder(None, model, labels)\nfound, rows = [], []\napp.start_audio_streaming()\n"
        "with open('/sound.pcm', 'rb') as file:\n"
        "    while piece := file.read(640):\n"
        "        audio.callback(piece)\n"
        f"        label, scores = app.listen(timeout=-1, filter={words})\n"
        "        found.append((label, scores.tolist()))\n"
        "app.stop_audio_streaming()",
        timeout=60,
    )
    found = board.eval("found")
    rows = np.frombuffer(board.eval("b''.join(rows)"), np.float32).reshape(-1, 40)
    outside = features[f"{name}/micro"]
    assert rows.shape == outside.shape
    assert (rows == outside).mean() > 0.9
    expected = expected_of(oracle, rows, words)
    assert [label for label, _ in found] == [label for label, _ in expected]
    assert np.allclose([s for _, s in found], [s for _, s in expected], rtol=0, atol=1e-6)
    assert [label for label, _ in found] == [
        label for label, _ in expected_of(oracle, outside, words)
    ]
    heard = [label for label, _ in found if label]
    assert heard[:1] == ([HEARD[name]] if words else [])
    if not words:
        assert LABELS[board.eval("ml.utils.np.argmax(app.pred_history[33])")] == HEARD[name]
    assert board.eval("(audio.options, audio.callback)") == (
        {"channels": 1, "frequency": 16000, "samples": 320}, None
    )  # fmt: skip


def test_listen_waits_for_a_word_that_a_timer_brings(board, sounds):
    board.write_file("/sound.pcm", sounds["no"].tobytes())
    board.exec(
        "app = MicroSpeech(None, model, labels, gain_db=24)\n"
        "file = open('/sound.pcm', 'rb')\n"
        "def tick(_):\n"
        "    piece = file.read(640)\n"
        "    if len(piece) == 640 and audio.callback: audio.callback(piece)\n"
        "timer = machine.Timer(-1, period=20, callback=tick)\n"
        "started = audio.callback\nlabel, scores = app.listen(timeout=5000)\n"
        "after = audio.callback\nquiet = app.listen(timeout=20, filter=())\n"
        "late = audio.callback\napp.listen(timeout=-1)\ngoes_on = audio.callback\n"
        "timer.deinit(); app.stop_audio_streaming(); file.close()",
        timeout=60,
    )
    assert board.eval("(label, max(scores) > 0.65, quiet[0])") == ("No", True, None)
    assert board.eval("(started, after, late, goes_on is None)") == (None, None, None, False)
    assert board.eval("(audio.options['gain_db'], app.audio_started)") == (24, False)


def test_a_piece_of_another_size_is_refused(board):
    board.exec("app = MicroSpeech(None, model, labels)")
    assert raised(board, "app.audio_callback(bytes(638))").startswith(
        "ValueError 319 samples given, expected 320"
    )
