# SPDX-License-Identifier: MIT
"""Contents of /rom on the board that runs the docs' Python blocks, in tests and in the book."""

import io
import tempfile
import wave
from pathlib import Path

import numpy as np
from ethosu_tools.compile.vela import compile_model
from ethosu_tools.model import make_model
from ethosu_tools.model.samples import speech, wake_words
from ethosu_tools.model.tflite.merged import merge
from ethosu_tools.sim import selftest

NPU = "ethos-u55-128"


def sound() -> bytes:
    """A .wav file of a wake word, then a command: 16-bit samples at 16 kHz."""
    command = speech.say("yes", "en-us")[speech.RATE * 7 // 8 :]
    silence = np.zeros(speech.RATE, np.int16)
    samples = np.concatenate([speech.say("okay nabu", "en-us")[:-6400], command, silence])
    made = io.BytesIO()
    with wave.open(made, "wb") as file:
        file.setparams((1, 2, speech.RATE, 0, "NONE", ""))
        file.writeframes(samples.astype("<i2").tobytes())
    return made.getvalue()


def files(npu: str = NPU) -> dict[str, bytes]:
    """The files, with models compiled for this NPU."""
    models: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory(prefix="ethosu-") as name:
        folder = Path(name)
        sources = {"okay_nabu": wake_words.load("okay_nabu").model}
        for model, make in make_model.MODELS.items():
            sources[model] = folder / f"{model}.tflite"
            sources[model].write_bytes(make())
        # Stand-in for a model with an encoder and a decoder.
        parts = {"encode": make_model.small_cnn(), "decode": make_model.small_cnn()}
        sources["speech"] = folder / "speech.tflite"
        sources["speech"].write_bytes(merge(parts))
        output = folder / "compiled.tflite"
        for model, source in sources.items():
            compile_model(source, npu, output)
            models[f"{model}.tflite"] = output.read_bytes()
        output.write_bytes(models["small_cnn.tflite"])
        selftest.add(sources["small_cnn"], output)
        with_selftest = output.read_bytes()
    same = dict.fromkeys(("proven.tflite", "stripes_vela.tflite"), with_selftest)
    recorded = {"speech.wav": sound(), "okay_nabu.wav": sound()}
    return models | same | {"small_cnn_vela.tflite": models["small_cnn.tflite"]} | recorded
