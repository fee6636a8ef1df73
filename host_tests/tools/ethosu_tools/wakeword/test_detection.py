# SPDX-License-Identifier: MIT
"""Which spoken words the models hear, with the reference kernels in place of the NPU."""

import contextlib

import numpy as np
import pytest
from ethosu_tools import oracle
from ethosu_tools.errors import InputError
from ethosu_tools.wakeword import features, results, speech, stage, words
from pymicro_wakeword import MicroWakeWord, MicroWakeWordFeatures, Model


def probabilities(word, samples):
    """What the reference answers, one number per inference."""
    model = oracle.Oracle(word.model)
    inputs = features.steps(features.from_samples(samples), model.inputs[0])
    raw = oracle.run(word.model, [inputs], steps=len(inputs))["0"].ravel()
    return (raw * model.outputs[0].scale).tolist()


@pytest.mark.parametrize("voice", ["en-us", "en-gb"])
@pytest.mark.parametrize("name", ["okay_nabu", "alexa"])
@pytest.mark.parametrize("text", ["okay nabu", "alexa", "hello world"])
def test_a_model_hears_its_word_and_no_other(name, text, voice):
    word = words.load(name)
    heard = word.detected_at(probabilities(word, speech.say(text, voice))) is not None
    assert heard == (text == word.phrase)


@pytest.mark.parametrize("name", words.NAMES)
def test_features_and_rule_are_those_of_pymicro_wakeword(name):
    word = words.load(name)
    samples = speech.say(word.phrase, "en-us")
    theirs = MicroWakeWord.from_builtin(Model(name))
    rows = MicroWakeWordFeatures().process_streaming(samples.tobytes())
    decisions = [theirs.process_streaming(row) for row in rows]
    # One decision for each row, a new one with each third.
    expected = next((i for i, heard in enumerate(decisions[2::3], start=1) if heard), None)
    assert word.detected_at(probabilities(word, samples)) == expected


@pytest.mark.parametrize("text", ["okay nabu", "hello world"])
def test_the_board_script_says_what_the_host_computes(text):
    """For two words at once, from samples."""
    samples = speech.say(text, "en-us")
    chosen = [words.load("okay_nabu"), words.load("hey_mycroft")]
    lines = []
    listening = stage.on_pc(lambda word: contextlib.nullcontext(oracle.Oracle(word.model)))
    listening(chosen, stage.Source("", samples.tobytes(), False), lines.append)
    for word in chosen:
        found = results.gather(lines, word.name)
        expected = probabilities(word, samples)
        assert found.raw == [round(256 * p) for p in expected]
        step = word.detected_at(expected)
        assert found.detected_at == (None if step is None else pytest.approx(0.03 * step))


def test_features_are_the_same_every_time_and_fill_the_int8_range():
    samples = speech.say("okay nabu", "en-us")
    rows = features.from_samples(samples)
    assert rows.dtype == np.float32 and rows.shape == (len(samples) // 160 - 2, 40)
    assert np.array_equal(rows, features.from_samples(samples))
    (tensor,) = oracle.Oracle(words.load("okay_nabu").model).inputs
    steps = features.steps(rows, tensor)
    assert steps.shape == (len(rows) // 3, 1, 3, 40) and steps.dtype == np.int8
    assert steps.min() == -128 and steps.max() > 100


@pytest.mark.parametrize("samples", [0, 100, 600, 700])
def test_too_short_a_sound_is_refused(samples):
    (tensor,) = oracle.Oracle(words.load("alexa").model).inputs
    with pytest.raises(InputError, match=r"too short|one inference takes 3"):
        features.steps(features.from_samples(np.zeros(samples, np.int16)), tensor)


def test_an_unknown_wake_word_is_answered_with_the_known_ones():
    known = "okay_nabu, hey_jarvis, alexa, hey_mycroft"
    with pytest.raises(InputError, match=f"no wake word 'computer'; known are {known}"):
        words.load("computer")


def test_the_rule_needs_a_full_window_above_the_cutoff():
    word = words.WakeWord("w", "w", None, cutoff=0.5, window=3)
    assert word.detected_at([1.0, 1.0]) is None
    assert word.detected_at([0.5] * 10) is None
    assert word.detected_at([0.0, 0.0, 0.5, 0.5, 0.6]) == 5
