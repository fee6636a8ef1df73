# SPDX-License-Identifier: MIT
"""`ml.postprocessing.mediapipe`: faces, palms, landmarks and poses.

Results are lists of ([x, y, w, h], score, keypoints), in pixels of the image; an empty tuple when
there are none. Keypoints are an array of rows (x, y) or (x, y, more).
"""

from ethosu_results import Output, corners, logit, sigmoid
from ulab import numpy as np

from . import nms_of


class mediapipe_detection_postprocess:  # noqa: N801  (OpenMV's name)
    """Boxes and keypoints at anchors: a grid of cells, each with several."""

    def __init__(
        self,
        threshold=0.6,
        anchors=None,
        anchor_grid=None,
        scores=(),
        cords=(),
        nms_threshold=0.1,
        nms_sigma=0.1,
    ):
        """`scores` and `cords`: numbers of outputs. `anchor_grid`: (cells in a row, anchors)."""
        self.threshold = threshold
        self.anchors = anchors
        self.grid = anchor_grid or ()
        self.scores = scores
        self.cords = cords
        self.nms_threshold = nms_threshold
        self.nms_sigma = nms_sigma

    def __call__(self, model, inputs, outputs):
        """Decode all pairs of outputs."""
        boxes = nms_of(model, inputs)
        first = 0
        for score_index, cord_index in zip(self.scores, self.cords):  # noqa: B905
            scores = Output(model, outputs, score_index)
            cords = Output(model, outputs, cord_index)
            for index in scores.above(logit(self.threshold)):
                self._add(boxes, scores, cords, index, self._anchor(first + index))
            first += len(scores.values)
        found = boxes.get_bounding_boxes(self.nms_threshold, self.nms_sigma)
        return found[0] if found else ()

    def _add(self, boxes, scores, cords, index, anchor):
        width, height = boxes.window
        step = cords.shape[-1]
        x, y, w, h = (cords.real(index * step + i) for i in range(4))
        box = corners(x / width + anchor[0], y / height + anchor[1], w / width, h / height)
        keypoints = np.zeros(((step - 4) // 2, 2))
        for row in range(len(keypoints)):
            at = index * step + 4 + 2 * row
            keypoints[row, 0] = cords.real(at) / width + anchor[0]
            keypoints[row, 1] = cords.real(at + 1) / height + anchor[1]
        boxes.add_bounding_box(*box, sigmoid(scores.real(index)), 0, keypoints)

    def _anchor(self, index):
        """Centre of an anchor, 0.0 to 1.0."""
        if self.anchors is not None:
            return self.anchors[index]
        for cells, count in self.grid:
            if index < cells * cells * count:
                y, x = divmod(index // count, cells)
                return (x + 0.5) / cells, (y + 0.5) / cells
            index -= cells * cells * count
        raise ValueError("the model has more boxes than there are anchors")


class BlazeFace(mediapipe_detection_postprocess):
    """Faces: eyes, nose, mouth, ears are the 6 keypoints."""

    def __init__(self, threshold=0.6, anchors=None, nms_threshold=0.1, nms_sigma=0.1):
        """Of blazeface_front, 128 x 128."""
        grid = [(16, 2), (8, 6)]
        super().__init__(threshold, anchors, grid, [1, 2], [0, 3], nms_threshold, nms_sigma)


class BlazePalm(mediapipe_detection_postprocess):
    """Palms with 7 keypoints."""

    def __init__(self, threshold=0.6, anchors=None, nms_threshold=0.1, nms_sigma=0.1):
        """Of palm_detection_full, 192 x 192."""
        grid = [(24, 2), (12, 6)]
        super().__init__(threshold, anchors, grid, [0], [1], nms_threshold, nms_sigma)


def _landmarks(model, inputs, values, score, threshold):
    """One object of rows (x, y, z) in pixels of the tensor, and the box around them."""
    boxes = nms_of(model, inputs)
    rows = np.zeros((len(values.values) // 3, 3))
    for index in range(len(values.values)):
        size = boxes.window[index % 3] if index % 3 < 2 else 1
        rows[index // 3, index % 3] = values.real(index) / size
    box = (float(f(rows[:, i])) for f in (np.min, np.max) for i in (0, 1))
    boxes.add_bounding_box(*box, score, 0, rows)
    found = boxes.get_bounding_boxes(threshold)
    return found[0] if found else ()


class FaceLandmarks:
    """The mesh of a face: 468 keypoints (x, y, z)."""

    def __init__(self, threshold=0.6):
        """Least score of a face."""
        self.threshold = threshold

    def __call__(self, model, inputs, outputs):
        """At most one face."""
        score = sigmoid(Output(model, outputs, 1).real(0))
        if score <= self.threshold:
            return ()
        return _landmarks(model, inputs, Output(model, outputs, 0), score, self.threshold)


class HandLandmarks:
    """A hand: 21 keypoints (x, y, z)."""

    def __init__(self, threshold=0.6):
        """Least score of a hand."""
        self.threshold = threshold

    def __call__(self, model, inputs, outputs):
        """A list of left hands, one of right hands."""
        score = Output(model, outputs, 2).real(0)
        if score <= self.threshold:
            return ()
        right = Output(model, outputs, 0).real(0) > 0.5
        hands = _landmarks(model, inputs, Output(model, outputs, 3), score, self.threshold)
        return [[], hands] if right else [hands, []]


class MoveNet:
    """A person: 17 keypoints (x, y, score), from a map of scores for each."""

    def __init__(self, threshold=0.6):
        """Least score of a keypoint, and of a person."""
        self.threshold = threshold

    def __call__(self, model, inputs, outputs):
        """At most one person, around the keypoints above the threshold."""
        boxes = nms_of(model, inputs)
        out = Output(model, outputs)
        _, height, width, count = out.shape
        rows = np.zeros((count, 3))
        for index in range(count):
            place = int(np.argmax(out.values[index::count]))
            rows[index, 0] = (place % width + 0.5) / width
            rows[index, 1] = (place // width + 0.5) / height
            rows[index, 2] = out.real(place * count + index)
        sure = [row for row in rows if row[2] > self.threshold]
        if not sure:
            return ()
        score = sum([row[2] for row in sure]) / len(sure)
        box = [f([row[i] for row in sure]) for f in (min, max) for i in (0, 1)]
        boxes.add_bounding_box(*box, score, 0, rows)
        found = boxes.get_bounding_boxes(self.threshold)
        return found[0] if found else ()
