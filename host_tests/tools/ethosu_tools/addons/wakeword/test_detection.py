# SPDX-License-Identifier: MIT
"""The models detect spoken words with the reference kernels instead of the NPU."""

import numpy as np
import pytest
from ethosu_tools.addons.wakeword import keywords
from ethosu_tools.addons.wakeword.keywords import Result
from ethosu_tools.base.errors import InputError, MismatchError
from ethosu_tools.model.samples import speech, wake_words
from ethosu_tools.sim import oracle
from pymicro_wakeword import MicroWakeWord, MicroWakeWordFeatures, Model


@pytest.mark.parametrize("name", wake_words.NAMES)
def test_features_and_rule_are_those_of_pymicro_wakeword(name):
    word = wake_words.load(name)
    samples = speech.say(word.phrase, "en-us")
    theirs = MicroWakeWord.from_builtin(Model(name))
    rows = MicroWakeWordFeatures().process_streaming(samples.tobytes())
    decisions = [theirs.process_streaming(row) for row in rows]
    # There is one decision per row; it changes with every third.
    expected = next((i for i, heard in enumerate(decisions[2::3], start=1) if heard), None)
    found = keywords.reference(word, keywords.features(samples)).detected_at
    assert found == (expected and pytest.approx(0.03 * expected))


def test_features_are_the_same_every_time_and_fill_the_int8_range():
    samples = speech.say("okay nabu", "en-us")
    rows = keywords.features(samples)
    assert rows.dtype == np.float32 and rows.shape == (len(samples) // 160 - 2, 40)
    assert np.array_equal(rows, keywords.features(samples))
    (tensor,) = oracle.Oracle(wake_words.load("okay_nabu").model).inputs
    steps = keywords.steps(rows, tensor)
    assert steps.shape == (len(rows) // 3, 1, 3, 40) and steps.dtype == np.int8
    assert steps.min() == -128 and steps.max() > 100


@pytest.mark.parametrize("samples", [0, 100, 600, 700])
def test_too_short_a_sound_is_refused(samples):
    with pytest.raises(InputError, match=r"too short|an inference needs 3"):
        rows = keywords.features(np.zeros(samples, np.int16))
        keywords.reference(wake_words.load("alexa"), rows)


def test_an_unknown_wake_word_lists_the_known_ones():
    known = "okay_nabu, hey_jarvis, alexa, hey_mycroft"
    with pytest.raises(InputError, match=f"unknown wake word 'computer'; expected one of {known}"):
        wake_words.load("computer")


def test_the_rule_needs_a_full_window_above_the_cutoff():
    word = wake_words.WakeWord("w", "w", None, cutoff=0.5, window=3)
    assert word.detected_at([1.0, 1.0]) is None
    assert word.detected_at([0.5] * 10) is None
    assert word.detected_at([0.0, 0.0, 0.5, 0.5, 0.6]) == 5


@pytest.mark.parametrize(("exact", "band"), [(False, 33), (True, 31), (True, 33)])
def test_features_may_differ_where_the_c_library_does(monkeypatch, exact, band):
    """Features may differ only in bands that depend on log1pf(), which is `exact` on some PCs."""
    ones = np.zeros((5, wake_words.BANDS), np.float32)
    found = ones.copy()
    found[2:4, band] += keywords.STEP
    known = [each for each in range(wake_words.BANDS) if not exact or each not in (32, 33, 38, 39)]
    monkeypatch.setattr(keywords, "bands", lambda: known)
    assert keywords.compare_features(ones, ones, "a sound") == 0
    if band not in known:
        assert keywords.compare_features(found, ones, "a sound") == 2
        return
    message = rf"a sound: 2 of 200 features .* at 0\.02 s in band {band}: 1 instead of 0"
    with pytest.raises(MismatchError, match=message):
        keywords.compare_features(found, ones, "a sound")


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (Result([], [1, 2], [], None), "2 outputs, .* have 3"),
        (Result([], [1, 5, 3], [], None), "1 of 3 outputs differ .* inference 2: 5 instead of 2"),
        (Result([], [1, 2, 3], [], 0.09), r"was detected at 0\.09 s instead of never"),
    ],
)
def test_each_difference_from_the_reference_is_named(found, message):
    with pytest.raises(MismatchError, match=message):
        keywords.compare(found, Result([], [1, 2, 3], [], None), "a sound")
