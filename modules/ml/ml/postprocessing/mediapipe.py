# SPDX-License-Identifier: MIT
"""`ml.postprocessing.mediapipe`: faces, palms, landmarks and poses.

Results are lists of ([x, y, w, h], score, keypoints), in pixels of the image; an empty tuple
if nothing is found. Keypoints are rows (x, y) or (x, y, more): an array of ulab, or a list without
ulab.
"""

from ethosu_results import Output, corners, logit, sigmoid

from ..utils import np, rows
from . import nms_of


class mediapipe_detection_postprocess:  # noqa: N801  (OpenMV's name)
    """Boxes and keypoints at anchors: a grid of cells, each with several."""

    def __init__(
        self,
        threshold: float = 0.6,
        anchors=None,
        anchor_grid=None,
        scores=(),
        cords=(),
        nms_threshold: float = 0.1,
        nms_sigma: float = 0.1,
    ) -> None:
        """`scores` and `cords`: numbers of outputs. `anchor_grid`: (cells in a row, anchors)."""
        self.threshold = threshold
        self.anchors = anchors
        self.grid = anchor_grid or ()
        self.scores = scores
        self.cords = cords
        self.nms_threshold = nms_threshold
        self.nms_sigma = nms_sigma

    def __call__(self, model, inputs: list, outputs: list):
        """Decode all pairs of outputs."""
        boxes = nms_of(model, inputs)
        first = 0
        for score_index, cord_index in zip(self.scores, self.cords):  # noqa: B905
            scores = Output(model, outputs, score_index)
            cords = Output(model, outputs, cord_index)
            limit = logit(self.threshold)
            for index in scores.above(limit):
                if scores.real(index) > limit:
                    self._add(boxes, scores, cords, index, self._anchor(first + index))
            first += len(scores.values)
        return boxes.get_bounding_boxes(self.nms_threshold, self.nms_sigma)[0]

    def _add(self, boxes, scores, cords, index, anchor):
        width, height = boxes.window_w, boxes.window_h
        step = cords.shape[-1]
        x, y, w, h = (cords.real(index * step + i) for i in range(4))
        x0, y0, x1, y1 = corners(
            x / width + anchor[0], y / height + anchor[1], w / width, h / height
        )
        keypoints = rows((step - 4) // 2, 2)
        at = index * step + 4
        for row in keypoints:
            row[0] = cords.real(at) + anchor[0] * width
            row[1] = cords.real(at + 1) + anchor[1] * height
            at += 2
        score = sigmoid(scores.real(index))
        box = x0 * width, y0 * height, x1 * width, y1 * height
        boxes.add_bounding_box(*box, score, 0, keypoints)

    def _anchor(self, index):
        """Centre of an anchor, 0.0 to 1.0."""
        if self.anchors is not None:
            return self.anchors[index]
        for cells, count in self.grid:
            if index < cells * cells * count:
                y, x = divmod(index // count, cells)
                return (x + 0.5) / cells, (y + 0.5) / cells
            index -= cells * cells * count
        raise ValueError("the model has more boxes than anchors")


class _Blaze(mediapipe_detection_postprocess):
    def __init__(
        self,
        threshold: float = 0.6,
        anchors=None,
        nms_threshold: float = 0.1,
        nms_sigma: float = 0.1,
    ) -> None:
        super().__init__(
            threshold, anchors, self._GRID, self._SCORES, self._CORDS, nms_threshold, nms_sigma
        )


class BlazeFace(_Blaze):
    """Faces, by blazeface_front, 128 x 128: eyes, nose, mouth, ears are the 6 keypoints."""

    _GRID, _SCORES, _CORDS = ((16, 2), (8, 6)), (1, 2), (0, 3)


class BlazePalm(_Blaze):
    """Palms with 7 keypoints, by palm_detection_full, 192 x 192."""

    _GRID, _SCORES, _CORDS = ((24, 2), (12, 6)), (0,), (1,)


class _Landmarks:
    """One object, at a score of at least the threshold."""

    def __init__(
        self, threshold: float = 0.6, nms_threshold: float = 0.1, nms_sigma: float = 0.1
    ) -> None:
        """Minimum score. The other arguments are OpenMV's, without effect on a single object."""
        self.threshold = threshold
        self.nms_threshold = nms_threshold
        self.nms_sigma = nms_sigma

    def _boxes(self, model, inputs, keypoints, sure, score, label=0):
        """The object, with the box around the keypoints that are `sure`."""
        boxes = nms_of(model, inputs)
        box = [f([row[i] for row in sure]) for f in (min, max) for i in (0, 1)]
        boxes.add_bounding_box(*box, score, label, keypoints)
        return boxes.get_bounding_boxes(self.nms_threshold, self.nms_sigma)


def _points(values):
    """Rows (x, y, z) in pixels of the tensor."""
    keypoints = rows(len(values.values) // 3, 3)
    at = 0
    for row in keypoints:
        row[0], row[1], row[2] = values.real(at), values.real(at + 1), values.real(at + 2)
        at += 3
    return keypoints


class FaceLandmarks(_Landmarks):
    """The mesh of a face: 468 keypoints (x, y, z)."""

    def __call__(self, model, inputs: list, outputs: list):
        """At most one face."""
        score = sigmoid(Output(model, outputs, 1).real(0))
        if score < self.threshold:
            return ()
        points = _points(Output(model, outputs, 0))
        return self._boxes(model, inputs, points, points, score)[0]


class HandLandmarks(_Landmarks):
    """A hand: 21 keypoints (x, y, z), in the first list if it is a left one, else the second."""

    def __call__(self, model, inputs: list, outputs: list):
        """A list of left hands; a right hand is in a second list."""
        score = Output(model, outputs, 2).real(0)
        if score < self.threshold:
            return ()
        right = Output(model, outputs, 0).real(0) > 0.5
        points = _points(Output(model, outputs, 3))
        return self._boxes(model, inputs, points, points, score, right)


def _largest(values, start, step):
    """Index of the largest of every step-th number from `start` on."""
    if np is not None:
        return int(np.argmax(values[start::step]))
    return (max(range(start, len(values), step), key=lambda i: values[i]) - start) // step


class MoveNet(_Landmarks):
    """A person: 17 keypoints (x, y, score), from a map of scores for each."""

    def __call__(self, model, inputs: list, outputs: list):
        """At most one person, around the keypoints above the threshold."""
        _, image_height, image_width, _ = model.input_shape[0]
        out = Output(model, outputs)
        _, height, width, count = out.shape
        keypoints = rows(count, 3)
        for index in range(count):
            place = _largest(out.values, index, count)
            keypoints[index][0] = (place % width + 0.5) / width * image_width
            keypoints[index][1] = (place // width + 0.5) / height * image_height
            keypoints[index][2] = out.real(place * count + index)
        sure = [row for row in keypoints if row[2] > self.threshold]
        if not sure:
            return ()
        score = sum([row[2] for row in sure]) / len(sure)
        return self._boxes(model, inputs, keypoints, sure, score)[0]
