# SPDX-License-Identifier: MIT
"""The wake words of the package pymicro-wakeword: trained models, and the rule of detection."""

from __future__ import annotations

import ctypes
import functools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ...base import other_python
from ...base.errors import InputError, SetupError

NAMES = ("okay_nabu", "hey_jarvis", "alexa", "hey_mycroft")
BANDS = 40
# Bands with a weight close to a half, see AT_A_HALF of modules/ethosu/audio/make_tables.py.
_AT_A_HALF = (32, 33, 38, 39)


@dataclass(frozen=True)
class WakeWord:
    """A model, and the rule: detected if the mean of `window` outputs exceeds `cutoff`."""

    name: str
    phrase: str
    model: Path
    cutoff: float
    window: int

    def means(self, probabilities: Sequence[float]) -> list[float]:
        """For each inference the mean of the last `window` probabilities; 0 for the first ones."""
        ends = range(1, len(probabilities) + 1)
        return [
            sum(probabilities[end - self.window : end]) / self.window if end >= self.window else 0.0
            for end in ends
        ]

    def detected_at(self, probabilities: Sequence[float]) -> int | None:
        """The number of inferences after which the word counts as detected, or None."""
        means = enumerate(self.means(probabilities), start=1)
        return next((count for count, mean in means if mean > self.cutoff), None)


def package() -> Path:
    """Folder of pymicro-wakeword; SetupError if it is not installed."""
    found = find_spec("pymicro_wakeword")
    if found is None or found.origin is None:
        raise SetupError(
            f"the package pymicro-wakeword is not installed; run: {other_python.install('demo')}"
        )
    return Path(found.origin).parent


def load(name: str) -> WakeWord:
    """The wake word `name`, from the installed package."""
    if name not in NAMES:
        raise InputError(f"unknown wake word {name!r}; expected one of {', '.join(NAMES)}")
    folder = package() / "models"
    manifest = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return WakeWord(
        name=name,
        phrase=manifest["wake_word"].lower(),
        model=folder / manifest["model"],
        cutoff=manifest["micro"]["probability_cutoff"],
        window=manifest["micro"]["sliding_window_size"],
    )


@functools.cache
def bands() -> tuple[int, ...]:
    """The bands whose features do not depend on this PC's C library.

    Since glibc 2.41 log1pf() is correctly rounded. Older versions and newlib are not, which affects
    two of 236 weights: the package gives other features in four bands, the board does not.
    """
    log1pf = ctypes.CDLL(None).log1pf
    log1pf.restype, log1pf.argtypes = ctypes.c_float, [ctypes.c_float]
    frequencies = np.arange(5, 241, dtype=np.float32) * np.float32(31.25) / np.float32(700)
    exact = all(log1pf(one) == np.float32(math.log1p(one)) for one in frequencies.tolist())
    return tuple(band for band in range(BANDS) if not exact or band not in _AT_A_HALF)
