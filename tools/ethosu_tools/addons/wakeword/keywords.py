# SPDX-License-Identifier: MIT
"""The reference result of a wake word for a sound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...base.errors import InputError, MismatchError
from ...model.arrays import Array, quantise
from ...model.samples.speech import RATE
from ...model.samples.wake_words import BANDS, WakeWord, bands, package
from ...model.tflite import Tensor
from ...sim import oracle
from ...sim.oracle import Oracle
from ...sim.simulation import Simulation

SECONDS_PER_ROW = 0.01
STEP = 0.0390625  # features are multiples of it


@dataclass(frozen=True)
class Result:
    """Time in seconds, raw output and mean of each inference, and the time of the detection."""

    times: list[float]
    raw: list[int]
    means: list[float]
    detected_at: float | None


def features(samples: Array) -> Array:
    """Compute the rows of 40 values per 10 ms that pymicro-wakeword would feed to its models."""
    package()
    from pymicro_wakeword import MicroWakeWordFeatures

    rows = [
        row.reshape(BANDS) for row in MicroWakeWordFeatures().process_streaming(samples.tobytes())
    ]
    if not rows:
        raise InputError(f"{len(samples) / RATE:.3f} s of sound is too short for the demo")
    return np.array(rows, np.float32)


def compare_features(found: Array, expected: Array, what: str) -> int:
    """Count the features that differ from pymicro-features because of this PC's C library.

    Raises MismatchError if other features differ.
    """
    if found.shape != expected.shape:
        raise MismatchError(
            f"{what}: {len(found)} rows of features, but pymicro-features has {len(expected)}"
        )
    wrong = np.argwhere(found != expected)
    others = [(row, band) for row, band in wrong.tolist() if band in bands()]
    if others:
        row, band = others[0]
        raise MismatchError(
            f"{what}: {len(others)} of {found.size} features differ from pymicro-features, first "
            f"at {row * SECONDS_PER_ROW:.2f} s in band {band}: {found[row, band] / STEP:.0f} "
            f"instead of {expected[row, band] / STEP:.0f}"
        )
    return len(wrong)


def steps(rows: Array, tensor: Tensor) -> Array:
    """Quantise groups of rows to the model's raw inputs, one per inference."""
    size = tensor.shape[1]
    count = len(rows) // size
    if count == 0:
        raise InputError(
            f"the sound has {len(rows)} rows of features, but an inference needs {size}"
        )
    return quantise("rows", rows[: count * size], tensor).reshape(count, *tensor.shape)


def result(word: WakeWord, raw: Sequence[int], model: Oracle | Simulation) -> Result:
    """Apply the word's rule to a model's raw outputs."""
    output = model.outputs[0]
    seconds = model.inputs[0].shape[1] * SECONDS_PER_ROW  # per inference
    probabilities = [(each - output.zero_point) * output.scale for each in raw]
    count = word.detected_at(probabilities)
    return Result(
        times=[round((step + 1) * seconds, 2) for step in range(len(raw))],
        raw=list(raw),
        means=word.means(probabilities),
        detected_at=None if count is None else round(count * seconds, 2),
    )


def reference(word: WakeWord, rows: Array) -> Result:
    """Compute the result for rows of features with TFLite's reference kernels."""
    model = Oracle(word.model)
    inputs = steps(rows, model.inputs[0])
    raw = oracle.run(word.model, [inputs])["0"].astype(int).ravel()
    return result(word, raw.tolist(), model)


def compare(found: Result, expected: Result, what: str) -> None:
    """Raise MismatchError, naming the first difference, unless both are equal."""
    if len(found.raw) != len(expected.raw):
        raise MismatchError(
            f"{what}: {len(found.raw)} outputs, but TFLite's reference kernels have "
            f"{len(expected.raw)}"
        )
    pairs = enumerate(zip(found.raw, expected.raw, strict=True), start=1)
    wrong = [(count, a, b) for count, (a, b) in pairs if a != b]
    if wrong:
        count, a, b = wrong[0]
        raise MismatchError(
            f"{what}: {len(wrong)} of {len(found.raw)} outputs differ from TFLite's reference "
            f"kernels, first at inference {count}: {a} instead of {b}"
        )
    if found.detected_at != expected.detected_at:
        raise MismatchError(
            f"{what}: all outputs equal the reference, but the word was detected "
            f"{_when(found)} instead of {_when(expected)}"
        )


def _when(result: Result) -> str:
    return "never" if result.detected_at is None else f"at {result.detected_at} s"
