# SPDX-License-Identifier: MIT
"""`ml.postprocessing.mediapipe`: faces, palms, landmarks and poses.

Results are lists of ([x, y, w, h], score, keypoints), in pixels of the image; an empty tuple when
there are none. Keypoints are an array of rows (x, y) or (x, y, more).
"""

from collections.abc import Sequence
from typing import Any

from ..model import Model

class mediapipe_detection_postprocess:  # noqa: N801
    """Boxes and keypoints at anchors: a grid of cells, each with several."""

    def __init__(
        self,
        threshold: float = 0.6,
        anchors: Any = None,
        anchor_grid: Sequence[tuple[int, int]] | None = None,
        scores: Sequence[int] = ...,
        cords: Sequence[int] = ...,
        nms_threshold: float = 0.1,
        nms_sigma: float = 0.1,
    ) -> None:
        """`scores` and `cords`: numbers of outputs. `anchor_grid`: (cells in a row, anchors)."""

    def __call__(self, model: Model, inputs: list[Any], outputs: list[Any]) -> Any:
        """Decode all pairs of outputs."""

class BlazeFace(mediapipe_detection_postprocess):
    """Faces: eyes, nose, mouth, ears are the 6 keypoints."""

    def __init__(
        self,
        threshold: float = 0.6,
        anchors: Any = None,
        nms_threshold: float = 0.1,
        nms_sigma: float = 0.1,
    ) -> None:
        """Of blazeface_front, 128 x 128."""

class BlazePalm(mediapipe_detection_postprocess):
    """Palms with 7 keypoints."""

    def __init__(
        self,
        threshold: float = 0.6,
        anchors: Any = None,
        nms_threshold: float = 0.1,
        nms_sigma: float = 0.1,
    ) -> None:
        """Of palm_detection_full, 192 x 192."""

class FaceLandmarks:
    """The mesh of a face: 468 keypoints (x, y, z)."""

    def __init__(self, threshold: float = 0.6) -> None:
        """Least score of a face."""

    def __call__(self, model: Model, inputs: list[Any], outputs: list[Any]) -> Any:
        """At most one face."""

class HandLandmarks:
    """A hand: 21 keypoints (x, y, z)."""

    def __init__(self, threshold: float = 0.6) -> None:
        """Least score of a hand."""

    def __call__(self, model: Model, inputs: list[Any], outputs: list[Any]) -> Any:
        """A list of left hands, one of right hands."""

class MoveNet:
    """A person: 17 keypoints (x, y, score), from a map of scores for each."""

    def __init__(self, threshold: float = 0.6) -> None:
        """Least score of a keypoint, and of a person."""

    def __call__(self, model: Model, inputs: list[Any], outputs: list[Any]) -> Any:
        """At most one person, around the keypoints above the threshold."""
