# SPDX-License-Identifier: MIT
"""`ml.utils`: quantised numbers, overlapping boxes, drawing on an image."""

from collections.abc import Sequence
from typing import Any

from .model import Model

def logit(x: Any) -> Any:
    """Logit of each number, the inverse of the sigmoid."""

def sigmoid(x: Any) -> Any:
    """Sigmoid of each number."""

def threshold(
    scores: Any, threshold: float, scale: float, find_max: bool = False, find_max_axis: int = 1
) -> Any:
    """Indices of scores above a quantised threshold; below it, when scale is negative.

    With `find_max`, of the largest (or smallest) scores along an axis.
    """

def quantize(model: Model, value: Any, index: int = 0) -> Any:
    """Raw values of an output for real ones, not rounded; of a float output: the value."""

def dequantize(model: Model, value: Any, index: int = 0) -> Any:
    """Real values of an output's raw ones; of a float output: value."""

class NMS:
    """Boxes of one inference: soft non-maximum suppression, and places in the original image.

    Boxes are whole pixels of the tensor, as OpenMV has them, and suppress those of other labels.
    """

    def __init__(self, window_w: int, window_h: int, roi: Sequence[int] | None) -> None:
        """The tensor's width and height, and the part of the image that it was made of."""

    def add_bounding_box(
        self,
        xmin: float,
        ymin: float,
        xmax: float,
        ymax: float,
        score: float,
        label_index: int,
        keypoints: Any = None,
    ) -> None:
        """Add a box of the tensor, 0.0 to 1.0; keypoints are rows (x, y, ...) from 0.0 to 1.0."""

    add_bounding_boxes = add_bounding_box

    def map_keypoints(self, keypoints: Any) -> Any:
        """Rows (x, y, ...) from 0.0 to 1.0 of the tensor, in pixels of the image, in place."""

    def get_bounding_boxes(
        self, threshold: float = 0.1, sigma: float | None = 0.1
    ) -> list[list[Any]]:
        """A list for each label of ([x, y, w, h], score), with keypoints if boxes have them."""

def draw_predictions(
    image: Any,
    boxes: Sequence[Sequence[int]],
    labels: Sequence[str] | None,
    colors: Sequence[Any],
    scores: Any = None,
    format: str | None = "pascal_voc",
    font_width: int = 8,
    font_height: int = 10,
    text_color: Any = ...,
) -> None:
    """Draw boxes (x, y, w, h) with labels on an image that has draw_rectangle, draw_string."""

def draw_keypoints(
    image: Any,
    keypoints: Any,
    radius: int = 4,
    color: Any = ...,
    thickness: int = 1,
    fill: bool = False,
) -> None:
    """Draw rows (x, y, ...) as circles."""

def draw_skeleton(
    image: Any,
    keypoints: Any,
    lines: Sequence[Sequence[int]],
    kp_color: Any = ...,
    line_color: Any = ...,
) -> None:
    """Draw keypoints, and lines between pairs of their numbers."""
