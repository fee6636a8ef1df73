# SPDX-License-Identifier: MIT
"""`ml.postprocessing.edgeimpulse`: FOMO."""

import ethosu_results

from . import Detector


class Fomo(Detector):
    """Objects of a FOMO model; label 0 is the background."""

    def __init__(
        self,
        threshold: float = 0.4,
        w_scale: float = 1.414214,
        h_scale: float = 1.414214,
        nms_threshold: float = 0.1,
        nms_sigma: float = 0.001,
    ) -> None:
        """A box is `w_scale` cells wide and `h_scale` cells high."""
        head = ethosu_results.FOMO(threshold, size=(w_scale, h_scale))
        super().__init__(head, nms_threshold, nms_sigma)

    def decode(self, model, outputs: list):
        """Yield the best label of each cell."""
        best = {}
        for label, score, box in super().decode(model, outputs):
            if box not in best or score > best[box][1]:
                best[box] = label, score, box
        return best.values()
