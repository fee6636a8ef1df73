# SPDX-License-Identifier: MIT
"""Computes the front ends' expected results: by pymicro-features, or by definition in NumPy.

The scripts of MLPerf Tiny (get_dataset.py of the keyword benchmark, common.py of the anomaly
benchmark) call tf.signal and librosa. `mfcc` and `log_mel` implement the documentation of these
functions in double precision.
"""

import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from pymicro_features import MicroFrontend

from host_tests.kit import needs

RATE = 16000
# Tolerances of the single-precision front ends, against the definitions here and against results of
# TensorFlow and librosa. In sounds(), the libraries' own largest errors are 0.023 of an MFCC
# (a step of the keyword model's input is 0.58), 0.0021 dB and 0.059 dB.
MFCC_ERROR = 0.05
# Limits for bands within RANGE of their row's loudest band, and for others. Bands below FAINTEST
# contain only rounding errors of silence.
DECIBEL_ERROR, FAINT_DECIBEL_ERROR, RANGE, FAINTEST = 0.01, 0.1, 80, -80


def micro(samples):
    """Compute rows of integers by pymicro-features, one per 10 ms."""
    frontend, data, rows, at = MicroFrontend(), samples.tobytes(), [], 0
    while at + 320 <= len(data):
        result = frontend.process_samples(data[at : at + 320])
        at += 2 * result.samples_read
        if result.features:
            rows.append(result.features)
    return np.round(np.array(rows).reshape(-1, 40) / 0.0390625).astype(np.uint16)


def spectra(samples, window, fft, hop):
    """Compute amplitudes of windows with the shape of a periodic Hann window."""
    shape = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / window)
    starts = range(0, len(samples) - window + 1, hop)
    return np.abs([np.fft.rfft(samples[at : at + window] * shape, fft) for at in starts])


def triangles(corners, places):
    """Return each position's weight in each triangle: up from corner i to i + 1, down to i + 2."""
    low, top, high = (corners[i : len(corners) - 2 + i, None] for i in range(3))
    return np.maximum(0, np.minimum((places - low) / (top - low), (high - places) / (high - top)))


def mfcc(samples, hop=320, gain=1 / 32768):
    """Apply tf.signal's stft, linear_to_mel_weight_matrix, log, mfccs_from_log_mel_spectrograms."""

    def mel(hertz):
        return 1127 * np.log(1 + hertz / 700)

    amplitudes = spectra(samples * gain, 480, 512, hop)
    corners = np.linspace(mel(20.0), mel(4000.0), 42)
    weights = triangles(corners, mel(np.arange(257) * RATE / 512))
    weights[:, 0] = 0  # without the DC component
    logs = np.log(amplitudes @ weights.T + 1e-6)
    k, n = np.arange(10)[:, None], np.arange(40)
    cosines = 2 * np.cos(np.pi * k * (2 * n + 1) / 80) / np.sqrt(80)
    return logs @ cosines.T


def log_mel(samples, hop=512, gain=1 / 32768):
    """Apply librosa.feature.melspectrogram (Slaney's scale, area 1) to squares, in decibels."""

    def hertz(mel):
        return np.where(mel < 15, mel * 200 / 3, 1000 * 6.4 ** ((mel - 15) / 27))

    squares = spectra(samples * gain, 1024, 1024, hop) ** 2
    highest = 15 + 27 * np.log(8) / np.log(6.4)
    corners = hertz(np.linspace(0, highest, 130))
    weights = triangles(corners, np.arange(513) * RATE / 1024)
    weights *= 2 / (corners[2:] - corners[:-2])[:, None]
    return 10 * np.log10(squares @ weights.T + np.finfo(float).eps)


def decibel_errors(rows, expected):
    """Return the largest errors of bands within RANGE of the loudest, and above FAINTEST."""
    errors = np.abs(rows - expected)
    heard = expected > FAINTEST
    audible = heard & (expected > expected.max(axis=1, keepdims=True) - RANGE)
    assert rows[~heard].max(initial=-200) < FAINTEST + 1
    return errors[audible].max(initial=0), errors[heard].max(initial=0)


def sounds():
    """Make samples of many kinds, from silence to overflowing windows, by name."""
    random = np.random.default_rng(19)
    time = np.arange(48000)
    loudness = np.repeat(10 ** random.uniform(0, 4.3, 300), 160)
    signals = {
        "silence": np.zeros(48000),
        "faint": random.integers(-2, 3, 48000),
        "noise": random.normal(0, 3000, 48000),
        "bursts": random.normal(0, 1, 48000) * loudness,
        "full scale": random.integers(-32768, 32768, 48000),
        "lowest": np.full(48000, -32768),
        "square": np.where(np.sin(time * 0.05) > 0, 32767, -32768),
        "sweep": 32767 * np.sin(time * time / 60000),
        "clicks": (random.random(48000) < 0.002) * -32768,
    }
    return {name: np.clip(one, -32768, 32767).astype(np.int16) for name, one in signals.items()}


def python():
    """Return the Python that FEATURES_PYTHON names."""
    interpreter = os.environ.get("FEATURES_PYTHON")
    if interpreter is None:
        needs.missing(
            "NOT COMPARED WITH TENSORFLOW, LIBROSA, TENSORFLOW LITE MICRO: set FEATURES_PYTHON to "
            "a Python that has tensorflow-cpu, librosa and tflite-micro"
        )
    return interpreter


def of_libraries(samples, *preprocessor):
    """Run library_features.py in the Python that FEATURES_PYTHON names."""
    with tempfile.TemporaryDirectory() as folder:
        given, made = f"{folder}/in.npz", f"{folder}/out.npz"
        np.savez(given, **samples)
        program = Path(__file__).with_name("library_features.py")
        command = [python(), program, given, made, *preprocessor]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        return dict(np.load(made))


def tflm():
    """Return the TensorFlow Lite Micro checkout that TFLM_DIR names."""
    tree = os.environ.get("TFLM_DIR")
    if tree is None:
        needs.missing("EXAMPLES OF TFLM NOT RUN: set TFLM_DIR to a checkout of tflite-micro")
    return Path(tree)


def micro_speech_example():
    """Return the folder of TensorFlow Lite Micro's Micro Speech example."""
    return tflm() / "tensorflow/lite/micro/examples/micro_speech"
