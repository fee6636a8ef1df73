# SPDX-License-Identifier: MIT
"""`ml.utils`: quantised numbers, overlapping boxes, drawing on an image."""

from ethosu_results import nms

try:
    from ulab import numpy as np
except ImportError:
    np = None  # threshold(), sigmoid() and logit() are for its arrays


def logit(x):
    """Logit of each number, the inverse of the sigmoid."""
    return np.log(x / (1.0 - x))


def sigmoid(x):
    """Sigmoid of each number."""
    return 1.0 / (1.0 + np.exp(-x))


def threshold(scores, threshold, scale, find_max=False, find_max_axis=1):
    """Indices of scores above a quantised threshold; below it, when scale is negative.

    With `find_max`, of the largest (or smallest) scores along an axis.
    """
    if find_max:
        reduce = np.max if scale > 0 else np.min
        scores = reduce(scores, axis=find_max_axis)
    passed = scores > threshold if scale > 0 else scores < threshold
    return np.nonzero(passed)[0]


def quantize(model, value, index=0):
    """Raw values of an output for real ones, not rounded; of a float output: the value."""
    if model.output_dtype[index] == "f":
        return value
    return value / model.output_scale[index] + model.output_zero_point[index]


def dequantize(model, value, index=0):
    """Real values of an output's raw ones; of a float output: value."""
    if model.output_dtype[index] == "f":
        return value
    return (value - model.output_zero_point[index]) * model.output_scale[index]


class NMS:
    """Boxes of one inference: soft non-maximum suppression, and places in the original image.

    Boxes are whole pixels of the tensor, as OpenMV has them, and suppress those of other labels.
    """

    def __init__(self, window_w, window_h, roi):
        """The tensor's width and height, and the part of the image that it was made of."""
        self.window = window_w, window_h
        self.roi = roi
        self.boxes = []
        # Pixels of the image for one of the tensor.
        self.scale = roi[2] / window_w, roi[3] / window_h

    def add_bounding_box(self, xmin, ymin, xmax, ymax, score, label_index, keypoints=None):
        """Add a box of the tensor, 0.0 to 1.0; keypoints are rows (x, y, ...) from 0.0 to 1.0."""
        width, height = self.window
        x0, x1 = (max(0.0, min(1.0, each)) * width for each in (xmin, xmax))
        y0, y1 = (max(0.0, min(1.0, each)) * height for each in (ymin, ymax))
        # The size is cut off by itself: a box of one size has it wherever it is.
        size = int(x1 - x0), int(y1 - y0)
        if min(size) > 0 and 0.0 <= score <= 1.0:
            box = int(x0), int(y0), int(x0) + size[0], int(y0) + size[1]
            self.boxes.append((0, float(score), box, label_index, keypoints))

    add_bounding_boxes = add_bounding_box

    def map_keypoints(self, keypoints):
        """Rows (x, y, ...) from 0.0 to 1.0 of the tensor, in pixels of the image, in place."""
        keypoints[:, 0] = keypoints[:, 0] * self.roi[2] + self.roi[0]
        keypoints[:, 1] = keypoints[:, 1] * self.roi[3] + self.roi[1]
        return keypoints

    def get_bounding_boxes(self, threshold=0.1, sigma=0.1):
        """A list for each label of ([x, y, w, h], score), with keypoints if boxes have them."""
        kept = nms(self.boxes, threshold, sigma=sigma)
        found = [[] for _ in range(max([each[3] for each in kept]) + 1 if kept else 0)]
        wide, high = self.scale
        for _, score, (x0, y0, x1, y1), label, keypoints in kept:
            rect = [
                int(x0 * wide + self.roi[0]),
                int(y0 * high + self.roi[1]),
                int((x1 - x0) * wide),
                int((y1 - y0) * high),
            ]
            if keypoints is None:
                found[label].append((rect, score))
            else:
                found[label].append((rect, score, self.map_keypoints(keypoints)))
        return found


def draw_predictions(
    image,
    boxes,
    labels,
    colors,
    scores=None,
    format="pascal_voc",
    font_width=8,
    font_height=10,
    text_color=(255, 255, 255),
):
    """Draw boxes (x, y, w, h) with labels on an image that has draw_rectangle, draw_string."""
    for i, (x, y, w, h) in enumerate(boxes):
        color = colors[i]
        if format == "center":
            image.draw_circle((x + w // 2, y + h // 2, 12), color=color)
        else:
            image.draw_rectangle((x, y, w, h), color=color)
        text = labels[i] if scores is None else f"{labels[i]}: {scores[i]:.2f}"
        if format is not None:
            top = max(0, y - font_height)
            area = x, top, len(text) * font_width, font_height
            image.draw_rectangle(area, color=color, fill=True)
            image.draw_string(x, top, text, text_color)


def draw_keypoints(image, keypoints, radius=4, color=(255, 0, 0), thickness=1, fill=False):
    """Draw rows (x, y, ...) as circles."""
    for row in keypoints:
        place = int(row[0]), int(row[1]), radius
        image.draw_circle(place, color=color, thickness=thickness, fill=fill)


def draw_skeleton(image, keypoints, lines, kp_color=(255, 0, 0), line_color=(0, 255, 0)):
    """Draw keypoints, and lines between pairs of their numbers."""
    for first, second in lines:
        a, b = keypoints[first], keypoints[second]
        image.draw_line((int(a[0]), int(a[1]), int(b[0]), int(b[1])), color=line_color)
    draw_keypoints(image, keypoints, color=kp_color)
