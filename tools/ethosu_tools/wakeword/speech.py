# SPDX-License-Identifier: MIT
"""Sound for the demo: 16-bit mono samples at 16 kHz, spoken by espeak-ng or from a WAV file."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np

from ..errors import InputError, SetupError

RATE = 16000

# Spoken text stands in silence, as it does where a device listens. espeak-ng speaks at its
# default speed, pitch and loudness.
SILENCE_BEFORE_S = 1.0
SILENCE_AFTER_S = 0.5

MAX_TEXT = 500
MAX_SECONDS = 60
TIMEOUT_S = 30


def say(text: str, voice: str) -> np.ndarray:
    """What espeak-ng makes of `text`, with silence around it."""
    if not text.strip():
        raise InputError("there is no text to say")
    if len(text) > MAX_TEXT:
        raise InputError(f"the text has {len(text)} characters; the demo says up to {MAX_TEXT}")
    command = ["espeak-ng", "-v", voice, "--stdin", "--stdout"]
    spoken = _samples(_output_of(command, text.encode(), f"espeak-ng cannot say it as {voice}"))
    if not spoken.any():
        raise InputError(f"espeak-ng made no sound of {text!r}")
    before = np.zeros(int(SILENCE_BEFORE_S * RATE), np.int16)
    after = np.zeros(int(SILENCE_AFTER_S * RATE), np.int16)
    return np.concatenate([before, spoken, after])


def read_wav(path: Path) -> np.ndarray:
    """A WAV file of any rate, width and number of channels."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    try:
        samples = _samples(content)
    except InputError as error:
        raise InputError(f"{path} is not a WAV file that sox can read: {error}") from error
    if len(samples) > MAX_SECONDS * RATE:
        seconds = len(samples) / RATE
        raise InputError(f"{path} lasts {seconds:.0f} s; the demo takes up to {MAX_SECONDS} s")
    return samples


def _samples(wav: bytes) -> np.ndarray:
    """Resample and mix with sox: guarded against clipping, without dither, so reproducible."""
    source = ["--guard", "--no-dither", "-t", "wav", "-"]
    target = ["-t", "raw", "-r", str(RATE), "-c", "1", "-e", "signed", "-b", "16", "-L", "-"]
    raw = _output_of(["sox", *source, *target], wav, "sox failed")
    return np.frombuffer(raw, "<i2").astype(np.int16)


def _output_of(command: list[str], stdin: bytes, failure: str) -> bytes:
    program = command[0]
    try:
        done = subprocess.run(
            command, input=stdin, capture_output=True, timeout=TIMEOUT_S, check=False
        )
    except FileNotFoundError:
        raise SetupError(
            f"{program} is not installed; install it, on Debian with: apt install {program}"
        ) from None
    except subprocess.TimeoutExpired:
        raise SetupError(f"{program} did not finish within {TIMEOUT_S} s") from None
    if done.returncode:
        words = done.stderr.decode(errors="replace").split()
        raise InputError(f"{failure}: {' '.join(words).rstrip('.') or 'it gave no reason'}")
    return done.stdout
