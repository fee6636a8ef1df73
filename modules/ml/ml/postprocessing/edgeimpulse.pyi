# SPDX-License-Identifier: MIT
"""`ml.postprocessing.edgeimpulse`: FOMO."""

from . import Detector

class Fomo(Detector):
    """Objects of a FOMO model; label 0 is the background."""

    def __init__(
        self,
        threshold: float = 0.4,
        nms_threshold: float = 0.1,
        nms_sigma: float = 0.1,
        size: float = 1.414214,
    ) -> None:
        """A box is as wide as `size` cells."""
