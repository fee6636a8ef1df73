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

def rows(count: int, width: int) -> Any:
    """`count` keypoints of `width` numbers each: an array of ulab, or a list of array("f")."""

class NMS:
    """Boxes of one inference: soft non-maximum suppression, and places in the original image.

    Boxes are whole pixels of the tensor, and suppress those of other labels, too.
    """

    def __init__(self, window_w: int, window_h: int, roi: Sequence[int]) -> None:
        """The tensor's width and height, and the part of the image that it was made of.

        ValueError: the part is empty.
        """

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
        """Add a box in pixels of the tensor; keypoints are rows (x, y, ...) in such pixels.

        What is outside the tensor is cut off. A box without a pixel, or with a score that is not
        from 0.0 to 1.0, is left out.
        """

    def get_bounding_boxes(self, threshold: float = 0.1, sigma: float = 0.1) -> list[list[Any]]:
        """A list for each label of ([x, y, w, h], score), with keypoints if boxes have them.

        The best box lowers the score of another to score * exp(-iou ** 2 / sigma), and leaves out
        those that are then below the threshold. Results are in pixels of the image; keypoints are
        changed in place.
        """

def draw_predictions(
    image: Any,
    boxes: Sequence[Sequence[float]],
    labels: Sequence[str],
    colors: Sequence[Any],
    scores: Any = None,
    format: str | None = "pascal_voc",
    font_width: int = 8,
    font_height: int = 10,
    text_color: Any = ...,
) -> None:
    """Draw boxes with labels on an image; letters and lines are larger on a large one.

    `format`: "pascal_voc" has (x0, y0, x1, y1) from 0.0 to 1.0, "point" has (x, y, w, h) in pixels
    and draws a dot in the middle, any other has (x, y, w, h) in pixels.
    """

def draw_keypoints(
    image: Any,
    keypoints: Any,
    radius: int = 4,
    color: Any = ...,
    thickness: int = 1,
    fill: bool = False,
) -> None:
    """Draw rows (x, y, ...) as circles, as pixels with a radius of 0, not with a negative one."""

def draw_skeleton(
    image: Any,
    keypoints: Any,
    lines: Sequence[Sequence[int]],
    kp_radius: int = 4,
    kp_color: Any = ...,
    kp_thickness: int = 1,
    kp_fill: bool = False,
    line_color: Any = ...,
    line_thickness: int = 1,
) -> None:
    """Draw keypoints, and lines between pairs of their numbers."""
