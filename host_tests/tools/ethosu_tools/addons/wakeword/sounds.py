# SPDX-License-Identifier: MIT
"""Makes sounds for test_sounds.py: the wake word and other sentences, spoken and in noise.

espeak-ng speaks the word in several voices and at several speeds, and other sentences; noise is
added. The sounds are reproducible.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from ethosu_tools.model.arrays import Array
from ethosu_tools.model.samples import speech, wake_words

VOICES = (
    *("en-us", "en-us+f3", "en-us+m3", "en-us+f1"),
    *("en-gb", "en-gb+f2", "en-gb-scotland", "en-gb-x-rp"),
)
SPEEDS = (130, 155, 175, 200)  # words per minute; 175 is espeak-ng's default
# Signal-to-noise ratios in decibels; None means no noise.
RATIOS = (None, 20, 10, 5, 0)
NOISES = ("white", "pink", "hum")
LOUDEST = 12_000

SENTENCES = (
    "what is the weather like in the mountains today",
    "okay, now put the book back on the table",
    "the train to the coast leaves at a quarter past nine",
    "nobody knew that the naval museum was open",
    "please turn the light in the kitchen off",
    "okay, not bad, but we can do better than that",
    "she asked him to call back in the afternoon",
    "a new boat lay in the harbour, painted green and white",
    "hey, could you bring me a glass of water",
    "the quick brown fox jumps over the lazy dog",
    "oh, can I borrow your bicycle on Sunday",
    "we cook rice with beans and a little garlic",
)


@dataclass(frozen=True)
class Clip:
    """A sound, and whether the word is in it."""

    samples: Array
    ratio: int | None
    spoken: bool


def clips(word: wake_words.WakeWord) -> Iterator[Clip]:
    """Yield sounds endlessly: the word in each voice, other sentences, and noise alone."""
    random = np.random.default_rng(0)
    for voice in VOICES:
        for speed in SPEEDS:
            spoken = speech.say(word.phrase, voice, speed=speed)
            for ratio in RATIOS:
                yield Clip(mixed(spoken, ratio, random), ratio, True)
    while True:
        for sentence in SENTENCES:
            for ratio in RATIOS:
                voice, speed = random.choice(VOICES), int(random.choice(SPEEDS))
                spoken = speech.say(sentence, str(voice), speed=speed)
                yield Clip(mixed(spoken, ratio, random), ratio, False)
        silence = np.zeros(10 * speech.RATE, np.int16)
        yield Clip(mixed(silence, 0, random), 0, False)


def mixed(spoken: Array, ratio: int | None, random: np.random.Generator) -> Array:
    """Mix speech at a random loudness with noise of a random kind."""
    sound = spoken.astype(float)
    peak = np.abs(sound).max(initial=0)
    sound *= random.uniform(0.1, 1) * LOUDEST / peak if peak else 1
    if ratio is not None:
        loud = sound[np.abs(sound) > np.abs(sound).max() / 50]
        power = float((loud**2).mean()) if len(loud) else random.uniform(30, 3000) ** 2
        noise = make_noise(str(random.choice(NOISES)), len(sound), random)
        sound += noise * np.sqrt(power / (noise**2).mean() / 10 ** (ratio / 10))
    return np.clip(np.round(sound), -32768, 32767).astype(np.int16)


def make_noise(kind: str, count: int, random: np.random.Generator) -> Array:
    """Make white noise, pink noise, or a hum of 50 Hz with overtones and a little noise."""
    white = random.normal(0, 1, count)
    if kind == "hum":
        time = np.arange(count) / speech.RATE
        tones = [np.sin(2 * np.pi * 50 * n * time + n) / n for n in range(1, 20, 2)]
        hum: Array = np.sum(tones, axis=0) + 0.1 * white
        return hum
    if kind == "pink":
        spectrum = np.fft.rfft(white)
        pink: Array = np.fft.irfft(
            spectrum / np.sqrt(np.maximum(np.arange(len(spectrum)), 1)), count
        )
        return pink
    return white
