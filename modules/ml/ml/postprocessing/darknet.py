# SPDX-License-Identifier: MIT
"""`ml.postprocessing.darknet`: YOLO v2 and YOLO LC."""

import ethosu_results

from . import Detector


class YoloV2(Detector):
    """Objects of a YOLO v2 model with these anchors, (width, height) in cells."""

    def __init__(self, threshold=0.6, anchors=None, nms_threshold=0.1, nms_sigma=0.1):
        """Without anchors: those of Darknet's yolov2-voc."""
        anchors = ethosu_results.YoloV2.ANCHORS if anchors is None else anchors
        head = ethosu_results.YoloV2(threshold, anchors=anchors)
        super().__init__(head, nms_threshold, nms_sigma)


class YoloLC(YoloV2):
    """Objects of a YOLO LC model: the layout of YOLO v2."""
