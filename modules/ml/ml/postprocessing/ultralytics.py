# SPDX-License-Identifier: MIT
"""`ml.postprocessing.ultralytics`: YOLO v5 and v8."""

import ethosu_results

from . import Detector


class YoloV5(Detector):
    """Objects of a YOLO v5 model."""

    def __init__(self, threshold=0.6, nms_threshold=0.1, nms_sigma=0.1):
        """Least score; least score after soft-NMS, and its sigma."""
        super().__init__(ethosu_results.YoloV5(threshold), nms_threshold, nms_sigma)


class YoloV8(Detector):
    """Objects of a YOLO v8 model."""

    def __init__(self, threshold=0.6, nms_threshold=0.1, nms_sigma=0.1):
        """Least score; least score after soft-NMS, and its sigma."""
        super().__init__(ethosu_results.YoloV8(threshold), nms_threshold, nms_sigma)
