# SPDX-License-Identifier: MIT
"""`ml.postprocessing.darknet`: YOLO v2 and YOLO LC."""

from typing import Any

from . import Detector

class YoloV2(Detector):
    """Objects of a YOLO v2 model; the score is that there is one, whatever its label."""

    def __init__(
        self,
        threshold: float = 0.6,
        anchors: Any = None,
        nms_threshold: float = 0.1,
        nms_sigma: float = 0.1,
    ) -> None:
        """Without anchors, (width, height) in cells: those of OpenMV's YoloV2."""

class YoloLC(YoloV2):
    """Objects of a YOLO LC model: the layout of YOLO v2."""

    def __init__(
        self,
        threshold: float = 0.6,
        anchors: Any = None,
        nms_threshold: float = 0.1,
        nms_sigma: float = 0.1,
    ) -> None:
        """Without anchors, (width, height) in cells: those of OpenMV's YoloLC."""
