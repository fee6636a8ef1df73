# SPDX-License-Identifier: MIT
"""The demo's picture has every probability at its place, and nothing outside of the paper."""

import re
import xml.etree.ElementTree as ET

import numpy as np
from ethosu_tools.addons.wakeword import keywords, picture
from ethosu_tools.model.samples import speech, wake_words

SVG = "{http://www.w3.org/2000/svg}"


def result(means, at=None):
    times = [0.03 * (index + 1) for index, _ in enumerate(means)]
    return keywords.Result(times, [0] * len(means), means, at)


def drawn(heard):
    words = [wake_words.load("okay_nabu"), wake_words.load("alexa")]
    return ET.fromstring(picture.draw("npu <of> a board", words, heard))


def test_each_probability_is_a_point():
    means = [0.0, 0.5, 1.0]
    heard = {"okay_nabu": result(means, 0.09), "alexa": result([0.0, 0.0, 0.0])}
    samples = (np.sin(np.arange(speech.RATE) / 9) * 32767).astype(np.int16)
    root = drawn([("one", samples, heard), ("silence", samples * 0, heard)])
    lines = [each.get("points").split() for each in root.iter(f"{SVG}polyline")]
    assert [len(points) for points in lines] == [3] * 4
    heights = [float(point.partition(",")[2]) for point in lines[0]]
    assert np.allclose(np.diff(heights), -picture.CURVE / 2)
    texts = [each.text or "" for each in root.iter(f"{SVG}text")]
    assert texts.count("okay_nabu 0.1 s") == 2 and "silence" in texts
    numbers = re.findall(r"[MV ](-?[0-9.]+) ", " ".join(each.get("d", "") for each in root.iter()))
    assert all(0 <= float(number) <= picture.WIDTH for number in numbers)


def test_a_sound_without_samples_can_be_drawn():
    nothing = {"okay_nabu": result([]), "alexa": result([])}
    assert drawn([("empty", np.zeros(0, np.int16), nothing)]).tag == f"{SVG}svg"
