# SPDX-License-Identifier: MIT
"""What a model's raw outputs mean: classes with labels, and objects with boxes.

Heads of detectors are post-processors: `ethosu.Model(path, postprocess=FOMO(threshold=0.5))`. They
return a list of (label, score, (x0, y0, x1, y1)), best first; positions are from 0 to 1 of the
input tensor, and `place()` puts them into the picture. Labels are numbers: `model.labels` has their
names. Only values above the threshold are converted to real ones.
"""

from array import array as _array
from collections.abc import Iterator, Sequence
from typing import Any

import ethosu
from ethosu_image import argmax as argmax

_Box = tuple[float, float, float, float]
_Found = tuple[int, float, _Box]

def softmax(values: Any, scale: float = 1.0, zero_point: int = 0) -> _array[float]:
    """Probabilities of raw values, in a new array("f")."""

def top(
    model: ethosu.Model, values: Any, count: int = 5, index: int = 0
) -> list[tuple[str | int, float]]:
    """The best (label or number, score) of raw values of output `index`, best first."""

def nms(
    found: Sequence[_Found], threshold: float = 0.0, limit: float = 0.5, sigma: float | None = None
) -> list[Any]:
    """Leave the best of boxes of one label that overlap.

    `found` are tuples (label, score, box, ...). A box whose IoU with a better one is above `limit`
    goes; with `sigma` its score becomes score * exp(-iou ** 2 / sigma) instead, and it goes when
    that is not above the threshold (soft-NMS, arXiv 1704.04503).
    """

def join(found: Sequence[_Found]) -> list[_Found]:
    """_Boxes of one label that touch become one, with the best of their scores; best first."""

def place(see: Any, box: _Box) -> tuple[int, int, int, int]:
    """A box of the tensor as (x, y, width, height) in pixels of the picture of an `Input`."""

class Head:
    """A post-processor; a subclass has decode(model, outputs), which yields (label, score, box)."""

    def __init__(self, threshold: float = 0.5, limit: float = 0.5) -> None:
        """Least score of an object; largest IoU of two of them."""

    def __call__(self, model: ethosu.Model, inputs: list[Any], outputs: list[Any]) -> Any:
        """Objects, best first."""

    def score(self, thing: float, label: float) -> float:
        """Of an object: how sure it is that it is one, times how sure its label is."""

class FOMO(Head):
    """A grid of cells, each with a probability for each class; class 0 is the background.

    Source of the layout: Edge Impulse's documentation of FOMO. A box is `size` cells wide
    and high, or a size for each.
    """

    def __init__(self, threshold: float = 0.5, size: float | tuple[float, float] = 1.0) -> None:
        """Least score of a cell; cells of one label that touch are one object."""

    def __call__(self, model: ethosu.Model, inputs: list[Any], outputs: list[Any]) -> Any:
        """Objects, best first."""

    def decode(self, model: ethosu.Model, outputs: list[Any]) -> Iterator[_Found]:
        """Yield all cells."""

class YoloV8(Head):
    """One output (1, 4 + classes, boxes): centre, width, height from 0 to 1, scores."""

    def decode(self, model: ethosu.Model, outputs: list[Any]) -> Iterator[_Found]:
        """Yield the best class of each box."""

class YoloV5(Head):
    """One output (1, boxes, 5 + classes): centre, width, height from 0 to 1, objectness, scores."""

    def decode(self, model: ethosu.Model, outputs: list[Any]) -> Iterator[_Found]:
        """Yield the best class of each box."""

class YoloV2(Head):
    """A grid (1, rows, columns, anchors * (5 + classes)) of Darknet: arXiv 1612.08242.

    Of each anchor: x, y (sigmoid, from the cell's corner), width, height (powers of e, times the
    anchor, in cells), objectness (sigmoid), classes (softmax).
    """

    ANCHORS: Any
    """Widths and heights of Darknet's yolov2-voc."""

    def __init__(self, threshold: float = 0.5, limit: float = 0.5, anchors: Any = ...) -> None:
        """`anchors` are widths and heights in cells."""

    def decode(self, model: ethosu.Model, outputs: list[Any]) -> Iterator[_Found]:
        """Yield the best class of each anchor of each cell."""

class SSD(Head):
    """Two outputs of TensorFlow's SSD: boxes (1, n, 4) for n anchors, and scores (1, n, classes).

    Box: (y, x, height, width), encoded as TFLite_Detection_PostProcess has it, by `scales`. A model
    that has this operator itself gives boxes, classes, scores, count: these are read as they are.
    """

    def __init__(
        self,
        threshold: float = 0.5,
        limit: float = 0.5,
        anchors: Any = None,
        scales: Sequence[float] = ...,
        logits: bool = False,
        background: bool = True,
    ) -> None:
        """`anchors`: a row of y, x, height, width each, from 0 to 1. `logits`: scores are such.

        `background`: class 0 is nothing.
        """

    def decode(self, model: ethosu.Model, outputs: list[Any]) -> Iterator[_Found]:
        """Yield the objects."""
