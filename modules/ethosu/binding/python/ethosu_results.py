# SPDX-License-Identifier: MIT
"""Interprets a model's raw outputs: classes with labels, and objects with boxes.

Heads of detectors are post-processors: `ethosu.Model(path, postprocess=FOMO(threshold=0.5))`. They
return a list of (label, score, (x0, y0, x1, y1)), best first. Positions are fractions of the input
tensor, from 0 to 1; `place()` converts them to positions in the picture. Labels are numbers;
`model.labels` has their names. Only values above the threshold are converted to real values.
"""

from array import array
from math import exp, log

from ethosu_image import above, argmax

__all__ = (
    "FOMO", "SSD", "Head", "YoloV2", "YoloV5", "YoloV8", "argmax", "join", "nms", "place",
    "softmax", "top",
)  # fmt: skip


def softmax(values, scale: float = 1.0, zero_point: int = 0) -> array[float]:
    """Probabilities of raw values, in a new array("f")."""
    most = max(values)
    powers = array("f", [exp((value - most) * scale) for value in values])
    total = sum(powers)
    for index, power in enumerate(powers):
        powers[index] = power / total
    return powers


def top(model, values, count: int = 5, index: int = 0) -> list[tuple[str | int, float]]:
    """The `count` best (label or number, score) for raw values of output `index`, best first."""
    scale, zero_point = quantization(model, index)
    labels = getattr(model, "labels", None)
    order = sorted(range(len(values)), key=lambda i: -values[i])[:count]
    return [
        (labels[i] if labels and i < len(labels) else i, (values[i] - zero_point) * scale)
        for i in order
    ]


def iou(a, b) -> float:
    """Intersection of two boxes (x0, y0, x1, y1) over their union."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared
    return shared / union


def nms(
    found, threshold: float = 0.0, limit: float = 0.5, sigma: float | None = None
) -> list[tuple]:
    """Keep only the best of overlapping boxes with the same label.

    `found` are tuples (label, score, box, ...). A box whose IoU with a better one is above `limit`
    is removed. With `sigma`, its score becomes score * exp(-iou ** 2 / sigma) instead, and it is
    removed if that is not above the threshold (soft-NMS, arXiv 1704.04503).
    """
    left = sorted(found, key=lambda each: each[1], reverse=True)
    kept = []
    while left:
        best = left.pop(argmax([each[1] for each in left]))
        kept.append(best)
        rest = []
        for each in left:
            shared = iou(best[2], each[2]) if each[0] == best[0] else 0.0
            if sigma is not None and shared > 0.0:
                score = each[1] * exp(-shared * shared / sigma)
                each = each[:1] + (score,) + each[2:]  # noqa: RUF005  (MicroPython)
                if score > threshold:
                    rest.append(each)
            elif sigma is not None or shared <= limit:
                rest.append(each)
        left = rest
    return kept


def join(found) -> list[tuple[int, float, tuple[float, float, float, float]]]:
    """Merge touching boxes with the same label, with the best of their scores; best first."""
    groups = []
    for label, score, box in found:
        for group in [each for each in groups if each[0] == label and touch(each[2], box)]:
            groups.remove(group)
            score = max(score, group[1])
            (x0, y0, x1, y1), other = box, group[2]
            box = min(x0, other[0]), min(y0, other[1]), max(x1, other[2]), max(y1, other[3])
        groups.append((label, score, box))
    return sorted(groups, key=lambda each: -each[1])


def touch(a, b):
    """Whether two boxes touch or nearly touch."""
    near = 1e-6
    return (
        a[0] <= b[2] + near and b[0] <= a[2] + near and a[1] <= b[3] + near and b[1] <= a[3] + near
    )


def place(see, box) -> tuple[int, int, int, int]:
    """Convert a box to (x, y, width, height) in pixels of the picture of the `Input` `see`."""
    xs, ys = zip(see.source(box[0], box[1]), see.source(box[2], box[3]))  # noqa: B905
    x, y = round(min(xs)), round(min(ys))
    return x, y, round(max(xs)) - x, round(max(ys)) - y


def quantization(model, index):
    """Scale and zero point of an output; 1 and 0 if it is not quantised."""
    scale = model.output_scale[index]
    return (scale, model.output_zero_point[index]) if scale else (1.0, 0)


def sigmoid(x):
    """1 / (1 + exp(-x)), for any x."""
    return 1.0 / (1.0 + exp(-x)) if x > -80 else 0.0


def logit(p):
    """The inverse of the sigmoid."""
    return log(p / (1.0 - p))


def flat(values):
    """All numbers in one row: a buffer, or an array of ulab."""
    return values.reshape((values.size,)) if hasattr(values, "reshape") else values


def one_row(rows):
    """The numbers of rows, one after the other; a flat buffer is what it is."""
    rows = flat(rows)
    if isinstance(rows[0], (int, float)):
        return rows
    return array("f", [number for row in rows for number in row])


def corners(x, y, width, height):
    """Convert centre and size of a box to corners."""
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


class Output:
    """The numbers of an output in one row, with conversion to real values."""

    def __init__(self, model, outputs, index=0):
        """Of output `index`."""
        self.values = flat(outputs[index])
        self.shape = model.output_shape[index]
        self.scale, self.zero_point = quantization(model, index)

    def real(self, index):
        """The real value of a number."""
        return (self.values[index] - self.zero_point) * self.scale

    def above(self, limit, start=0, step=1):
        """Indices of real values of at least `limit`."""
        return above(self.values, limit / self.scale + self.zero_point, start, step)


class Head:
    """A post-processor; a subclass has decode(model, outputs), which yields (label, score, box)."""

    def __init__(self, threshold: float = 0.5, limit: float = 0.5) -> None:
        """`threshold`: minimum score of an object; `limit`: maximum IoU of two objects."""
        if not 0 < threshold < 1:
            raise ValueError(f"threshold is {threshold}, expected a number between 0 and 1")
        self.threshold = threshold
        self.limit = limit

    def __call__(self, model, inputs: list, outputs: list) -> list:
        """Objects, best first."""
        return nms(self.decode(model, outputs), limit=self.limit)

    def score(self, thing: float, label: float) -> float:
        """Score of an object: its objectness times the probability of its label."""
        return thing * label


class FOMO(Head):
    """A grid of cells, each with a probability for each class; class 0 is the background.

    Source of the layout: Edge Impulse's documentation of FOMO. A box is `size` cells wide
    and high, or a size for each.
    """

    def __init__(self, threshold: float = 0.5, size: float | tuple[float, float] = 1.0) -> None:
        """`threshold`: minimum score of a cell; touching cells of one label are one object."""
        super().__init__(threshold)
        self.size = size if isinstance(size, tuple) else (size, size)

    def __call__(self, model, inputs: list, outputs: list) -> list:
        """Objects, best first."""
        return join(self.decode(model, outputs))

    def decode(self, model, outputs: list):
        """Yield all cells."""
        out = Output(model, outputs)
        _, rows, columns, classes = out.shape
        for index in out.above(self.threshold):
            cell, label = divmod(index, classes)
            if label:
                y, x = divmod(cell, columns)
                width, height = self.size[0] / columns, self.size[1] / rows
                box = corners((x + 0.5) / columns, (y + 0.5) / rows, width, height)
                yield label, out.real(index), box


class YoloV8(Head):
    """One output (1, 4 + classes, boxes): centre, width, height from 0 to 1, scores."""

    def decode(self, model, outputs: list):
        """Yield the best class of each box."""
        out = Output(model, outputs)
        boxes = out.shape[2]
        best = {}
        for index in out.above(self.threshold, 4 * boxes):
            label, box = divmod(index - 4 * boxes, boxes)
            if box not in best or out.values[index] > out.values[best[box][1]]:
                best[box] = label, index
        for box, (label, index) in best.items():
            yield label, out.real(index), corners(*(out.real(i * boxes + box) for i in range(4)))


class YoloV5(Head):
    """One output (1, boxes, 5 + classes): centre, width, height from 0 to 1, objectness, scores."""

    def decode(self, model, outputs: list):
        """Yield the best class of each box."""
        out = Output(model, outputs)
        width = out.shape[2]
        for index in out.above(self.threshold, 4, width):
            scores = [out.real(index + 1 + i) for i in range(width - 5)]
            label = argmax(scores)
            score = self.score(out.real(index), scores[label])
            if score >= self.threshold:
                yield label, score, corners(*(out.real(index - 4 + i) for i in range(4)))


class YoloV2(Head):
    """A grid (1, rows, columns, anchors * (5 + classes)) of Darknet: arXiv 1612.08242.

    For each anchor: x, y (sigmoid, from the cell's corner), width, height (powers of e, times the
    anchor, in cells), objectness (sigmoid), classes (softmax).
    """

    ANCHORS: tuple[tuple[float, float], ...] = (
        (1.3221, 1.73145), (3.19275, 4.00944), (5.05587, 8.09892), (9.47112, 4.84053),
        (11.2364, 10.0071),
    )  # fmt: skip
    """Widths and heights of Darknet's yolov2-voc."""

    def __init__(self, threshold: float = 0.5, limit: float = 0.5, anchors=ANCHORS) -> None:
        """`anchors` are widths and heights in cells."""
        super().__init__(threshold, limit)
        self.anchors = anchors

    def decode(self, model, outputs: list):
        """Yield the best class of each anchor of each cell."""
        out = Output(model, outputs)
        _, rows, columns, depth = out.shape
        step = depth // len(self.anchors)
        for index in out.above(logit(self.threshold), 4, step):
            place, anchor = divmod(index // step, len(self.anchors))
            cell_y, cell_x = divmod(place, columns)
            x, y, w, h, thing = (out.real(index - 4 + i) for i in range(5))
            scores = softmax([out.real(index + 1 + i) for i in range(step - 5)])
            label = argmax(scores)
            score = self.score(sigmoid(thing), scores[label])
            if score >= self.threshold:
                wide, high = self.anchors[anchor]
                yield (
                    label,
                    score,
                    corners(
                        (cell_x + sigmoid(x)) / columns,
                        (cell_y + sigmoid(y)) / rows,
                        exp(min(w, 20)) * wide / columns,
                        exp(min(h, 20)) * high / rows,
                    ),
                )


class SSD(Head):
    """Two outputs of TensorFlow's SSD: boxes (1, n, 4) for n anchors, and scores (1, n, classes).

    Box: (y, x, height, width), encoded as for TFLite_Detection_PostProcess, by `scales`. If the
    model contains this operator, its outputs are boxes, classes, scores and count, which need no
    decoding.
    """

    def __init__(
        self, threshold: float = 0.5, limit: float = 0.5, anchors=None, scales=(10, 10, 5, 5),
        logits: bool = False, background: bool = True,
    ) -> None:  # fmt: skip
        """`anchors`: rows of y, x, height, width, from 0 to 1, or these numbers in one array.

        `logits`: scores are logits. `background`: class 0 is the background.
        """
        super().__init__(threshold, limit)
        self.anchors = None if anchors is None else one_row(anchors)
        self.scales = scales
        self.logits = logits
        self.background = background

    def decode(self, model, outputs: list):
        """Yield the objects."""
        if len(outputs) == 4:
            boxes, classes, scores, count = (Output(model, outputs, i) for i in range(4))
            for i in range(int(count.real(0))):
                if scores.real(i) >= self.threshold:
                    y0, x0, y1, x1 = (boxes.real(4 * i + k) for k in range(4))
                    yield int(classes.real(i)), scores.real(i), (x0, y0, x1, y1)
            return
        if self.anchors is None:
            raise ValueError("the model has no TFLite_Detection_PostProcess: pass anchors=")
        boxes, scores = (Output(model, outputs, i) for i in range(2))
        if boxes.shape[-1] != 4:
            boxes, scores = scores, boxes
        classes = scores.shape[-1]
        limit = logit(self.threshold) if self.logits else self.threshold
        for index in scores.above(limit):
            anchor, label = divmod(index, classes)
            if label or not self.background:
                score = scores.real(index)
                yield label, sigmoid(score) if self.logits else score, self._box(boxes, anchor)

    def _box(self, boxes, index):
        y, x, h, w = (boxes.real(4 * index + k) / self.scales[k] for k in range(4))
        at_y, at_x, high, wide = self.anchors[4 * index : 4 * index + 4]
        return corners(
            x * wide + at_x, y * high + at_y, exp(min(w, 20)) * wide, exp(min(h, 20)) * high
        )
