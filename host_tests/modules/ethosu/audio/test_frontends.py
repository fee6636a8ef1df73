# SPDX-License-Identifier: MIT
"""The C front ends, compiled for this machine with ASan and UBSan, against their references."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools.model.samples import speech, wake_words

from . import references

HERE = Path(__file__).parent
SOUNDS = references.sounds()
BANDS = list(wake_words.bands())


def floats(data: bytes, values: int):
    return np.frombuffer(data, np.float32).reshape(-1, values)


@pytest.mark.parametrize("name", SOUNDS)
def test_the_micro_frontend_equals_pymicro_features(run, name):
    rows = np.frombuffer(run(SOUNDS[name].tobytes(), "micro", 160), np.uint16).reshape(-1, 40)
    assert np.array_equal(rows[:, BANDS], references.micro(SOUNDS[name])[:, BANDS])


@pytest.mark.parametrize("voice", ["en-us", "en-gb"])
def test_features_of_speech_equal_those_of_pymicro_features(run, voice):
    samples = speech.say("okay nabu, what is the weather like in the mountains?", voice)
    rows = np.frombuffer(run(samples.tobytes(), "micro", 160), np.uint16).reshape(-1, 40)
    assert len(rows) > 300 and rows.max() > 500
    assert np.array_equal(rows[:, BANDS], references.micro(samples)[:, BANDS])


def test_roots_are_rounded_as_the_library_rounds_them(run):
    random = np.random.default_rng(1)
    edges = [1 << bit for bit in range(64)]
    squares = [int(root) ** 2 for root in random.integers(1, 1 << 32, 500, np.uint64)]
    wide = random.integers(0, 1 << 63, 50).tolist()
    shifted = [one >> shift for one in wide for shift in range(63)]
    near = [one + by for one in edges + squares for by in (-1, 0, 1)]
    numbers = {min(max(0, one), (1 << 64) - 1) for one in near + shifted}
    numbers = np.array(sorted(numbers), np.uint64)
    roots = np.frombuffer(run(numbers.tobytes(), "sqrt"), np.uint32)
    for number, root in zip(numbers.tolist(), roots.tolist(), strict=True):
        exact = math.isqrt(number)
        most = 0xFFFF if number < 1 << 32 else 0xFFFFFFFF
        assert root == min(exact + (number - exact**2 > exact), max(most, exact)), number


def test_the_tables_are_those_that_their_program_makes(repo):
    folder = repo / "modules/ethosu/audio"
    made = subprocess.run(
        [sys.executable, folder / "make_tables.py"], check=True, capture_output=True, text=True
    )
    assert made.stdout == (folder / "micro_tables.c").read_text()


def gain_of(name):
    """Return the gain that makes the largest sample 1, as in get_dataset.py."""
    return float(1 / max(1, SOUNDS[name].max()))


def check_mfcc(run, name, expected):
    rows = floats(run(SOUNDS[name].tobytes(), "mfcc", 320, gain_of(name)), 10)
    assert rows.shape == expected.shape == ((48000 - 480) // 320 + 1, 10)
    error = np.abs(rows - expected).max()
    print(f"MFCC of {name}: largest error {error:.2g}")
    assert error < references.MFCC_ERROR


def check_log_mel(run, name, expected):
    rows = floats(run(SOUNDS[name].tobytes(), "log_mel", 512, 1 / 32768), 128)
    assert rows.shape == expected.shape == ((48000 - 1024) // 512 + 1, 128)
    audible, heard = references.decibel_errors(rows, expected)
    print(f"log-mel of {name}: largest error {audible:.2g} dB, of faint bands {heard:.2g} dB")
    assert audible < references.DECIBEL_ERROR and heard < references.FAINT_DECIBEL_ERROR


@pytest.mark.parametrize("name", SOUNDS)
def test_mfcc_are_those_of_the_keyword_benchmark(run, name):
    check_mfcc(run, name, references.mfcc(SOUNDS[name], gain=gain_of(name)))


@pytest.mark.parametrize("name", SOUNDS)
def test_the_log_mel_spectrum_is_that_of_the_anomaly_benchmark(run, name):
    expected = references.log_mel(SOUNDS[name])
    assert (expected > references.FAINTEST).any() or name == "silence"
    check_log_mel(run, name, expected)


@pytest.fixture(scope="module")
def libraries():
    """Return TensorFlow's and librosa's results for the sounds."""
    return references.of_libraries(SOUNDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", SOUNDS)
def test_mfcc_are_those_of_tensorflow(run, libraries, name):
    check_mfcc(run, name, libraries[f"{name}/mfcc"])


@pytest.mark.slow
@pytest.mark.parametrize("name", SOUNDS)
def test_the_log_mel_spectrum_is_that_of_librosa(run, libraries, name):
    check_log_mel(run, name, libraries[f"{name}/log_mel"])


def test_samples_go_through_a_ring_in_order_and_losses_are_counted(run):
    run(b"", "ring")


@pytest.mark.parametrize("kind", ["micro", "mfcc", "log_mel"])
def test_too_little_sound_gives_no_row(run, kind):
    assert run(bytes(2 * 479), kind, 160, 1) == b""
    assert run(b"", kind, 160, 1) == b""
