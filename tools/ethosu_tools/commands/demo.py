# SPDX-License-Identifier: MIT
"""`ethosu demo`: a spoken wake word, recognised by an NPU, compared with the reference."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import oracle, paths, vela
from ..arrays import Array
from ..errors import MismatchError
from ..ui import Ui
from ..wakeword import features, plot, speech, stream, words

VOICE = "en-us"
# What no model may take for its wake word.
OTHER_PHRASE = "hello world"

EPILOG = """\
Without --say and --wav the model's own wake word is spoken, then a sentence that must not
trigger. All that the board gets is kept in build/demo, to go on with by hand.

    ethosu demo wakeword
    ethosu demo wakeword --model alexa --voice en-gb
    ethosu demo wakeword --say "okay, now what?" --on sim
    ethosu demo wakeword --wav recording.wav --on /dev/ttyACM0
"""


@dataclass(frozen=True)
class Sound:
    """One thing to listen to, and what the reference says about it."""

    title: str
    file: str
    samples: Array
    rows: Array
    expected: list[int]
    heard_at: float | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    parser.add_argument("demo", choices=["wakeword"], help="which demo")
    sound = parser.add_mutually_exclusive_group()
    sound.add_argument("--say", metavar="TEXT", help="what espeak-ng says")
    sound.add_argument("--wav", metavar="FILE", type=Path, help="a recording instead of espeak-ng")
    parser.add_argument(
        "--model",
        default=words.NAMES[0],
        choices=words.NAMES,
        help="wake word to listen for (default: %(default)s)",
    )
    parser.add_argument("--voice", default=VOICE, help="espeak-ng's voice (default: %(default)s)")
    parser.add_argument(
        "--on",
        default="qemu",
        metavar="WHERE",
        help="qemu (an emulated board), sim (the NPU model in this process) or the serial port "
        "of a board (default: %(default)s)",
    )
    parser.add_argument(
        "--npu",
        default="ethos-u55-128",
        choices=vela.NPUS,
        metavar="NPU",
        help="the NPU to compile for (default: %(default)s)",
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Run the demo."""
    word = words.load(args.model)
    sounds = _sounds(args, word, ui)
    folder = paths.root() / "build/demo"
    ui.note(f"compiling {word.name} for {args.npu}")
    vela.compile_model(word.model, args.npu, folder / f"{word.name}.tflite")
    stream.prepare(folder, {sound.file: sound.rows for sound in sounds})
    with stream.open_stage(args.on, args.npu, folder, ui) as stage:
        results = [_listen(stage, word, sound, ui) for sound in sounds]
    return {
        "model": word.name,
        "phrase": word.phrase,
        "cutoff": word.cutoff,
        "window": word.window,
        "npu": args.npu,
        "on": args.on,
        "folder": str(folder),
        "sounds": results,
        "compared": sum(len(result["raw"]) for result in results),
    }


def _sounds(args: argparse.Namespace, word: words.WakeWord, ui: Ui) -> list[Sound]:
    if args.wav:
        return [_sound(word, args.wav.name, speech.read_wav(args.wav))]
    texts = [word.phrase, OTHER_PHRASE] if args.say is None else [args.say]
    sounds = []
    for text in texts:
        ui.note(f"espeak-ng says {text!r} as {args.voice}")
        sounds.append(_sound(word, f'"{text}"', speech.say(text, args.voice)))
    return sounds


def _sound(word: words.WakeWord, title: str, samples: Array) -> Sound:
    rows = features.from_samples(samples)
    model = oracle.Oracle(word.model)
    steps = features.steps(rows, model.inputs[0])
    expected = oracle.run(word.model, [steps])["0"].ravel()
    probabilities = (expected * model.outputs[0].scale).tolist()
    heard = word.heard_at(probabilities)
    seconds_per_step = steps.shape[2] * features.SECONDS_PER_ROW
    return Sound(
        title=title,
        samples=samples,
        rows=rows,
        expected=expected.tolist(),
        heard_at=heard and heard * seconds_per_step,
    )
