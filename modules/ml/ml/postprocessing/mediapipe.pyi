# SPDX-License-Identifier: MIT
"""`ml.postprocessing.mediapipe`: faces, palms, landmarks and poses.

Results are lists of ([x, y, w, h], score, keypoints), in pixels of the image; an empty tuple when
there are none. Keypoints are rows (x, y) or (x, y, more): an array of ulab, without ulab a list.
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

class _Landmarks:
    """One object, at a score of at least the threshold."""

    def __init__(
        self, threshold: float = 0.6, nms_threshold: float = 0.1, nms_sigma: float = 0.1
    ) -> None:
        """Least score. The others are OpenMV's, and change nothing for one object."""

class FaceLandmarks(_Landmarks):
    """The mesh of a face: 468 keypoints (x, y, z)."""

    def __call__(self, model: Model, inputs: list[Any], outputs: list[Any]) -> Any:
        """At most one face."""

class HandLandmarks(_Landmarks):
    """A hand: 21 keypoints (x, y, z), in the first list if it is a left one, else the second."""

    def __call__(self, model: Model, inputs: list[Any], outputs: list[Any]) -> Any:
        """At most one hand."""

class MoveNet(_Landmarks):
    """A person: 17 keypoints (x, y, score), from a map of scores for each."""

    def __call__(self, model: Model, inputs: list[Any], outputs: list[Any]) -> Any:
        """At most one person."""
