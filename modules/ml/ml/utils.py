# SPDX-License-Identifier: MIT
"""`ml.utils`: quantised numbers, overlapping boxes, drawing on an image.

Boxes and keypoints that go into an NMS are in pixels of the tensor, as in OpenMV's code.
"""

from array import array
from math import exp

try:
    from ulab import numpy as np
except ImportError:
    np = None  # threshold(), sigmoid() and logit() need its arrays


def logit(x) -> np.ndarray:
    """Logit of each number, the inverse of the sigmoid."""
    return np.log(x / (1.0 - x))


def sigmoid(x) -> np.ndarray:
    """Sigmoid of each number."""
    return 1.0 / (1.0 + np.exp(-x))


def threshold(
    scores, threshold: float, scale: float, find_max: bool = False, find_max_axis: int = 1
):
    """Indices of scores above a quantised threshold, or below it if scale is negative.

    With `find_max`, compares the largest (or smallest) scores along an axis.
    """
    if find_max:
        reduce = np.max if scale > 0 else np.min
        scores = reduce(scores, axis=find_max_axis)
    passed = scores > threshold if scale > 0 else scores < threshold
    return np.nonzero(passed)[0]


def quantize(model, value, index: int = 0):
    """Raw values of an output for real ones, not rounded; unchanged for a float output."""
    if model.output_dtype[index] == "f":
        return value
    return value / model.output_scale[index] + model.output_zero_point[index]


def dequantize(model, value, index: int = 0):
    """Real values of an output's raw ones; unchanged for a float output."""
    if model.output_dtype[index] == "f":
        return value
    # The zero point is a float, since ulab's difference of an int8 array and a small integer wraps.
    return (value - float(model.output_zero_point[index])) * model.output_scale[index]


def rows(count: int, width: int):
    """`count` keypoints of `width` numbers each: an array of ulab, or a list of array("f")."""
    if np is not None:
        return np.zeros((count, width))
    return [array("f", bytes(4 * width)) for _ in range(count)]


class NMS:
    """Boxes of one inference: soft non-maximum suppression, and positions in the original image.

    Boxes are whole pixels of the tensor, and suppress boxes of other labels too.
    """

    def __init__(self, window_w: int, window_h: int, roi) -> None:
        """The tensor's width and height, and the part of the image that it contains.

        ValueError: the part is empty.
        """
        if roi[2] < 1 or roi[3] < 1:
            raise ValueError(f"roi is {roi}, expected a width and a height of at least 1")
        self.window_w = window_w
        self.window_h = window_h
        self.roi = roi
        self.boxes = []

    def add_bounding_box(
        self, xmin: float, ymin: float, xmax: float, ymax: float, score: float, label_index: int,
        keypoints=None,
    ) -> None:  # fmt: skip
        """Add a box in pixels of the tensor; keypoints are rows (x, y, ...), also in pixels.

        Boxes are clipped to the tensor. A box without a pixel, or with a score that is not from 0.0
        to 1.0, is ignored.
        """
        x0, x1 = (max(0.0, min(each, self.window_w)) for each in (xmin, xmax))
        y0, y1 = (max(0.0, min(each, self.window_h)) for each in (ymin, ymax))
        # The size is rounded separately, so that it does not depend on the position.
        width, height = int(x1 - x0), int(y1 - y0)
        if width > 0 and height > 0 and 0.0 <= score <= 1.0:
            box = int(x0), int(y0), int(x0) + width, int(y0) + height
            self.boxes.append((float(score), box, int(label_index), keypoints))

    def get_bounding_boxes(self, threshold: float = 0.1, sigma: float = 0.1) -> list[list]:
        """A list for each label of ([x, y, w, h], score), with keypoints if boxes have them.

        The best box lowers the score of each other to score * exp(-iou ** 2 / sigma), and removes
        those that are then below the threshold. Results are in pixels of the image; keypoints are
        changed in place.
        """
        kept = self._suppress(threshold, sigma)
        found = [[] for _ in range(1 + max([0] + [each[2] for each in kept]))]
        left, top, width, height = self.roi
        wide, high = width / self.window_w, height / self.window_h
        for score, (x0, y0, x1, y1), label, keypoints in kept:
            box = [
                int(x0 * wide + left),
                int(y0 * high + top),
                int((x1 - x0) * wide),
                int((y1 - y0) * high),
            ]
            if keypoints is None:
                found[label].append((box, score))
                continue
            for row in keypoints:
                row[0] = row[0] * wide + left
                row[1] = row[1] * high + top
            found[label].append((box, score, keypoints))
        return found

    def _suppress(self, threshold, sigma):
        """Remaining boxes, best first, with their new scores."""
        from ethosu_results import argmax, iou

        left, kept = self.boxes, []
        while left:
            scores = [each[0] for each in left]
            best = left[argmax(scores)]
            kept.append(best)
            rest = []
            for each in left:
                if each is best:
                    continue
                shared = iou(best[1], each[1])
                score = each[0] * (exp(-shared * shared / sigma) if sigma > 0 else 1.0)
                if score > 0 and score >= threshold:
                    rest.append((score,) + each[1:])  # noqa: RUF005  (MicroPython)
            left = rest
        return kept


def draw_predictions(
    image,
    boxes,
    labels,
    colors,
    scores=None,
    format: str | None = "pascal_voc",
    font_width: int = 8,
    font_height: int = 10,
    text_color=(255, 255, 255),
) -> None:
    """Draw boxes with labels on an image; letters and lines are larger on a large one.

    `format`: "pascal_voc" has (x0, y0, x1, y1) from 0.0 to 1.0, "point" has (x, y, w, h) in pixels
    and draws a dot in the middle, any other has (x, y, w, h) in pixels.
    """
    wide, high = image.width(), image.height()
    scale = max(1, min(4, wide // 320))
    thickness = max(1, min(3, wide // 480))
    line = font_height * scale
    for i, (x, y, w, h) in enumerate(boxes):
        text = labels[i] if scores is None else f"{labels[i]} {scores[i]:.2f}"
        if format == "pascal_voc":
            x, y, w, h = int(x * wide), int(y * high), int(w * wide), int(h * high)
            w, h = w - x, h - y
        if format == "point":
            radius = max(4, min(16, wide // 60))
            x, y = x + w // 2, y + h // 2
            image.draw_circle((x, y, radius), color=colors[i], thickness=thickness, fill=True)
            top = max(0, y - radius - line)
        else:
            image.draw_rectangle((x, y, w, h), color=colors[i], thickness=thickness)
            top = y - line
        area = x, top, len(text) * font_width * scale, line
        image.draw_rectangle(area, color=colors[i], fill=True)
        image.draw_string((x, top), text.upper(), text_color, scale=scale)


def draw_keypoints(
    image,
    keypoints,
    radius: int = 4,
    color=(255, 0, 0),
    thickness: int = 1,
    fill: bool = False,
) -> None:
    """Draw rows (x, y, ...) as circles; as pixels if the radius is 0, not at all if negative."""
    for row in keypoints:
        x, y = int(row[0]), int(row[1])
        if radius > 0:
            image.draw_circle((x, y, radius), color=color, thickness=thickness, fill=fill)
        elif radius == 0:
            image.set_pixel((x, y), color)


def draw_skeleton(
    image,
    keypoints,
    lines,
    kp_radius: int = 4,
    kp_color=(255, 0, 0),
    kp_thickness: int = 1,
    kp_fill: bool = False,
    line_color=(0, 255, 0),
    line_thickness: int = 1,
) -> None:
    """Draw keypoints, and lines between pairs of their numbers."""
    draw_keypoints(image, keypoints, kp_radius, kp_color, kp_thickness, kp_fill)
    for first, second in lines:
        a, b = keypoints[first], keypoints[second]
        ends = int(a[0]), int(a[1]), int(b[0]), int(b[1])
        image.draw_line(ends, color=line_color, thickness=line_thickness)
