# SPDX-License-Identifier: MIT
"""`ethosu demo`: recognise a spoken wake word on an emulated board."""

import argparse
import os
import re
import shutil
import sys
import wave
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .. import paths, vela
from ..arrays import Array
from ..errors import InputError
from ..files import write_whole
from ..ui import Ui
from ..wakeword import features, listen, picture, plot, results, speech, words
from ..wakeword.stage import Stage, command, open_stage

VOICE = "en-us"
# What no model may take for its wake word.
OTHER_PHRASE = "hello world"

EPILOG = """\
Without --say and --wav the model's own wake word is spoken, then a sentence that must not
trigger. All that the board gets is kept, to go on with by hand.

    ethosu demo wakeword
    ethosu demo wakeword --model alexa --voice en-gb
    ethosu demo wakeword --say "okay, now what?" --on sim
    ethosu demo wakeword --wav recording.wav --on /dev/ttyACM0
"""


@dataclass(frozen=True)
class Sound:
    """One thing to listen to: samples, and the rows of features made of them."""

    title: str
    name: str
    samples: Array
    rows: Array

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return len(self.samples) / speech.RATE

    @property
    def file(self) -> str:
        """The name of the file of rows, on the board and here."""
        return f"{self.name}.f32"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    parser.add_argument(
        "demo",
        nargs="?",
        choices=["wakeword"],
        default="wakeword",
        help="which demo (default: %(default)s)",
    )
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
        help="qemu (an emulated board), sim (the NPU simulator in this process) or the serial port "
        "of a board (default: %(default)s)",
    )
    vela.add_npu_option(parser, "the NPU to compile for (default: %(default)s)")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        help="where to keep the files (default: build/demo of the source tree, else "
        "~/.cache/ethosu/demo)",
    )
    parser.add_argument(
        "--picture", type=Path, metavar="FILE.svg", help="draw sound and probability into FILE.svg"
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Run the demo."""
    word = words.load(args.model)
    sounds = _sounds(args, word, ui)
    expected = [results.reference(word, sound.rows) for sound in sounds]
    ui.note(f"Vela compiles {word.name} for {args.npu}")
    folder = args.output or paths.work("demo")
    try:
        rom = _fill(folder, word, args.npu, sounds)
    except OSError as error:
        raise InputError(f"{folder} cannot be filled: {error.strerror}") from error
    ui.note(f"opening {args.on}")
    found = []
    with open_stage(args.on, args.npu, rom) as stage:
        for sound, reference in zip(sounds, expected, strict=True):
            found.append(_listen(stage, word, sound, len(reference.raw), ui))
            results.compare(found[-1], reference, sound.title)
    if args.picture:
        _draw(args.picture, word, sounds, found)
    return {
        "model": word.name,
        "phrase": word.phrase,
        "cutoff": word.cutoff,
        "window": word.window,
        "npu": args.npu,
        "on": args.on,
        "rom": str(rom),
        "sounds": [
            {
                "title": sound.title,
                "file": sound.file,
                "seconds": sound.seconds,
                **asdict(result),
                "verdict": results.sentence(word.name, result),
            }
            for sound, result in zip(sounds, found, strict=True)
        ],
        "equal_to_reference": sum(len(result.raw) for result in found),
        "try": command(word, sounds[0].file),
    }


def _sounds(args: argparse.Namespace, word: words.WakeWord, ui: Ui) -> list[Sound]:
    if args.wav:
        ui.note(f"reading {args.wav}")
        return [_sound(args.wav.name, args.wav.stem, speech.read_wav(args.wav))]
    texts = [word.phrase, OTHER_PHRASE] if args.say is None else [args.say]
    sounds = []
    for text in texts:
        ui.note(f"espeak-ng says {text!r} as {args.voice}")
        sounds.append(_sound(f'"{text}"', text, speech.say(text, args.voice)))
    return sounds


def _sound(title: str, text: str, samples: Array) -> Sound:
    name = re.sub(r"\W+", "_", text.lower(), flags=re.ASCII).strip("_")[:24] or "sound"
    return Sound(title, name, samples, features.from_samples(samples))


def _fill(folder: Path, word: words.WakeWord, npu: str, sounds: list[Sound]) -> Path:
    """Put into `folder` what one can hear, and into its `rom` all that the board gets."""
    rom = folder / "rom"
    rom.mkdir(parents=True, exist_ok=True)
    for old in (*rom.glob("*.f32"), *rom.glob("*.tflite")):
        old.unlink()
    compiled = folder / f"{word.name}_vela.tflite"
    vela.compile_model(word.model, npu, compiled)
    shutil.copy(compiled, rom / f"{word.name}.tflite")
    shutil.copy(listen.__file__, rom)
    for sound in sounds:
        (rom / sound.file).write_bytes(sound.rows.tobytes())
        _write_wav(folder / f"{sound.name}.wav", sound.samples)
    return rom


def _write_wav(path: Path, samples: Array) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(speech.RATE)
        file.writeframes(samples.astype("<i2").tobytes())


def _listen(stage: Stage, word: words.WakeWord, sound: Sound, total: int, ui: Ui) -> results.Result:
    """Stream one sound, showing the answers as they come."""
    lines: list[str] = []
    title = f"{word.name} listens to {sound.title}"
    with plot.watch(ui.console, title, word, total, sound.seconds) as show:

        def say(line: str) -> None:
            lines.append(line)
            show(line)

        stage(word, sound.file, say)
    return results.gather(lines)


def _draw(
    path: Path, word: words.WakeWord, sounds: list[Sound], found: list[results.Result]
) -> None:
    panels = [
        (sound.title, sound.samples, result) for sound, result in zip(sounds, found, strict=True)
    ]
    write_whole(path, picture.draw(word, panels).encode())


def render(data: dict[str, Any]) -> str:
    """Say what was detected, what was compared, and how to go on."""
    return "\n".join(
        [
            *(f"{sound['title']}: {sound['verdict']}" for sound in data["sounds"]),
            *_hint(data),
            "",
            f"Each of the {data['equal_to_reference']} probabilities equals that of TFLite's "
            "reference kernels on this PC, bit by bit.",
            "",
            *_how_to_go_on(data),
        ]
    )


def _hint(data: Mapping[str, Any]) -> list[str]:
    """Advice when a model does not understand its own word."""
    titles = [sound["title"] for sound in data["sounds"] if sound["detected_at"] is None]
    if f'"{data["phrase"]}"' not in titles:
        return []
    return ["Not every model understands every voice; try another: --voice en-us+f3"]


def _how_to_go_on(data: Mapping[str, Any]) -> list[str]:
    rom = _short(Path(data["rom"]))
    if data["on"] in ("qemu", "sim"):
        ethosu = _program("ethosu")
        start = [f"    {ethosu} qemu --npu {data['npu']} --romfs {rom}", "It says its PORT; then"]
        port = "PORT"
    else:
        start = []
        port = data["on"]
    return [
        "Go on by hand, with the same files on a board:",
        *start,
        f"    {_program('mpremote')} connect {port} repl",
        "    >>> import ethosu",
        "    >>> from listen import listen",
        f"    >>> {data['try']}",
        f"What was heard lies in {_short(Path(data['rom']).parent)}, as .wav files.",
    ]


def _program(name: str) -> str:
    """How to call a program of this Python environment from this shell."""
    path = Path(sys.executable).with_name(name)
    return name if shutil.which(name) == str(path) else _short(path)


def _short(path: Path) -> str:
    """The shorter way to write a path here."""
    return min(os.path.relpath(path), str(path), key=len)
