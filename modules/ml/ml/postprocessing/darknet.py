# SPDX-License-Identifier: MIT
"""`ml.postprocessing.darknet`: YOLO v2 and YOLO LC."""

import ethosu_results

from . import Detector

# The defaults of OpenMV's classes: width and height in cells.
_V2_ANCHORS = (
    (0.98830, 3.36060), (2.11940, 5.37590), (3.05200, 9.13360), (5.55170, 9.30660),
    (9.72600, 11.1422),
)  # fmt: skip
_LC_ANCHORS = (
    (0.076023, 0.258508), (0.163031, 0.413531), (0.234769, 0.702585), (0.427054, 0.715892),
    (0.748154, 0.857092),
)  # fmt: skip


class _V2(ethosu_results.YoloV2):
    def score(self, thing, label):
        return thing


class YoloV2(Detector):
    """Objects of a YOLO v2 model; the score is the objectness, regardless of the label."""

    _ANCHORS = _V2_ANCHORS

    def __init__(
        self,
        threshold: float = 0.6,
        anchors=None,
        nms_threshold: float = 0.1,
        nms_sigma: float = 0.1,
    ) -> None:
        """`anchors`: (width, height) in cells; by default those of OpenMV's class."""
        head = _V2(threshold, anchors=self._ANCHORS if anchors is None else anchors)
        super().__init__(head, nms_threshold, nms_sigma)


class YoloLC(YoloV2):
    """Objects of a YOLO LC model, which has the layout of YOLO v2."""

    _ANCHORS = _LC_ANCHORS
