# SPDX-License-Identifier: MIT
"""`ethosu demo`: recognise a spoken wake word on an emulated board."""

import argparse
import os
import re
import shutil
import sys
import wave
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from .. import boards, paths, vela
from ..arrays import Array
from ..errors import InputError
from ..files import write_whole
from ..ui import Ui
from ..wakeword import features, listen, picture, plot, results, speech, words
from ..wakeword.stage import IMPORTS, Source, Stage, command, open_stage

VOICE = "en-us"
# What no model may take for its wake word.
OTHER_PHRASE = "hello world"

EPILOG = """\
The board gets samples, as from a microphone, and makes its own features. Without --say and --wav
the first model's wake word is spoken, then a sentence that must not trigger, both from files in the
board's ROM; then the word again, sent over the console. All that the board gets is kept, to go on
with by hand.

    ethosu demo wakeword
    ethosu demo wakeword --model alexa hey_jarvis --voice en-gb
    ethosu demo wakeword --say "okay, now what?" --on sim
    ethosu demo wakeword --board BOARD
    ethosu demo wakeword --wav recording.wav --on /dev/ttyACM0
"""


# A processor of 160 MHz that takes one clock cycle for each instruction.
CLOCK_HZ = 160_000_000


@dataclass(frozen=True)
class Sound:
    """One thing to listen to: samples, and the rows that the PC's front end makes of them."""

    title: str
    name: str
    samples: Array
    rows: Array
    streamed: bool = False

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return len(self.samples) / speech.RATE

    @property
    def source(self) -> Source:
        """Where the board hears it."""
        return Source(f"{self.name}.pcm", self.samples.astype("<i2").tobytes(), self.streamed)


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
        nargs="+",
        default=[words.NAMES[0], "alexa"],
        choices=words.NAMES,
        help="wake words to listen for, all at a time (default: okay_nabu alexa)",
    )
    parser.add_argument(
        "--stream", action="store_true", help="send all sounds over the console, none to ROM"
    )
    parser.add_argument("--voice", default=VOICE, help="espeak-ng's voice (default: %(default)s)")
    parser.add_argument(
        "--on",
        default="qemu",
        metavar="WHERE",
        help="qemu (an emulated board), sim (the NPU simulator in this process) or the serial port "
        "of a board (default: %(default)s)",
    )
    boards.add_option(parser, "the board of qemu, and whose NPU it is")
    vela.add_npu_option(parser, "another NPU than the board's", default=None)
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
    chosen = [words.load(name) for name in dict.fromkeys(args.model)]
    sounds = _sounds(args, chosen[0], ui)
    expected = [
        {word.name: results.reference(word, sound.rows) for word in chosen} for sound in sounds
    ]
    folder = args.output or paths.work("demo")
    board = boards.chosen(args.board)
    npu = args.npu or board.npus[0]
    try:
        rom = _fill(folder, chosen, npu, sounds, ui)
    except OSError as error:
        raise InputError(f"{folder} cannot be filled: {error.strerror}") from error
    ui.note(f"opening {args.on}")
    found, counts = [], None
    with open_stage(args.on, npu, rom, board.name) as stage:
        for sound, reference in zip(sounds, expected, strict=True):
            lines = _listen(stage, chosen, sound, len(reference[chosen[0].name].raw), ui)
            found.append({word.name: results.gather(lines, word.name) for word in chosen})
            for name, result in found[-1].items():
                results.compare(result, reference[name], f"{sound.title}, {name}")
            counts = counts or results.counts(lines)
    if args.picture:
        _draw(args.picture, chosen[0], sounds, [each[chosen[0].name] for each in found])
    return {
        "words": [
            {key: value for key, value in asdict(word).items() if key != "model"} for word in chosen
        ],
        "board": board.name,
        "npu": npu,
        "on": args.on,
        "rom": str(rom),
        "sounds": [
            {
                "title": sound.title,
                "file": None if sound.streamed else sound.source.file,
                "seconds": sound.seconds,
                "words": {
                    name: {**asdict(result), "verdict": results.sentence(name, result)}
                    for name, result in each.items()
                },
            }
            for sound, each in zip(sounds, found, strict=True)
        ],
        "equal_to_reference": sum(len(one.raw) for each in found for one in each.values()),
        "instructions_per_10_ms": counts,
        "try": command(chosen, replace(sounds[0], streamed=False).source),
    }


def _sounds(args: argparse.Namespace, word: words.WakeWord, ui: Ui) -> list[Sound]:
    if args.wav:
        ui.note(f"reading {args.wav}")
        return [_sound(args.wav.name, args.wav.stem, speech.read_wav(args.wav), args.stream)]
    texts = [word.phrase, OTHER_PHRASE] if args.say is None else [args.say]
    sounds = []
    for text in texts:
        ui.note(f"espeak-ng says {text!r} as {args.voice}")
        sounds.append(_sound(f'"{text}"', text, speech.say(text, args.voice), args.stream))
    if args.say is None and not args.stream:
        title = f"{sounds[0].title} over the console"
        sounds.append(replace(sounds[0], title=title, streamed=True))
    return sounds


def _sound(title: str, text: str, samples: Array, streamed: bool) -> Sound:
    name = re.sub(r"\W+", "_", text.lower(), flags=re.ASCII).strip("_")[:24] or "sound"
    return Sound(title, name, samples, features.from_samples(samples), streamed)


def _fill(
    folder: Path, chosen: Sequence[words.WakeWord], npu: str, sounds: Sequence[Sound], ui: Ui
) -> Path:
    """Put into `folder` what one can hear, and into its `rom` all that the board gets."""
    rom = folder / "rom"
    rom.mkdir(parents=True, exist_ok=True)
    for old in (*rom.glob("*.pcm"), *rom.glob("*.tflite")):
        old.unlink()
    for word in chosen:
        ui.note(f"Vela compiles {word.name} for {npu}")
        compiled = folder / f"{word.name}_vela.tflite"
        vela.compile_model(word.model, npu, compiled)
        shutil.copy(compiled, rom / f"{word.name}.tflite")
    shutil.copy(listen.__file__, rom)
    for sound in sounds:
        if not sound.streamed:
            (rom / sound.source.file).write_bytes(sound.source.pcm)
        _write_wav(folder / f"{sound.name}.wav", sound.samples)
    return rom


def _write_wav(path: Path, samples: Array) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(speech.RATE)
        file.writeframes(samples.astype("<i2").tobytes())


def _listen(
    stage: Stage, chosen: Sequence[words.WakeWord], sound: Sound, total: int, ui: Ui
) -> list[str]:
    """Give one sound to the board, showing the first word's answers as they come."""
    lines: list[str] = []
    names = " and ".join(word.name for word in chosen)
    title = f"{names} listen{'s' if len(chosen) == 1 else ''} to {sound.title}"
    with plot.watch(ui.console, title, chosen[0], total, sound.seconds) as show:

        def say(line: str) -> None:
            lines.append(line)
            show(line)

        stage(chosen, sound.source, say)
    return lines


def _draw(
    path: Path, word: words.WakeWord, sounds: list[Sound], found: list[results.Result]
) -> None:
    panels = [
        (sound.title, sound.samples, result) for sound, result in zip(sounds, found, strict=True)
    ]
    write_whole(path, picture.draw(word, panels).encode())


def render(data: dict[str, Any]) -> str:
    """Say what was detected, what was compared, what it cost, and how to go on."""
    return "\n".join(
        [
            *(
                f"{sound['title']}: {result['verdict']}"
                for sound in data["sounds"]
                for result in sound["words"].values()
            ),
            *_hint(data),
            "",
            f"Each of the {data['equal_to_reference']} probabilities equals that of "
            "pymicro-features and TFLite's reference kernels on this PC, bit by bit.",
            *_cost(data["instructions_per_10_ms"]),
            "",
            *_how_to_go_on(data),
        ]
    )


def _cost(counts: Mapping[str, int] | None) -> list[str]:
    if counts is None:
        return []
    share = sum(counts.values()) * 100 / CLOCK_HZ
    return [
        f"10 ms of sound take {counts['front_end']:,} instructions of the front end and "
        f"{counts['models']:,} of the models with their script: {share:.1%} of a CPU at "
        f"{CLOCK_HZ / 1e6:.0f} MHz, at one instruction a cycle."
    ]


def _hint(data: Mapping[str, Any]) -> list[str]:
    """Advice when a model does not understand its own word."""
    spoken, word = data["sounds"][0], data["words"][0]
    result = spoken["words"][word["name"]]
    if spoken["title"] != f'"{word["phrase"]}"' or result["detected_at"] is not None:
        return []
    return ["Not every model understands every voice; try another: --voice en-us+f3"]


def _how_to_go_on(data: Mapping[str, Any]) -> list[str]:
    rom = _short(Path(data["rom"]))
    if data["on"] in ("qemu", "sim"):
        ethosu = _program("ethosu")
        board = "" if data["board"] == boards.DEFAULT else f"--board {data['board']} "
        start = [
            f"    {ethosu} qemu {board}--npu {data['npu']} --romfs {rom}",
            "It says its PORT; then",
        ]
        port = "PORT"
    else:
        start = []
        port = data["on"]
    return [
        "Go on by hand, with the same files on a board:",
        *start,
        f"    {_program('mpremote')} connect {port} repl",
        *(f"    >>> {line}" for line in IMPORTS.splitlines()),
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
