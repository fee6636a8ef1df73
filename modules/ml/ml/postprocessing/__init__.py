# SPDX-License-Identifier: MIT
"""`ml.postprocessing`: what outputs of models from several sources mean, as OpenMV returns it.

Detectors return a list for each label of ([x, y, w, h], score), in pixels of the image.
"""

from ..utils import NMS


class Detector:
    """OpenMV's results of a head of `ethosu_results`."""

    def __init__(self, head, nms_threshold=0.1, nms_sigma=0.1):
        """Least score after soft-NMS, and its sigma."""
        self.head = head
        self.nms_threshold = nms_threshold
        self.nms_sigma = nms_sigma

    def __call__(self, model, inputs, outputs):
        """Boxes of each label; at least as many lists as the model has labels."""
        boxes = nms_of(model, inputs)
        for label, score, box in self.head.decode(model, outputs):
            boxes.add_bounding_box(*box, score, label)
        found = boxes.get_bounding_boxes(self.nms_threshold, self.nms_sigma)
        while len(found) < len(model.labels or ()):
            found.append([])
        return found


def nms_of(model, inputs):
    """An NMS for the model's first input."""
    _, height, width, _ = model.input_shape[0]
    roi = getattr(inputs[0], "roi", None) or (0, 0, width, height)
    return NMS(width, height, roi)
