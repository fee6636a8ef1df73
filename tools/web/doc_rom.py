# SPDX-License-Identifier: MIT
"""Contents of /rom on the board that runs the docs' Python blocks, in tests and in the book."""

import tempfile
from pathlib import Path

import numpy as np
from ethosu_tools import make_model, selftest
from ethosu_tools.vela import compile_model
from ethosu_tools.wakeword import keywords, speech

NPU = "ethos-u55-128"


def sound() -> bytes:
    """A wake word, then a command: 16-bit samples at 16 kHz."""
    command = speech.say("yes", "en-us")[speech.RATE * 7 // 8 :]
    silence = np.zeros(speech.RATE, np.int16)
    samples = np.concatenate([speech.say("okay nabu", "en-us")[:-6400], command, silence])
    return bytes(samples.astype("<i2").tobytes())


def files(npu: str = NPU) -> dict[str, bytes]:
    """The files, with models compiled for this NPU."""
    models: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory(prefix="ethosu-") as name:
        folder = Path(name)
        sources = {"okay_nabu": keywords.load("okay_nabu").model}
        for model, make in make_model.MODELS.items():
            sources[model] = folder / f"{model}.tflite"
            sources[model].write_bytes(make())
        compiled = folder / "compiled.tflite"
        for model, source in sources.items():
            compile_model(source, npu, compiled)
            models[f"{model}.tflite"] = compiled.read_bytes()
        compiled.write_bytes(models["small_cnn.tflite"])
        selftest.add(sources["small_cnn"], compiled)
        with_selftest = compiled.read_bytes()
    same = dict.fromkeys(("proven.tflite", "stripes_vela.tflite"), with_selftest)
    return (
        models | same | {"small_cnn_vela.tflite": models["small_cnn.tflite"], "speech.pcm": sound()}
    )
