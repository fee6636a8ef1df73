# SPDX-License-Identifier: MIT
"""Compares detector heads, classes, softmax and NMS with their definitions in NumPy."""

import numpy as np
import pytest

from host_tests.kit.board_models import raised

FAKE = """
import ethosu_results as results
from array import array
class Model:
    labels = None
    def __init__(self, *outputs):
        self.output_shape = [shape for shape, _, _ in outputs]
        self.output_scale = [scale for _, scale, _ in outputs]
        self.output_zero_point = [zero for _, _, zero in outputs]
def decode(head, model, *outputs):
    return sorted([(a, b, tuple(c)) for a, b, c in head.decode(model, outputs)])
"""


@pytest.fixture
def heads(board):
    board.exec(FAKE)
    return board


def raw(rng, shape, scale, zero):
    """Make random int8 values, and the corresponding real values."""
    values = rng.integers(-128, 128, shape).astype(np.int8)
    return values, (values.astype(np.float64) - zero) * scale


def decoded(board, head, *outputs):
    """Return a head's result for int8 outputs (values, scale, zero point)."""
    shapes = ", ".join(f"({o.shape}, {scale!r}, {zero})" for o, scale, zero in outputs)
    arrays = ", ".join(f"array('b', {o.tobytes()!r})" for o, _, _ in outputs)
    return board.eval(f"decode(results.{head}, Model({shapes}), {arrays})")


def same(found, wanted, error=1e-9):
    wanted = sorted(wanted)
    assert len(found) == len(wanted) > 3
    for (label, score, box), (expected, value, place) in zip(found, wanted, strict=True):
        assert label == expected
        assert (score, *box) == pytest.approx((value, *place), rel=error, abs=1e-9)


def corners(x, y, w, h):
    return x - w / 2, y - h / 2, x + w / 2, y + h / 2


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_fomo(heads):
    values, real = raw(np.random.default_rng(1), (1, 6, 8, 3), 1 / 256, -128)
    wanted = [
        (c, real[0, y, x, c], corners((x + 0.5) / 8, (y + 0.5) / 6, 1 / 8, 1 / 6))
        for y in range(6) for x in range(8) for c in (1, 2) if real[0, y, x, c] >= 0.75
    ]  # fmt: skip
    same(decoded(heads, "FOMO(threshold=0.75)", (values, 1 / 256, -128)), wanted)


@pytest.mark.parametrize(("size", "wide", "high"), [("2.0", 2, 2), ("(3.0, 0.5)", 3, 0.5)])
def test_fomo_has_boxes_of_other_sizes(heads, size, wide, high):
    cells = np.full((1, 4, 8, 2), -128, np.int8)
    cells[0, 1, 2, 1] = 100
    heads.exec(
        f"model = Model(((1, 4, 8, 2), 1 / 256, -128))\nout = array('b', {cells.tobytes()!r})"
    )
    ((label, _, box),) = heads.eval(f"results.FOMO(size={size})(model, None, [out])")
    assert label == 1
    assert box == pytest.approx(corners(2.5 / 8, 1.5 / 4, wide / 8, high / 4))


def test_fomo_joins_cells_that_touch(heads):
    """FOMO joins cells in a staircase to one object, but no separate cell or other label."""
    cells = np.full((1, 5, 5, 3), -128, np.int8)
    for y, x, label, score in ((0, 0, 1, 50), (1, 1, 1, 90), (2, 2, 1, 20), (4, 0, 1, 70),
                               (0, 1, 2, 60)):  # fmt: skip
        cells[0, y, x, label] = score
    heads.exec(
        f"model = Model(((1, 5, 5, 3), 1 / 256, -128))\n"
        f"found = results.FOMO(0.5)(model, None, [array('b', {cells.tobytes()!r})])"
    )
    found = heads.eval("found")
    assert [(label, score) for label, score, _ in found] == [
        (1, 218 / 256), (1, 198 / 256), (2, 188 / 256)
    ]  # fmt: skip
    assert found[0][2] == pytest.approx((0, 0, 0.6, 0.6))


def test_yolo_v8(heads):
    values, real = raw(np.random.default_rng(2), (1, 7, 40), 1 / 255, -128)
    wanted = []
    for a in range(40):
        label = int(np.argmax(real[0, 4:, a]))
        if real[0, 4 + label, a] >= 0.9:
            wanted.append((label, real[0, 4 + label, a], corners(*real[0, :4, a])))
    same(decoded(heads, "YoloV8(0.9)", (values, 1 / 255, -128)), wanted)


def test_yolo_v5(heads):
    values, real = raw(np.random.default_rng(3), (1, 60, 8), 1 / 255, -128)
    wanted = []
    for row in real[0]:
        label = int(np.argmax(row[5:]))
        if row[4] * row[5 + label] >= 0.5:
            wanted.append((label, row[4] * row[5 + label], corners(*row[:4])))
    same(decoded(heads, "YoloV5(0.5)", (values, 1 / 255, -128)), wanted)


def test_yolo_v2(heads):
    anchors = ((1.0, 2.0), (3.5, 1.5))
    values, real = raw(np.random.default_rng(4), (1, 4, 5, 2 * 8), 0.05, 3)
    wanted = []
    for y, x, a in np.ndindex(4, 5, 2):
        tx, ty, tw, th, thing, *scores = real[0, y, x, 8 * a : 8 * a + 8]
        share = np.exp(scores) / np.exp(scores).sum()
        label = int(np.argmax(share))
        score = sigmoid(thing) * share[label]
        if score >= 0.6:
            place = (x + sigmoid(tx)) / 5, (y + sigmoid(ty)) / 4
            size = np.exp(tw) * anchors[a][0] / 5, np.exp(th) * anchors[a][1] / 4
            wanted.append((label, score, corners(*place, *size)))
    same(decoded(heads, f"YoloV2(0.6, anchors={anchors})", (values, 0.05, 3)), wanted, 1e-5)


@pytest.mark.parametrize(
    ("logits", "form"),
    [
        (False, "array('f', [n for row in rows for n in row])"),
        (True, "rows"),
        (True, "[list(row) for row in rows]"),
        (True, "tuple(array('d', row) for row in rows)"),
        (True, "memoryview(array('f', [n for row in rows for n in row]))"),
    ],
)
def test_ssd(heads, logits, form):
    rng = np.random.default_rng(5)
    boxes, box = raw(rng, (1, 50, 4), 0.05, 2)
    scale, zero = (0.05, 0) if logits else (1 / 256, -128)
    scores, real = raw(rng, (1, 50, 3), scale, zero)
    anchors = rng.uniform(0.1, 0.9, (50, 4)).astype(np.float32).astype(float)
    real = sigmoid(real) if logits else real
    wanted = []
    for i, c in np.ndindex(50, 3):
        if c and real[0, i, c] >= 0.9:
            y, x, h, w = box[0, i] / (10, 10, 5, 5)
            ay, ax, ah, aw = anchors[i]
            place = corners(x * aw + ax, y * ah + ay, np.exp(w) * aw, np.exp(h) * ah)
            wanted.append((c, real[0, i, c], place))
    heads.exec(f"rows = {[tuple(map(float, row)) for row in anchors]!r}")
    head = f"SSD(0.9, anchors={form}, logits={logits})"
    same(decoded(heads, head, (boxes, 0.05, 2), (scores, scale, zero)), wanted)


def test_ssd_without_background_with_other_scales(heads):
    """Without background, label 0 counts; boxes use the scales of y, x, height, width."""
    boxes, scores = np.array([[[10, 20, 0, 0]]], np.int8), np.array([[[90, 80]]], np.int8)
    head = (
        "SSD(threshold=0.85, anchors=[(.5, .5, .2, .4)], scales=(20, 10, 5, 5), background=False)"
    )
    ((label, score, box),) = decoded(heads, head, (boxes, 1.0, 0), (scores, 0.01, 0))
    assert (label, score) == (0, pytest.approx(0.9))
    assert box == pytest.approx(corners(2 * 0.4 + 0.5, 0.5 * 0.2 + 0.5, 0.4, 0.2), rel=1e-6)


def test_a_head_removes_boxes_that_overlap_more_than_its_limit(heads):
    """Of two boxes of one label with IoU 0.5, a head removes one if the limit is below that."""
    rows = np.array([[[50, 50, 100, 100, 100, 90], [50, 25, 100, 50, 100, 80]]], np.int8)
    heads.exec(
        f"model = Model(((1, 2, 6), 0.01, 0))\nout = array('b', {rows.tobytes()!r})\n"
        "def count(limit): return len(results.YoloV5(limit=limit)(model, None, [out]))"
    )
    assert heads.eval("[count(limit) for limit in (0.4, 0.6)]") == [1, 2]


def test_ssd_with_its_postprocessing_in_the_model(heads):
    heads.exec(
        "model = Model(((1, 3, 4), 0.0, 0), ((1, 3), 0.0, 0), ((1, 3), 0.0, 0), ((1,), 0.0, 0))\n"
        "out = [array('f', v) for v in ([.1, .2, .3, .4] * 3, [1, 0, 2], [.9, .4, .8], [2])]\n"
        "found = decode(results.SSD(0.5), model, *out)"
    )
    ((label, score, box),) = heads.eval("found")
    assert (label, score) == (1, pytest.approx(0.9))
    assert box == pytest.approx((0.2, 0.1, 0.4, 0.3))
    assert raised(heads, "list(results.SSD().decode(Model(), [1, 2]))").startswith("ValueError")


def test_softmax_and_top(heads):
    heads.exec("v = array('b', [-5, 100, 7, 99])\nmodel = Model(((1, 4), 0.1, 1))")
    values = np.array([-5, 100, 7, 99])
    powers = np.exp((values - 100) * 0.1)
    assert heads.eval("list(results.softmax(v, scale=0.1, zero_point=7))") == pytest.approx(
        powers / powers.sum()
    )
    heads.exec("other = Model(((1, 2), 1.0, 0), ((1, 4), 0.1, 1))")
    for call in ("results.top(model, v, count=2)", "results.top(other, v, 2, index=1)"):
        assert heads.eval(call) == [(1, pytest.approx(9.9)), (3, pytest.approx(9.8))]
    heads.exec("model.labels = ['a', 'b', 'c', 'd']")
    assert heads.eval("[label for label, _ in results.top(model, v)]") == ["b", "d", "c", "a"]


def greedy(boxes, limit):
    """Apply non-maximum suppression, following its definition."""
    kept = []
    for each in sorted(boxes, key=lambda each: -each[1]):
        if all(each[0] != k[0] or overlap(each[2], k[2]) <= limit for k in kept):
            kept.append(each)
    return kept


def overlap(a, b):
    width = max(0, min(a[2], b[2]) - max(a[0], b[0]))
    height = max(0, min(a[3], b[3]) - max(a[1], b[1]))
    area = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - width * height
    return width * height / area


def test_nms(heads):
    rng = np.random.default_rng(6)
    places = rng.uniform(0, 1, (40, 2))
    found = [
        (int(rng.integers(2)), float(score), (float(x), float(y), float(x) + 0.3, float(y) + 0.4))
        for (x, y), score in zip(places, rng.permutation(40) / 40, strict=True)
    ]
    kept = heads.eval(f"results.nms({found!r}, limit=0.3)")
    assert [each[:2] for each in kept] == [each[:2] for each in greedy(found, 0.3)]
    assert 2 < len(kept) < 40


def test_soft_nms(heads):
    """Soft NMS lowers scores by the paper's formula, for boxes of one label only."""
    found = [(0, 0.9, (0.0, 0.0, 1.0, 1.0)), (0, 0.8, (0.0, 0.0, 1.0, 0.5)),
             (1, 0.7, (0.0, 0.0, 1.0, 1.0))]  # fmt: skip
    kept = heads.eval(f"results.nms({found!r}, threshold=0.01, sigma=0.1)")
    assert [each[0] for each in kept] == [0, 1, 0]
    assert kept[2][1] == pytest.approx(0.8 * np.exp(-0.25 / 0.1))
    assert len(heads.eval(f"results.nms({found!r}, 0.1, sigma=0.1)")) == 2


def test_wrong_threshold(heads):
    assert raised(heads, "results.FOMO(1.5)") == (
        "ValueError threshold is 1.5, expected a number between 0 and 1"
    )
