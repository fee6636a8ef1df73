# SPDX-License-Identifier: MIT
"""`ethosu bench wakeword`: which sounds are taken for the wake word, here and by pymicro-wakeword.

espeak-ng speaks the word in several voices and at several speeds, and other sentences; noise is
added. Each sound goes through this project's front end and the compiled model on the simulated NPU,
through pymicro-wakeword, and through pymicro-features with TensorFlow Lite's reference kernels. The
sounds are the same each time. pymicro-wakeword runs optimised kernels, which round otherwise than
the reference kernels, so its probabilities differ a little; those of the reference may not.
"""

import argparse
import contextlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from .. import audio, vela
from ..arrays import Array
from ..errors import SetupError
from ..sim import Simulation
from ..ui import Ui
from ..wakeword import features, listen, results, speech, words
from ..wakeword.stage import RING, PcModel

MINUTES = 30.0
VOICES = (
    *("en-us", "en-us+f3", "en-us+m3", "en-us+f1"),
    *("en-gb", "en-gb+f2", "en-gb-scotland", "en-gb-x-rp"),
)
SPEEDS = (130, 155, 175, 200)  # words in a minute; 175 is espeak-ng's own
# Decibels from the noise to the speech; None: no noise.
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


@dataclass
class Tally:
    """What came of the sounds of one kind."""

    clips: int = 0
    seconds: float = 0.0
    ours: int = 0
    theirs: int = 0
    same: int = 0
    same_step: int = 0
    inferences: int = 0
    equal_to_reference: int = 0

    def add(self, clip: Clip, ours: int | None, theirs: int | None) -> None:
        """Count a sound and after how many inferences each heard the word."""
        self.clips += 1
        self.seconds += len(clip.samples) / speech.RATE
        self.ours += ours is not None
        self.theirs += theirs is not None
        self.same += (ours is None) == (theirs is None)
        self.same_step += ours == theirs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--minutes",
        type=float,
        default=MINUTES,
        help="how much sound in all, the word's own counted (default: %(default)s)",
    )
    parser.add_argument(
        "--model", default=words.NAMES[0], choices=words.NAMES, help="default: %(default)s"
    )
    vela.add_npu_option(parser, "the NPU to compile for (default: %(default)s)")


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Go through the sounds."""
    word = words.load(args.model)
    tallies: dict[tuple[bool, int | None], Tally] = {
        (spoken, ratio): Tally() for spoken in (True, False) for ratio in RATIOS
    }
    worst = 0.0
    done = 0.0
    with TemporaryDirectory() as folder, ui.progress("listening") as update:
        compiled = Path(folder) / "word.tflite"
        vela.compile_model(word.model, args.npu, compiled)
        for clip in clips(word):
            if done >= 60 * args.minutes:
                break
            raw, mine = ours(word, compiled, args.npu, clip.samples)
            other = theirs(word, clip.samples)
            reference = results.reference(word, features.from_samples(clip.samples)).raw
            tally = tallies[clip.spoken, clip.ratio]
            tally.inferences += len(reference)
            tally.equal_to_reference += sum(a == b for a, b in zip(raw, reference, strict=True))
            worst = max(worst, *(abs(a - b) for a, b in zip(mine, other, strict=True)))
            tally.add(clip, word.detected_at(mine), word.detected_at(other))
            done += len(clip.samples) / speech.RATE
            update(int(done), int(60 * args.minutes))
    return {
        "model": word.name,
        "npu": args.npu,
        "minutes": round(done / 60, 1),
        "largest_difference_of_probabilities": worst,
        "rows": [
            {"word_is_spoken": spoken, "signal_to_noise_db": ratio, **vars(tally)}
            for (spoken, ratio), tally in tallies.items()
        ],
    }


def clips(word: words.WakeWord) -> Iterator[Clip]:
    """All sounds, without an end: the word in each voice, then other sentences and noise alone."""
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
    """Speech at a random loudness with noise of a random kind; as samples."""
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
    """White noise, pink noise, or a hum of 50 Hz with its overtones in a little white noise."""
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


def ours(
    word: words.WakeWord, compiled: Path, npu: str, samples: Array
) -> tuple[list[int], list[float]]:
    """Raw outputs and probabilities of this project: its front end, the simulated NPU."""
    lines: list[str] = []
    with contextlib.closing(Simulation(compiled, npu)) as simulation:
        model = PcModel(simulation)
        listen.listen(  # type: ignore[no-untyped-call]
            audio.MicroFrontend(),
            audio.Ring(RING),
            [listen.Word(word.name, model, word.cutoff, word.window)],  # type: ignore[no-untyped-call]
            io.BytesIO(samples.astype("<i2").tobytes()),
            lines.append,
        )
        scale, zero_point = model.output_scale[0], model.output_zero_point[0]
    outputs = results.gather(lines, word.name).raw
    return outputs, [(raw - zero_point) * scale for raw in outputs]


def theirs(word: words.WakeWord, samples: Array) -> list[float]:
    """Probabilities by pymicro-wakeword."""
    try:
        from pymicro_wakeword import MicroWakeWord, MicroWakeWordFeatures, Model
    except ImportError:
        raise SetupError("the package pymicro-wakeword is not installed; run: make setup") from None
    model = MicroWakeWord.from_builtin(Model(word.name))
    model.sliding_window_size = 1
    model._probabilities = type(model._probabilities)(maxlen=1)  # each one, not their mean
    found = []
    for count, row in enumerate(MicroWakeWordFeatures().process_streaming(samples.tobytes()), 1):
        probability = model.process_streaming_prob(row)
        if count % model.stride == 0:
            found.append(probability or 0.0)
    return found


def render(data: dict[str, Any]) -> str:
    """Lay detections and false accepts out in a table."""
    lines = [
        f"{data['model']}: {data['minutes']} minutes of sound, this project on {data['npu']} and "
        "pymicro-wakeword",
        "",
        f"{'sound':<16}{'SNR':>7}{'clips':>7}{'minutes':>9}{'heard here':>12}{'there':>7}"
        f"{'same decision':>15}{'same step':>11}",
    ]
    for row in data["rows"]:
        ratio = row["signal_to_noise_db"]
        lines.append(
            f"{'the word' if row['word_is_spoken'] else 'other sounds':<16}"
            f"{'none' if ratio is None else f'{ratio} dB':>7}{row['clips']:>7}"
            f"{row['seconds'] / 60:>9.1f}{row['ours']:>12}{row['theirs']:>7}"
            f"{row['same']:>15}{row['same_step']:>11}"
        )
    total = sum(row["clips"] for row in data["rows"])
    same = sum(row["same"] for row in data["rows"])
    lines += [
        "",
        f"The same decision for {same} of {total} clips; the largest difference of two "
        f"probabilities is {data['largest_difference_of_probabilities']:.4f}.",
        f"{sum(row['equal_to_reference'] for row in data['rows']):,} of "
        f"{sum(row['inferences'] for row in data['rows']):,} outputs here equal those of "
        "pymicro-features and TensorFlow Lite's reference kernels, bit by bit.",
    ]
    return "\n".join(lines)
