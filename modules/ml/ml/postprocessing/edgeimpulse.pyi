# SPDX-License-Identifier: MIT
"""`ml.postprocessing.edgeimpulse`: FOMO."""

from typing import Any

from ..model import Model
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

    def decode(self, model: Model, outputs: list[Any]) -> Any:
        """Yield the best label of each cell."""
