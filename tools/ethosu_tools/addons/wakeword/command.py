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

import numpy as np

from ethosu_tools.boards.setup import emulated

from ... import boards
from ...base import paths
from ...base.errors import BoardError, InputError
from ...base.files import write_whole
from ...base.ui import Ui, visible
from ...boards import targets
from ...compile import vela
from ...link.board import Board, QemuBoard
from ...link.deploy import deploy
from ...link.emulator import qemu
from ...model import romfs
from ...model.arrays import Array
from ...model.samples import speech, wake_words
from ...model.samples.wake_words import WakeWord
from ...sim.simulation import Simulation
from . import keywords, listen, picture
from .keywords import Result

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
# This limit is longer than any sound that fits the ROM of a board.
SOUND_TIMEOUT_S = 3600
IMPORTS = """\
from ethosu import Model
from ethosu_audio import MicroFrontend, Ring
from ethosu_files import Wav
from listen import Word, listen"""
_ANSWER = re.compile(r"(\d+\.\d+) s +(\w+) +raw +(\d+) +mean +(\d\.\d+)")
_VERDICT = re.compile(r"(\w+) (?:detected at (\d+\.\d+) s|not detected)")

# A function that is called with the number of inferences so far, of all words.
Progress = Callable[[int], None]
# A function that plays a sound to a board or the simulator; returns features and words' results.
Listener = Callable[["Sound", Progress], tuple[Array, dict[str, Result]]]


@dataclass(frozen=True)
class Sound:
    """A sound to recognise words in."""

    title: str
    name: str
    samples: Array
    rows: Array
    """The sound's features, computed by pymicro-features."""

    @property
    def file(self) -> str:
        """The file's name in the board's ROM."""
        return f"{self.name}.wav"


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
        default=[wake_words.NAMES[0], "alexa"],
        choices=wake_words.NAMES,
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
    targets.add_npu_option(parser, "NPU to compile for (default: the board's)", default=None)
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
    chosen = [wake_words.load(name) for name in dict.fromkeys(args.model)]
    sounds = _sounds(args, chosen[0], ui)
    expected = [_expected(chosen, sound.rows) for sound in sounds]
    folder = args.output or paths.work("demo")
    board = boards.chosen(args.board)
    npu = args.npu or board.npus[0]
    try:
        rom = _fill(folder, chosen, npu, sounds, ui)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}") from error
    ui.note(f"opening {args.on}")
    with _open(args.on, chosen, npu, rom, board.name) as listener:
        results = [
            _listen(listener, sound, chosen, reference, ui)
            for sound, reference in zip(sounds, expected, strict=True)
        ]
    heard, differing = zip(*results, strict=True)
    drawn = [(each.title, each.samples, found) for each, found in zip(sounds, heard, strict=True)]
    shown = picture.draw(npu, chosen, drawn)
    write_whole(folder / "heard.svg", shown.encode())
    return {
        "words": [
            {key: value for key, value in asdict(word).items() if key != "model"} for word in chosen
        ],
        "board": board.name,
        "npu": npu,
        "on": args.on,
        "picture": str(folder / "heard.svg"),
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
        "features_by_c_library": sum(differing),
        "try": command(chosen, sounds[0].file),
    }


def _expected(chosen: Sequence[WakeWord], rows: Array) -> dict[str, Result]:
    return {word.name: keywords.reference(word, rows) for word in chosen}


def _listen(
    listener: Listener,
    sound: Sound,
    chosen: Sequence[WakeWord],
    expected: Mapping[str, Result],
    ui: Ui,
) -> tuple[dict[str, Result], int]:
    """Return the results for a sound, and how many features differ by this PC's C library.

    Raises MismatchError if another feature or an output differs from the reference, which gets the
    features that the board computed.
    """
    total = sum(len(result.raw) for result in expected.values())
    with ui.progress(f"listening to {sound.title}") as update:
        rows, results = listener(sound, lambda done: update(done, total))
    differing = keywords.compare_features(rows, sound.rows, sound.title)
    if differing:
        expected = _expected(chosen, rows)
    for name, result in results.items():
        keywords.compare(result, expected[name], f"{sound.title}, {name}")
    return results, differing


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
    return Sound(title, name, samples, keywords.features(samples))


def _fill(
    folder: Path, chosen: Sequence[WakeWord], npu: str, sounds: Sequence[Sound], ui: Ui
) -> Path:
    """Write all files for the board, including the recordings, to the subfolder `rom`."""
    rom = folder / "rom"
    rom.mkdir(parents=True, exist_ok=True)
    for old in (*rom.glob("*.wav"), *rom.glob("*.tflite")):
        old.unlink()
    for word in chosen:
        ui.note(f"Vela compiles {word.name} for {npu}")
        vela.compile_model(word.model, npu, rom / f"{word.name}.tflite")
    shutil.copy(listen.__file__, rom)
    for sound in sounds:
        with wave.open(str(rom / sound.file), "wb") as file:
            file.setparams((1, 2, speech.RATE, 0, "NONE", ""))
            file.writeframes(sound.samples.astype("<i2").tobytes())
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
        board: Board = QemuBoard(qemu.Machine(emulated(name, npu), romfs=romfs.load_image(rom)))
    else:
        deploy(where, romfs.read_tree(rom))
        board = Board(where)
    with board:
        board.soft_reset()  # mounts what was deployed
        board.exec(IMPORTS)
        yield lambda sound, progress: _on_board(board, sound, chosen, progress)


def _simulate(
    sound: Sound, chosen: Sequence[WakeWord], npu: str, rom: Path, progress: Progress
) -> tuple[Array, dict[str, Result]]:
    """Run only the NPU, on the features of pymicro-features."""
    done, results = 0, {}
    for word in chosen:
        with Simulation(rom / f"{word.name}.tflite", npu) as simulation:
            raw = []
            for each in keywords.steps(sound.rows, simulation.inputs[0]):
                raw.append(int(simulation.step([each])[0].item()))
                done += 1
                progress(done)
            results[word.name] = keywords.result(word, raw, simulation)
    return sound.rows, results


def _on_board(
    board: Board, sound: Sound, chosen: Sequence[WakeWord], progress: Progress
) -> tuple[Array, dict[str, Result]]:
    pending, lines = bytearray(), []

    def take(piece: bytes) -> None:
        pending.extend(piece)
        while (end := pending.find(b"\n")) >= 0:
            lines.append(visible(pending[:end].decode(errors="replace").strip()))
            del pending[: end + 1]
            progress(len(lines))

    board.exec(
        "words = None\n" + command(chosen, sound.file),  # frees the last sound's words first
        timeout=SILENCE_TIMEOUT_S,
        overall=SOUND_TIMEOUT_S,
        on_output=take,
    )
    shown = f'show(MicroFrontend(), Ring(4096), Wav("/rom/{sound.file}"))'
    board.exec("from listen import show")
    rows = board.exec(shown, timeout=SILENCE_TIMEOUT_S, overall=SOUND_TIMEOUT_S).split()
    return _features(rows), {word.name: gather(lines, word.name) for word in chosen}


def _features(lines: Sequence[str]) -> Array:
    """Extract the features from a board's output."""
    try:
        numbers = np.frombuffer(bytes.fromhex("".join(lines)), ">u2").reshape(-1, wake_words.BANDS)
    except ValueError as error:
        raise BoardError(f"the board showed no rows of features: {error}") from error
    return (numbers * keywords.STEP).astype(np.float32)


def command(chosen: Sequence[WakeWord], file: str) -> str:
    """Return the lines to enter at a board's prompt, after IMPORTS, to process one sound."""
    words = [
        f'[Word("{word.name}", Model("/rom/{word.name}.tflite"), {word.cutoff}, {word.window})]'
        for word in chosen
    ]
    lines = [f"words {'+=' if at else '='} {word}" for at, word in enumerate(words)]
    return "\n".join([*lines, f'listen(MicroFrontend(), Ring(4096), words, Wav("/rom/{file}"))'])


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
    lines = [
        f"{sound['title']}: {result['verdict']}"
        for sound in data["sounds"]
        for result in sound["words"].values()
    ]
    lines += [*_hint(data), "", *_comparison(data)]
    lines += [f"Picture: {_short(Path(data['picture']))}", "", *_next_steps(data)]
    return "\n".join(lines)


def _comparison(data: Mapping[str, Any]) -> Iterator[str]:
    start = f"All {data['equal_to_reference']} probabilities are bit-exact with"
    if not data["features_by_c_library"]:
        yield f"{start} pymicro-features and TFLite's reference kernels on this PC."
        return
    yield f"{start} TFLite's reference kernels on this PC for the board's features."
    yield (
        f"Features that pymicro-features has otherwise: {data['features_by_c_library']}. The C "
        "library of this PC rounds log1pf() in another way than those that trained the models."
    )


def _hint(data: Mapping[str, Any]) -> list[str]:
    """Return advice if a model did not detect its own wake word."""
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
        *(f"    >>> {line}" for line in (*IMPORTS.splitlines(), *data["try"].splitlines())),
    ]


def _program(name: str) -> str:
    """Return how to call a program of this Python environment from this shell."""
    path = Path(sys.executable).with_name(name)
    in_make = "MAKELEVEL" in os.environ  # its PATH is not that of the shell
    return name if shutil.which(name) == str(path) and not in_make else _short(path)


def _short(path: Path) -> str:
    """Return the shorter of the absolute and the relative path."""
    return min(os.path.relpath(path), str(path), key=len)
