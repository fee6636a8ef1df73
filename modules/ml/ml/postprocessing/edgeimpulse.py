# SPDX-License-Identifier: MIT
"""`ml.postprocessing.edgeimpulse`: FOMO."""

import ethosu_results

from . import Detector


class Fomo(Detector):
    """Objects of a FOMO model; label 0 is the background."""

    def __init__(self, threshold=0.4, nms_threshold=0.1, nms_sigma=0.1, size=1.414214):
        """A box is as wide as `size` cells."""
        super().__init__(ethosu_results.FOMO(threshold, size=size), nms_threshold, nms_sigma)
