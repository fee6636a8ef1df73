# SPDX-License-Identifier: MIT
"""`ml.postprocessing.ultralytics`: YOLO v5 and v8."""

import ethosu_results

from . import Detector


class _V5(ethosu_results.YoloV5):
    def score(self, thing, label):
        return thing


class YoloV5(Detector):
    """Objects of a YOLO v5 model; the score is the objectness, regardless of the label."""

    def __init__(
        self, threshold: float = 0.6, nms_threshold: float = 0.1, nms_sigma: float = 0.1
    ) -> None:
        """Least score; least score after soft-NMS, and its sigma."""
        super().__init__(_V5(threshold), nms_threshold, nms_sigma)


class YoloV8(Detector):
    """Objects of a YOLO v8 model."""

    def __init__(
        self, threshold: float = 0.6, nms_threshold: float = 0.1, nms_sigma: float = 0.1
    ) -> None:
        """Least score; least score after soft-NMS, and its sigma."""
        super().__init__(ethosu_results.YoloV8(threshold), nms_threshold, nms_sigma)
