# SPDX-License-Identifier: MIT
"""`ethosu bench wakeword` and `bench audio`: what they compare and count, and that it is right."""

import json

import pytest
from ethosu_tools.bench import wakeword
from ethosu_tools.wakeword import words


def bench(ethosu, *options):
    code, out, err = ethosu("bench", *options, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def total(data, key):
    return sum(row[key] for row in data["rows"])


def check(data):
    """Every output is the reference's; optimised kernels decide the same, but for what is close."""
    assert total(data, "equal_to_reference") == total(data, "inferences") > 0
    clips = total(data, "clips")
    assert clips > 0 and total(data, "same") >= 0.99 * clips - 1
    assert data["largest_difference_of_probabilities"] < 0.1


def test_some_sounds_are_heard_as_pymicro_wakeword_hears_them(ethosu):
    data = bench(ethosu, "wakeword", "--minutes", "0.5")
    check(data)
    rows = {row["signal_to_noise_db"]: row for row in data["rows"] if row["word_is_spoken"]}
    assert rows[None]["ours"] == rows[None]["clips"] > 0
    code, text, _ = ethosu("bench", "wakeword", "--minutes", "0.1")
    assert code == 0 and "the same decision for" in text.lower() and "bit by bit" in text


@pytest.mark.slow
def test_half_an_hour_is_heard_as_pymicro_wakeword_hears_it(ethosu):
    data = bench(ethosu, "wakeword")
    check(data)
    assert data["minutes"] >= 30
    heard = {
        spoken: sum(row["ours"] for row in data["rows"] if row["word_is_spoken"] is spoken)
        for spoken in (True, False)
    }
    assert heard[True] > 80 and heard[False] <= 2


def test_the_same_sounds_come_each_time():
    word = words.load("okay_nabu")
    first, again = wakeword.clips(word), wakeword.clips(word)
    for _ in range(7):
        one, other = next(first), next(again)
        assert one.samples.tobytes() == other.samples.tobytes() and one.ratio == other.ratio


def test_instructions_of_the_front_ends_are_counted(ethosu):
    data = bench(ethosu, "audio")
    counts = {row["front_end"]: row["instructions_per_10_ms"] for row in data["front_ends"]}
    # Far less than real time on the slowest board, and less than without MVE: docs/audio.md.
    assert 10_000 < counts["MicroFrontend"] < 30_000
    assert all(count < 50_000 for count in counts.values())
    code, text, _ = ethosu("bench", "audio")
    assert code == 0 and "real-time factor" in text
