# SPDX-License-Identifier: MIT
"""In the picture demo, the board finds each disc, with the reference's scores."""

import zlib

import numpy as np
import pytest
from ethosu_tools.sim.oracle import Oracle

from host_tests.modules.ethosu.image import definition
from host_tests.modules.ethosu.image.definition import AREA, PAD, RGB888, Case
from tools.setup import discs


@pytest.fixture(scope="module")
def found(repo, board_npu):
    return discs.find(repo / "modules/ethosu/examples/objects.py", board_npu)


@pytest.fixture(scope="module")
def scores(tmp_path_factory):
    """Run TFLite's reference kernels on the picture, resized by the definition."""
    path = tmp_path_factory.mktemp("discs") / "discs.tflite"
    path.write_bytes(discs.make_model())
    case = Case(discs.make_picture(), RGB888, (96, 96, 3), fit=PAD, filter=AREA)
    seen = (definition.write(case) ^ 128).view(np.int8)
    (raw,) = Oracle(path).step([seen[None]])
    return (raw.astype(float) + 128) / 256


def test_each_disc_is_found_once_where_it_is(found):
    assert len(found) == len(discs.DISCS)
    cell = 320 / 12
    for label, (x, y), radius in discs.DISCS:
        near = [
            each
            for each in found
            if each.label == label
            and abs(each.box[0] + each.box[2] / 2 - x) < cell
            and abs(each.box[1] + each.box[3] / 2 - y) < cell
            and abs(each.box[2] - 2 * radius) < 1.5 * cell
            and abs(each.box[3] - 2 * radius) < 1.5 * cell
        ]
        assert len(near) == 1, (label, x, y)


def test_scores_are_the_references(found, scores):
    best = {label: scores[..., index].max() for index, label in enumerate(discs.LABELS)}
    for label in ("red", "green"):
        assert max(each.score for each in found if each.label == label) == best[label]
    every = set(scores.flat)
    assert all(each.score in every for each in found)


def test_boxes_are_drawn_into_a_png():
    picture = discs.make_picture()
    drawn = discs.draw(picture, [discs.Found("red", 1.0, (10, 20, 40, 30))])
    changed = (drawn != picture).any(axis=2)
    assert changed[20:50, 10:50].sum() == changed.sum() == 40 * 30 - 34 * 24
    data = discs.png(drawn)
    start = data.index(b"IDAT") + 4
    size = int.from_bytes(data[start - 8 : start - 4], "big")
    rows = np.frombuffer(zlib.decompress(data[start : start + size]), np.uint8).reshape(240, -1)
    assert (rows[:, 1:].reshape(240, 320, 3) == drawn).all()
