# SPDX-License-Identifier: MIT
"""Interprets a model's raw outputs: classes with labels, and objects with boxes.

Heads of detectors are post-processors: `ethosu.Model(path, postprocess=FOMO(threshold=0.5))`. They
return a list of (label, score, (x0, y0, x1, y1)), best first. Positions are fractions of the input
tensor, from 0 to 1; `place()` converts them to positions in the picture. Labels are numbers;
`model.labels` has their names. Only values above the threshold are converted to real values.
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
    """The `count` best (label or number, score) for raw values of output `index`, best first."""

def nms(
    found: Sequence[_Found], threshold: float = 0.0, limit: float = 0.5, sigma: float | None = None
) -> list[Any]:
    """Keep only the best of overlapping boxes with the same label.

    `found` are tuples (label, score, box, ...). A box whose IoU with a better one is above `limit`
    is removed. With `sigma`, its score becomes score * exp(-iou ** 2 / sigma) instead, and it is
    removed if that is not above the threshold (soft-NMS, arXiv 1704.04503).
    """

def join(found: Sequence[_Found]) -> list[_Found]:
    """Merge touching boxes with the same label, with the best of their scores; best first."""

def place(see: Any, box: _Box) -> tuple[int, int, int, int]:
    """Convert a box to (x, y, width, height) in pixels of the picture of the `Input` `see`."""

class Head:
    """A post-processor; a subclass has decode(model, outputs), which yields (label, score, box)."""

    def __init__(self, threshold: float = 0.5, limit: float = 0.5) -> None:
        """`threshold`: minimum score of an object; `limit`: maximum IoU of two objects."""

    def __call__(self, model: ethosu.Model, inputs: list[Any], outputs: list[Any]) -> Any:
        """Objects, best first."""

    def score(self, thing: float, label: float) -> float:
        """Score of an object: its objectness times the probability of its label."""

class FOMO(Head):
    """A grid of cells, each with a probability for each class; class 0 is the background.

    Source of the layout: Edge Impulse's documentation of FOMO. `size` is the width and height of a
    box in cells, as one number or two.
    """

    def __init__(self, threshold: float = 0.5, size: float | tuple[float, float] = 1.0) -> None:
        """`threshold`: minimum score of a cell; touching cells of one label are one object."""

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

    Each anchor has x, y (sigmoid, from the cell's corner), width, height (powers of e, times the
    anchor, in cells), objectness (sigmoid), and classes (softmax).
    """

    ANCHORS: Any
    """Widths and heights of Darknet's yolov2-voc."""

    def __init__(self, threshold: float = 0.5, limit: float = 0.5, anchors: Any = ...) -> None:
        """`anchors` are widths and heights in cells."""

    def decode(self, model: ethosu.Model, outputs: list[Any]) -> Iterator[_Found]:
        """Yield the best class of each anchor of each cell."""

class SSD(Head):
    """Two outputs of TensorFlow's SSD: boxes (1, n, 4) for n anchors, and scores (1, n, classes).

    Boxes are (y, x, height, width), encoded with `scales` as in TFLite_Detection_PostProcess. If
    the model contains this operator, its outputs (boxes, classes, scores, count) are used directly.
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
        """`anchors`: one row of y, x, height, width each, from 0 to 1.

        `logits`: scores are logits. `background`: class 0 is the background.
        """

    def decode(self, model: ethosu.Model, outputs: list[Any]) -> Iterator[_Found]:
        """Yield the objects."""
