# SPDX-License-Identifier: MIT
"""`ml.postprocessing.darknet`: YOLO v2 and YOLO LC."""

from typing import Any

from . import Detector

class YoloV2(Detector):
    """Objects of a YOLO v2 model with these anchors, (width, height) in cells."""

    def __init__(
        self,
        threshold: float = 0.6,
        anchors: Any = None,
        nms_threshold: float = 0.1,
        nms_sigma: float = 0.1,
    ) -> None:
        """Without anchors: those of Darknet's yolov2-voc."""

class YoloLC(YoloV2):
    """Objects of a YOLO LC model: the layout of YOLO v2."""
