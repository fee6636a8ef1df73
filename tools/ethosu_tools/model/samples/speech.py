# SPDX-License-Identifier: MIT
"""Makes 16-bit mono samples at 16 kHz, spoken by espeak-ng or from a WAV file."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np

from ...base.errors import InputError, SetupError
from ...base.files import read_whole
from ..arrays import Array

RATE = 16000

# Spoken text is surrounded by silence, as in a device's normal use. espeak-ng uses its
# default pitch and loudness; 175 words a minute is its default speed.
SILENCE_BEFORE_S = 1.0
SILENCE_AFTER_S = 0.5

MAX_TEXT = 500
MAX_SECONDS = 60
TIMEOUT_S = 30


def say(text: str, voice: str, *, speed: int = 175) -> Array:
    """Let espeak-ng speak `text` at `speed` words per minute, with silence around it."""
    if not text.strip():
        raise InputError("the text to speak is empty")
    if len(text) > MAX_TEXT:
        raise InputError(f"the text has {len(text)} characters, expected at most {MAX_TEXT}")
    command = ["espeak-ng", "-v", voice, "-s", str(speed), "--stdin", "--stdout"]
    wav = _run(command, text.encode(), f"espeak-ng cannot speak it as {voice}")
    spoken = _resample(wav, "sox cannot resample speech")
    if not spoken.any():
        raise InputError(f"espeak-ng produced no sound for {text!r}")
    before = np.zeros(int(SILENCE_BEFORE_S * RATE), np.int16)
    after = np.zeros(int(SILENCE_AFTER_S * RATE), np.int16)
    return _limited(np.concatenate([before, spoken, after]), "the speech")


def read_wav(path: Path) -> Array:
    """Read a WAV file of any rate, width and number of channels."""
    samples = _resample(read_whole(path), f"{path} is not a WAV file that sox can read")
    return _limited(samples, str(path))


def _limited(samples: Array, what: str) -> Array:
    if len(samples) > MAX_SECONDS * RATE:
        raise InputError(f"{what} is longer than {MAX_SECONDS} s, the demo's limit")
    return samples


def _resample(wav: bytes, failure: str) -> Array:
    """Resample and mix with sox, without clipping, and without dither, to be reproducible."""
    source = ["--guard", "--no-dither", "-t", "wav", "-"]
    target = ["-t", "raw", "-r", str(RATE), "-c", "1", "-e", "signed", "-b", "16", "-L", "-"]
    enough = ["trim", "0", str(MAX_SECONDS + 1)]
    raw = _run(["sox", *source, *target, *enough], wav, failure)
    return np.frombuffer(raw, "<i2").astype(np.int16)


def _run(command: list[str], source: bytes, failure: str) -> bytes:
    """Run a program that turns its stdin into its stdout."""
    program = command[0]
    try:
        done = subprocess.run(
            command, input=source, capture_output=True, timeout=TIMEOUT_S, check=False
        )
    except FileNotFoundError:
        raise SetupError(
            f"{program} is not installed; install it, on Debian with: apt install {program}"
        ) from None
    except subprocess.TimeoutExpired:
        raise SetupError(f"{program} did not finish within {TIMEOUT_S} s") from None
    if done.returncode:
        words = done.stderr.decode(errors="replace").split()
        raise InputError(f"{failure}: {' '.join(words).rstrip('.') or 'it printed no reason'}")
    return done.stdout
