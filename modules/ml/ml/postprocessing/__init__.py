# SPDX-License-Identifier: MIT
"""`ml.postprocessing`: decodes outputs of models from several sources, like OpenMV.

Detectors return a list for each label of ([x, y, w, h], score), in pixels of the image, up to the
last label that was found; an empty tuple if no score is above the threshold.
"""

from ..utils import NMS


class Detector:
    """OpenMV's results of a head of `ethosu_results`."""

    def __init__(self, head, nms_threshold: float = 0.1, nms_sigma: float = 0.1) -> None:
        """Minimum score after soft-NMS, and its sigma."""
        self.head = head
        self.nms_threshold = nms_threshold
        self.nms_sigma = nms_sigma

    @property
    def threshold(self) -> float:
        """The score that an object must exceed."""
        return self.head.threshold

    def __call__(self, model, inputs: list, outputs: list):
        """The boxes of each label."""
        boxes = nms_of(model, inputs)
        wide, high = boxes.window_w, boxes.window_h
        any_above = False
        for label, score, (x0, y0, x1, y1) in self.decode(model, outputs):
            any_above = True
            boxes.add_bounding_box(x0 * wide, y0 * high, x1 * wide, y1 * high, score, label)
        return boxes.get_bounding_boxes(self.nms_threshold, self.nms_sigma) if any_above else ()

    def decode(self, model, outputs: list):
        """Yield (label, score, box from 0.0 to 1.0) of scores above the threshold, not at it."""
        for detection in self.head.decode(model, outputs):
            if detection[1] > self.head.threshold:
                yield detection


def nms_of(model, inputs: list) -> NMS:
    """An NMS for the model's first input."""
    _, height, width, _ = model.input_shape[0]
    roi = getattr(inputs[0], "roi", None) or (0, 0, width, height)
    return NMS(width, height, roi)
