# SPDX-License-Identifier: MIT
"""Compares which sounds are detected as the wake word here and by pymicro-wakeword.

Each sound goes through this project's front end and the compiled model on the simulated NPU, and
through pymicro-wakeword. The front end's features are compared with pymicro-features, and go
through TensorFlow Lite's reference kernels.
pymicro-wakeword runs optimised kernels, which round differently from the reference kernels, so its
probabilities differ slightly; those of the reference may not. `pytest -s` prints the table.
"""

from collections import Counter, defaultdict

import numpy as np
import pytest
from ethosu_tools.addons.wakeword import keywords
from ethosu_tools.model.samples import speech, wake_words
from ethosu_tools.sim.simulation import Simulation
from pymicro_wakeword import MicroWakeWord, MicroWakeWordFeatures, Model

from host_tests.modules.ethosu.audio.conftest import run  # noqa: F401

from . import sounds


def theirs(word, samples):
    """Return pymicro-wakeword's probabilities."""
    model = MicroWakeWord.from_builtin(Model(word.name))
    model.sliding_window_size = 1
    model._probabilities = type(model._probabilities)(maxlen=1)  # each probability, not a mean
    probabilities = []
    for count, row in enumerate(MicroWakeWordFeatures().process_streaming(samples.tobytes()), 1):
        probability = model.process_streaming_prob(row)
        if count % model.stride == 0:
            probabilities.append(probability or 0.0)
    return probabilities


@pytest.fixture
def tally(run, compiled):  # noqa: F811
    """Count the results for this many minutes of sounds, by presence of the word and noise."""
    word = wake_words.load("okay_nabu")

    def count(minutes):
        rows, seconds, worst = defaultdict(Counter), 0.0, 0.0
        for clip in sounds.clips(word):
            if seconds >= 60 * minutes:
                return rows, worst
            data = np.frombuffer(run(clip.samples.tobytes(), "micro", 160), np.uint16)
            features = (data.reshape(-1, 40) * keywords.STEP).astype(np.float32)
            keywords.compare_features(features, keywords.features(clip.samples), "a clip")
            with Simulation(compiled(word.model)) as simulation:
                inputs = keywords.steps(features, simulation.inputs[0])
                raw = [int(simulation.step([each])[0].item()) for each in inputs]
                output = simulation.outputs[0]
            assert raw == keywords.reference(word, features).raw, "the reference, bit by bit"
            mine = [(each - output.zero_point) * output.scale for each in raw]
            other = theirs(word, clip.samples)
            worst = max(worst, *(abs(a - b) for a, b in zip(mine, other, strict=True)))
            here, there = word.detected_at(mine), word.detected_at(other)
            rows[clip.spoken, clip.ratio].update(
                clips=1,
                seconds=len(clip.samples) / speech.RATE,
                here=here is not None,
                there=there is not None,
                same=(here is None) == (there is None),
            )
            seconds += len(clip.samples) / speech.RATE

    return count


def check(rows, worst):
    for (spoken, ratio), row in rows.items():
        print(f"\n{'the word' if spoken else 'other sounds'}, SNR {ratio} dB: {dict(row)}", end="")
    total = sum(rows.values(), Counter())
    assert total["same"] >= 0.99 * total["clips"] - 1 and worst < 0.1
    return {
        spoken: sum(row["here"] for (word, _), row in rows.items() if word is spoken)
        for spoken in (True, False)
    }


def test_some_sounds_are_detected_as_by_pymicro_wakeword(tally):
    rows, worst = tally(0.5)
    check(rows, worst)
    assert rows[True, None]["here"] == rows[True, None]["clips"] > 0


@pytest.mark.slow
def test_half_an_hour_is_detected_as_by_pymicro_wakeword(tally):
    heard = check(*tally(30))
    assert heard[True] > 80 and heard[False] <= 2


def test_the_same_sounds_come_each_time():
    word = wake_words.load("okay_nabu")
    first, again = sounds.clips(word), sounds.clips(word)
    for _ in range(7):
        one, other = next(first), next(again)
        assert one.samples.tobytes() == other.samples.tobytes() and one.ratio == other.ratio
