# SPDX-License-Identifier: MIT
"""The wake words of the package pymicro-wakeword, and when each counts as heard."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from .. import other_python
from ..errors import InputError, SetupError

NAMES = ("okay_nabu", "hey_jarvis", "alexa", "hey_mycroft")


@dataclass(frozen=True)
class WakeWord:
    """A model, and the rule: heard when the mean of `window` outputs is above `cutoff`."""

    name: str
    phrase: str
    model: Path
    cutoff: float
    window: int

    def means(self, probabilities: Sequence[float]) -> list[float]:
        """For each inference the mean of the last `window`; 0 until there are so many."""
        ends = range(1, len(probabilities) + 1)
        return [
            sum(probabilities[end - self.window : end]) / self.window if end >= self.window else 0.0
            for end in ends
        ]

    def detected_at(self, probabilities: Sequence[float]) -> int | None:
        """After how many inferences the word counts as heard; None: it does not."""
        means = enumerate(self.means(probabilities), start=1)
        return next((count for count, mean in means if mean > self.cutoff), None)


def load(name: str) -> WakeWord:
    """The wake word `name`, from the installed package."""
    if name not in NAMES:
        raise InputError(f"there is no wake word {name!r}; known are {', '.join(NAMES)}")
    package = find_spec("pymicro_wakeword")
    if package is None or package.origin is None:
        raise SetupError(
            f"the package pymicro-wakeword is not installed; run: {other_python.install('demo')}"
        )
    folder = Path(package.origin).parent / "models"
    manifest = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return WakeWord(
        name=name,
        phrase=manifest["wake_word"].lower(),
        model=folder / manifest["model"],
        cutoff=manifest["micro"]["probability_cutoff"],
        window=manifest["micro"]["sliding_window_size"],
    )
