# SPDX-License-Identifier: MIT
"""`ml.postprocessing.ultralytics`: YOLO v5 and v8."""

from . import Detector

class YoloV5(Detector):
    """Objects of a YOLO v5 model; the score is that there is one, whatever its label."""

    def __init__(
        self, threshold: float = 0.6, nms_threshold: float = 0.1, nms_sigma: float = 0.1
    ) -> None:
        """Least score; least score after soft-NMS, and its sigma."""

class YoloV8(Detector):
    """Objects of a YOLO v8 model."""

    def __init__(
        self, threshold: float = 0.6, nms_threshold: float = 0.1, nms_sigma: float = 0.1
    ) -> None:
        """Least score; least score after soft-NMS, and its sigma."""
