# SPDX-License-Identifier: MIT
"""Speech and WAV files become 16 kHz mono samples; other files are refused."""

import shutil
import subprocess

import numpy as np
import pytest
from ethosu_tools.base.errors import InputError
from ethosu_tools.model.samples import speech


@pytest.fixture
def make_wav(tmp_path):
    """Make a WAV file with sox: `make_wav("-r 8000 -c 2", "synth 1 sine 440")`."""

    def make(form, effects):
        path = tmp_path / "made.wav"
        sox = [shutil.which("sox"), "-n", *form.split(), path, *effects.split()]
        subprocess.run(sox, check=True)
        return path

    return make


def test_speech_is_reproducible_and_surrounded_by_silence():
    samples = speech.say("okay nabu", "en-us")
    assert np.array_equal(samples, speech.say("okay nabu", "en-us"))
    assert samples.dtype == np.int16
    assert not samples[: speech.RATE].any() and not samples[-speech.RATE // 2 :].any()
    assert np.abs(samples).max() > 3000


@pytest.mark.parametrize(
    "form",
    ["-r 16000 -c 1 -b 16", "-r 44100 -c 2 -b 24", "-r 8000 -e float -b 32", "-r 48000 -c 6 -b 8"],
)
def test_wav_files_of_any_form_become_one_second_at_16_khz(make_wav, form):
    samples = speech.read_wav(make_wav(form, "synth 1 sine 440 gain -6"))
    spectrum = np.abs(np.fft.rfft(samples))
    assert samples.dtype == np.int16 and len(samples) == speech.RATE
    assert np.argmax(spectrum) == 440
    assert np.abs(samples).max() == pytest.approx(16400, rel=0.03)


def test_a_wav_file_cut_short_is_read_as_far_as_it_goes(make_wav):
    path = make_wav("-r 16000 -c 1 -b 16", "synth 1 sine 440")
    path.write_bytes(path.read_bytes()[:20000])
    assert 9000 < len(speech.read_wav(path)) < 10000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a WAV file that sox can read"),
        (b"text, not sound", "RIFF header not found"),
        (b"RIFF\x00\x00\x00\x00WAVEfmt ", "is not a WAV file that sox can read"),
    ],
)
def test_other_files_are_refused(tmp_path, content, message):
    path = tmp_path / "other.wav"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        speech.read_wav(path)


def test_too_long_a_file_is_refused(make_wav):
    with pytest.raises(InputError, match="is longer than 60 s"):
        speech.read_wav(make_wav("-r 8000 -c 1 -b 16", "synth 61 sine 440"))


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "is empty"), (" \n", "is empty"), ("a" * 501, "has 501 characters"), ("-", "no sound")],
)
def test_text_that_cannot_be_spoken_is_rejected(text, message):
    with pytest.raises(InputError, match=message):
        speech.say(text, "en-us")


def test_an_unknown_voice_is_refused():
    with pytest.raises(InputError, match=r"cannot speak it as nobody: .*voice does not exist"):
        speech.say("okay nabu", "nobody")


def test_text_is_never_taken_for_an_option():
    assert speech.say("--help", "en-us").any()
