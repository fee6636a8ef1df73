# SPDX-License-Identifier: MIT
"""`ml.postprocessing`: what outputs of models from several sources mean, as OpenMV returns it.

Detectors return a list for each label of ([x, y, w, h], score), in pixels of the image, up to the
last label that was found; an empty tuple when no score is above the threshold.
"""

from typing import Any

from ..model import Model as Model
from ..utils import NMS as NMS

class Detector:
    """OpenMV's results of a head of `ethosu_results`."""

    def __init__(self, head: Any, nms_threshold: float = 0.1, nms_sigma: float = 0.1) -> None:
        """Least score after soft-NMS, and its sigma."""

    @property
    def threshold(self) -> float:
        """The score that an object is above."""

    def __call__(self, model: Model, inputs: list[Any], outputs: list[Any]) -> Any:
        """Boxes of each label."""

    def decode(self, model: Model, outputs: list[Any]) -> Any:
        """Yield (label, score, box from 0.0 to 1.0) of scores above the threshold, not at it."""

def nms_of(model: Model, inputs: list[Any]) -> NMS:
    """An NMS for the model's first input."""
