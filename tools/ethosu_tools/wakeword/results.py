# SPDX-License-Identifier: MIT
"""What listen.py says and what the reference says: read, and compared bit by bit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .. import oracle
from ..arrays import Array
from ..errors import BoardError, MismatchError
from . import features
from .words import WakeWord

ANSWER = re.compile(r"(\d+\.\d+) s +(\w+) +raw +(\d+) +mean +(\d\.\d+)")
VERDICT = re.compile(r"(\w+) (?:detected at (\d+\.\d+) s|not detected)")
COUNTS = re.compile(r"instructions per 10 ms: (\d+) front end, (\d+) models")


@dataclass(frozen=True)
class Answer:
    """One inference: seconds of sound until then, raw output, mean of the last few outputs."""

    seconds: float
    word: str
    raw: int
    mean: float


@dataclass(frozen=True)
class Result:
    """Second, raw output and mean of each inference, and the second of the detection."""

    times: list[float]
    raw: list[int]
    means: list[float]
    detected_at: float | None


def parse(line: str) -> Answer | None:
    """Read a line of listen.py; None for one that tells of no inference."""
    found = ANSWER.fullmatch(line)
    if found is None:
        return None
    return Answer(float(found[1]), found[2], int(found[3]), float(found[4]))


def counts(lines: Sequence[str]) -> dict[str, int] | None:
    """Instructions for 10 ms of sound, where the board could count them."""
    found = COUNTS.fullmatch(lines[-1]) if lines else None
    return {"front_end": int(found[1]), "models": int(found[2])} if found else None


def gather(lines: Sequence[str], word: str) -> Result:
    """The result of one word in a whole run of listen.py."""
    verdicts = [verdict for line in lines if (verdict := VERDICT.fullmatch(line))]
    verdict = next((verdict for verdict in verdicts if verdict[1] == word), None)
    if verdict is None:
        last = repr(lines[-1]) if lines else "nothing"
        raise BoardError(f"the board ended without a verdict; the last it said was {last}")
    answers = [answer for line in lines if (answer := parse(line)) and answer.word == word]
    return Result(
        times=[answer.seconds for answer in answers],
        raw=[answer.raw for answer in answers],
        means=[answer.mean for answer in answers],
        detected_at=float(verdict[2]) if verdict[2] else None,
    )


def reference(word: WakeWord, rows: Array) -> Result:
    """What TFLite's reference kernels and the word's rule make of rows of features."""
    model = oracle.Oracle(word.model)
    steps = features.steps(rows, model.inputs[0])
    raw = oracle.run(word.model, [steps])["0"].astype(int).ravel()
    output = model.outputs[0]
    probabilities = ((raw - output.zero_point) * output.scale).tolist()
    count = word.detected_at(probabilities)
    seconds_per_step = steps.shape[2] * features.SECONDS_PER_ROW
    return Result(
        times=[round((step + 1) * seconds_per_step, 2) for step in range(len(raw))],
        raw=raw.tolist(),
        means=word.means(probabilities),
        detected_at=None if count is None else round(count * seconds_per_step, 2),
    )


def sentence(name: str, result: Result) -> str:
    """The verdict for a person."""
    if result.detected_at is None:
        return f"{name} not detected, the highest mean was {max(result.means, default=0.0):.2f}"
    return f"detected {name} at {result.detected_at:.1f} s"


def compare(found: Result, expected: Result, what: str) -> None:
    """Raise MismatchError, naming the first difference, unless both are equal."""
    if len(found.raw) != len(expected.raw):
        raise MismatchError(
            f"{what}: the board answered {len(found.raw)} times, "
            f"TFLite's reference kernels {len(expected.raw)} times"
        )
    pairs = enumerate(zip(found.raw, expected.raw, strict=True), start=1)
    wrong = [(count, a, b) for count, (a, b) in pairs if a != b]
    if wrong:
        count, a, b = wrong[0]
        raise MismatchError(
            f"{what}: {len(wrong)} of {len(found.raw)} answers differ from TFLite's reference "
            f"kernels, first the one of inference {count}: {a} instead of {b}"
        )
    if found.detected_at != expected.detected_at:
        raise MismatchError(
            f"{what}: all answers equal the reference, but the board detected the word "
            f"{_when(found)} instead of {_when(expected)}"
        )


def _when(result: Result) -> str:
    return "never" if result.detected_at is None else f"at {result.detected_at} s"
