# SPDX-License-Identifier: MIT
"""`ethosu demo`: recognise a spoken wake word on an emulated board."""

import argparse
import os
import re
import shutil
import sys
import wave
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .. import boards, paths, qemu, romfs, vela
from ..arrays import Array
from ..board import Board, QemuBoard
from ..deploy import deploy
from ..errors import BoardError, InputError
from ..sim import Simulation
from ..ui import Ui, visible
from ..wakeword import keywords, listen, speech
from ..wakeword.keywords import Result, WakeWord

VOICE = "en-us"
# A phrase that must not trigger any model.
OTHER_PHRASE = "hello world"

EPILOG = """\
The board receives samples, as from a microphone, and computes the features itself; every
probability is compared with the reference. Without --say or --wav, the demo speaks the first
model's wake word, then a phrase that must not trigger it. All files for the board are kept, so that
you can continue by hand.

    ethosu demo wakeword
    ethosu demo wakeword --model alexa hey_jarvis --voice en-gb
    ethosu demo wakeword --say "okay, now what?" --on sim
    ethosu demo wakeword --board BOARD
    ethosu demo wakeword --wav recording.wav --on /dev/ttyACM0
"""

SILENCE_TIMEOUT_S = 30
# Longer than any sound that fits the ROM of a board.
SOUND_TIMEOUT_S = 3600
IMPORTS = """\
import ethosu
from ethosu_audio import MicroFrontend, Ring
from listen import Word, listen"""
_ANSWER = re.compile(r"(\d+\.\d+) s +(\w+) +raw +(\d+) +mean +(\d\.\d+)")
_VERDICT = re.compile(r"(\w+) (?:detected at (\d+\.\d+) s|not detected)")

# Called with the number of inferences so far, of all words.
Progress = Callable[[int], None]
# Plays a sound to a board or to the simulator.
Listener = Callable[["Sound", Progress], dict[str, Result]]


@dataclass(frozen=True)
class Sound:
    """One thing to listen to."""

    title: str
    name: str
    samples: Array

    @property
    def file(self) -> str:
        """Its name in the board's ROM."""
        return f"{self.name}.pcm"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "demo",
        nargs="?",
        choices=["wakeword"],
        default="wakeword",
        help="demo to run (default: %(default)s)",
    )
    sound = parser.add_mutually_exclusive_group()
    sound.add_argument("--say", metavar="TEXT", help="text for espeak-ng to speak")
    sound.add_argument("--wav", metavar="FILE", type=Path, help="a recording instead of espeak-ng")
    parser.add_argument(
        "--model",
        nargs="+",
        default=[keywords.NAMES[0], "alexa"],
        choices=keywords.NAMES,
        help="wake words to listen for at the same time (default: okay_nabu alexa)",
    )
    parser.add_argument("--voice", default=VOICE, help="espeak-ng's voice (default: %(default)s)")
    parser.add_argument(
        "--on",
        default="qemu",
        metavar="WHERE",
        help="qemu (an emulated board), sim (only the simulated NPU, in this process) or the "
        "serial port of a board (default: %(default)s)",
    )
    boards.add_option(parser, "the board to emulate, and to compile for")
    vela.add_npu_option(parser, "NPU to compile for (default: the board's)", default=None)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        help="where to keep the files (default: build/demo of the source tree, else "
        "~/.cache/ethosu/demo)",
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Run the demo."""
    chosen = [keywords.load(name) for name in dict.fromkeys(args.model)]
    sounds = _sounds(args, chosen[0], ui)
    expected = [{word.name: keywords.reference(word, sound.samples) for word in chosen}
                for sound in sounds]  # fmt: skip
    folder = args.output or paths.work("demo")
    board = boards.chosen(args.board)
    npu = args.npu or board.npus[0]
    try:
        rom = _fill(folder, chosen, npu, sounds, ui)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}") from error
    ui.note(f"opening {args.on}")
    with _open(args.on, chosen, npu, rom, board.name) as listener:
        heard = [
            _listen(listener, sound, reference, ui)
            for sound, reference in zip(sounds, expected, strict=True)
        ]
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
                "file": sound.file,
                "seconds": len(sound.samples) / speech.RATE,
                "words": {
                    name: {**asdict(result), "verdict": _verdict(name, result)}
                    for name, result in results.items()
                },
            }
            for sound, results in zip(sounds, heard, strict=True)
        ],
        "equal_to_reference": sum(len(r.raw) for results in heard for r in results.values()),
        "try": command(chosen, sounds[0].file),
    }


def _listen(
    listener: Listener, sound: Sound, expected: Mapping[str, Result], ui: Ui
) -> dict[str, Result]:
    """Process a sound; raises MismatchError if an output differs from the reference."""
    total = sum(len(result.raw) for result in expected.values())
    with ui.progress(f"listening to {sound.title}") as update:
        results = listener(sound, lambda done: update(done, total))
    for name, result in results.items():
        keywords.compare(result, expected[name], f"{sound.title}, {name}")
    return results


def _sounds(args: argparse.Namespace, word: WakeWord, ui: Ui) -> list[Sound]:
    if args.wav:
        ui.note(f"reading {args.wav}")
        return [_sound(args.wav.name, args.wav.stem, speech.read_wav(args.wav))]
    sounds = []
    for text in [word.phrase, OTHER_PHRASE] if args.say is None else [args.say]:
        ui.note(f"espeak-ng says {text!r} as {args.voice}")
        sounds.append(_sound(f'"{text}"', text, speech.say(text, args.voice)))
    return sounds


def _sound(title: str, text: str, samples: Array) -> Sound:
    name = re.sub(r"\W+", "_", text.lower(), flags=re.ASCII).strip("_")[:24] or "sound"
    return Sound(title, name, samples)


def _fill(
    folder: Path, chosen: Sequence[WakeWord], npu: str, sounds: Sequence[Sound], ui: Ui
) -> Path:
    """Write recordings to `folder`, and all files for the board to its subfolder `rom`."""
    rom = folder / "rom"
    rom.mkdir(parents=True, exist_ok=True)
    for old in (*rom.glob("*.pcm"), *rom.glob("*.tflite")):
        old.unlink()
    for word in chosen:
        ui.note(f"Vela compiles {word.name} for {npu}")
        vela.compile_model(word.model, npu, rom / f"{word.name}.tflite")
    shutil.copy(listen.__file__, rom)
    for sound in sounds:
        pcm = sound.samples.astype("<i2").tobytes()
        (rom / sound.file).write_bytes(pcm)
        with wave.open(str(folder / f"{sound.name}.wav"), "wb") as file:
            file.setparams((1, 2, speech.RATE, 0, "NONE", ""))
            file.writeframes(pcm)
    return rom


@contextmanager
def _open(
    where: str, chosen: Sequence[WakeWord], npu: str, rom: Path, name: str
) -> Iterator[Listener]:
    """Open `where` (sim, qemu or a serial port), with the files of `rom` in its ROM."""
    if where == "sim":
        yield lambda sound, progress: _simulate(sound, chosen, npu, rom, progress)
        return
    if where == "qemu":
        board: Board = QemuBoard(qemu.Machine(npu, board=name, romfs=romfs.load_image(rom)))
    else:
        deploy(where, romfs.read_tree(rom))
        board = Board(where)
    with board:
        board.soft_reset()  # mounts what was deployed
        board.exec(IMPORTS)
        yield lambda sound, progress: _on_board(board, sound, chosen, progress)


def _simulate(
    sound: Sound, chosen: Sequence[WakeWord], npu: str, rom: Path, progress: Progress
) -> dict[str, Result]:
    """Run only the NPU, on the features of the reference."""
    rows, done, results = keywords.features(sound.samples), 0, {}
    for word in chosen:
        with Simulation(rom / f"{word.name}.tflite", npu) as simulation:
            raw = []
            for each in keywords.steps(rows, simulation.inputs[0]):
                raw.append(int(simulation.step([each])[0].item()))
                done += 1
                progress(done)
            results[word.name] = keywords.result(word, raw, simulation)
    return results


def _on_board(
    board: Board, sound: Sound, chosen: Sequence[WakeWord], progress: Progress
) -> dict[str, Result]:
    pending, lines = bytearray(), []

    def take(piece: bytes) -> None:
        pending.extend(piece)
        while (end := pending.find(b"\n")) >= 0:
            lines.append(visible(pending[:end].decode(errors="replace").strip()))
            del pending[: end + 1]
            progress(len(lines))

    board.exec(
        command(chosen, sound.file),
        timeout=SILENCE_TIMEOUT_S,
        overall=SOUND_TIMEOUT_S,
        on_output=take,
    )
    return {word.name: gather(lines, word.name) for word in chosen}


def command(chosen: Sequence[WakeWord], file: str) -> str:
    """The line that processes one sound when entered at a board's prompt, after IMPORTS."""
    listed = ", ".join(
        f'Word("{word.name}", ethosu.Model("/rom/{word.name}.tflite"), {word.cutoff}, '
        f"{word.window})"
        for word in chosen
    )
    return f'listen(MicroFrontend(), Ring(4096), [{listed}], open("/rom/{file}", "rb"))'


def gather(lines: Sequence[str], word: str) -> Result:
    """Extract the result of one word from the output of listen.py."""
    verdicts = filter(None, map(_VERDICT.fullmatch, lines))
    verdict = next((each for each in verdicts if each[1] == word), None)
    if verdict is None:
        last = f"its last line is {lines[-1]!r}" if lines else "it printed nothing"
        raise BoardError(f"the board ended without a result for {word}; {last}")
    answers = [each for each in map(_ANSWER.fullmatch, lines) if each and each[2] == word]
    return Result(
        times=[float(each[1]) for each in answers],
        raw=[int(each[3]) for each in answers],
        means=[float(each[4]) for each in answers],
        detected_at=float(verdict[2]) if verdict[2] else None,
    )


def _verdict(name: str, result: Result) -> str:
    if result.detected_at is None:
        return f"{name} not detected, the highest mean was {max(result.means, default=0.0):.2f}"
    return f"detected {name} at {result.detected_at:.1f} s"


def render(data: dict[str, Any]) -> str:
    """Report the detections and the comparison, and how to continue by hand."""
    return "\n".join(
        [
            *(
                f"{sound['title']}: {result['verdict']}"
                for sound in data["sounds"]
                for result in sound["words"].values()
            ),
            *_hint(data),
            "",
            f"All {data['equal_to_reference']} probabilities are bit-exact with pymicro-features "
            "and TFLite's reference kernels on this PC.",
            "",
            *_next_steps(data),
        ]
    )


def _hint(data: Mapping[str, Any]) -> list[str]:
    """Advice if a model did not detect its own wake word."""
    spoken, word = data["sounds"][0], data["words"][0]
    result = spoken["words"][word["name"]]
    if spoken["title"] != f'"{word["phrase"]}"' or result["detected_at"] is not None:
        return []
    return ["Models do not recognise every voice; try another one: --voice en-us+f3"]


def _next_steps(data: Mapping[str, Any]) -> list[str]:
    rom = _short(Path(data["rom"]))
    if data["on"] in ("qemu", "sim"):
        board = "" if data["board"] == boards.DEFAULT else f"--board {data['board']} "
        start = [
            f"    {_program('ethosu')} qemu {board}--npu {data['npu']} --romfs {rom}",
            "It prints its PORT; then",
        ]
        port = "PORT"
    else:
        start, port = [], data["on"]
    return [
        "To continue by hand, with the same files on a board:",
        *start,
        f"    {_program('mpremote')} connect {port} repl",
        *(f"    >>> {line}" for line in IMPORTS.splitlines()),
        f"    >>> {data['try']}",
        f"The sounds are .wav files in {_short(Path(data['rom']).parent)}.",
    ]


def _program(name: str) -> str:
    """How to call a program of this Python environment from this shell."""
    path = Path(sys.executable).with_name(name)
    return name if shutil.which(name) == str(path) else _short(path)


def _short(path: Path) -> str:
    """The shorter of the absolute and the relative path."""
    return min(os.path.relpath(path), str(path), key=len)
