# SPDX-License-Identifier: MIT
"""The outputs that Seeed's SSCMA can post-process: others end in "Invoke failed".

Source: Seeed-Studio/SSCMA-Micro@60e2ede, ModelFactory::create() in
sscma/core/model/ma_model_factory.cpp, which tries each kind of model, and `isValid` of each kind,
such as sscma/core/model/ma_model_rtmdet.cpp. Without a match the reply has code 8 (not supported).
Kinds that no other shape than those of an earlier one would match are left out.
"""

from collections import Counter
from collections.abc import Callable, Sequence

Shape = tuple[int, ...]
# Input's height and width; the shapes of the outputs.
_Test = Callable[[int, int, Sequence[Shape]], bool]
_STRIDES = (8, 16, 32)


def _image(shape: Shape) -> tuple[int, int] | None:
    """Height and width of an input that all kinds accept; None if they do not."""
    if len(shape) != 4 or shape[0] != 1:
        return None
    nhwc = shape[3] in (1, 3)
    height, width = shape[1:3] if nhwc else shape[2:4]
    channels = shape[3] if nhwc else shape[1]
    if channels not in (1, 3) or height < 32 or height % 32:
        return None
    return height, width


def _one_row(height: int, width: int, outputs: Sequence[Shape]) -> bool:
    """Classes, points, FOMO's cells, or the boxes of YOLOv5: all that the classifier also takes."""
    return len(outputs) == 1 and len(outputs[0]) > 1 and outputs[0][0] == 1 and outputs[0][1] > 1


def _rows(outputs: Sequence[Shape], count: int) -> bool:
    return len(outputs) == count and all(len(each) == 3 and each[0] == 1 for each in outputs)


def _per_stride(height: int, width: int, outputs: Sequence[Shape]) -> bool:
    """RTMDet and YOLO-World: boxes (4 or 64 values) and classes of each stride, three axes each."""
    if height != width or not _rows(outputs, 6):
        return False
    cells = Counter((min(height, width) // stride) ** 2 for stride in _STRIDES)
    return any(
        Counter(shape[1] for shape in outputs if shape[2] == values) == cells
        and Counter(shape[1] for shape in outputs if shape[2] != values) == cells
        for values in (4, 64)
    )


def _pose(height: int, width: int, outputs: Sequence[Shape]) -> bool:
    """YOLOv8 pose: 64 values and one score of each stride, and all points."""
    if height != width or not _rows(outputs, 7):
        return False
    cells = Counter((min(height, width) // stride) ** 2 for stride in _STRIDES)
    rest = [shape for shape in outputs if shape[2] not in (1, 64)]
    return (
        all(
            Counter(shape[1] for shape in outputs if shape[2] == values) == cells
            for values in (1, 64)
        )
        and len(rest) == 1
        and rest[0][2] % 3 == 0
        and rest[0][1] == sum(cells.elements())
    )


def _maps(height: int, width: int, outputs: Sequence[Shape]) -> bool:
    """YOLOv8, YOLO11 and YOLO26: six maps with channels first, in pairs or boxes first."""
    if len(outputs) < 6:
        return False
    for boxes, classes in ((outputs[0:6:2], outputs[1:6:2]), (outputs[0:3], outputs[3:6])):
        grids = [width // stride for stride in _STRIDES]
        pairs = zip(boxes, classes, grids, strict=True)
        if all(
            len(box) == len(kind) == 4 and box[1] in (4, 64) and box[2:] == kind[2:] == (grid, grid)
            for box, kind, grid in pairs
        ):
            return True
    return False


def _detectnet(height: int, width: int, outputs: Sequence[Shape]) -> bool:
    """NVIDIA's DetectNet: two maps with a sixteenth of the input's height and width."""
    grid = (height // 16, width // 16)
    maps = all(len(shape) >= 4 and tuple(shape[1:3]) == grid for shape in outputs)
    return height == width and len(outputs) == 2 and maps


def _segmentation(height: int, width: int, outputs: Sequence[Shape]) -> bool:
    """YOLO11 segmentation: rows of boxes, classes and 32 factors, and 32 masks."""
    if len(outputs) != 2 or len(outputs[0]) not in (3, 4) or len(outputs[1]) != 4:
        return False
    rows, masks = outputs
    cells = sum((width // stride) ** 2 for stride in _STRIDES)
    return (
        rows[0] == 1
        and rows[1] >= 37
        and rows[2] == cells
        and masks == (1, 32, width // 4, width // 4)
    )


KINDS: dict[str, _Test] = {
    "one output with classes, points, FOMO's cells or YOLOv5's boxes": _one_row,
    "RTMDet or YOLO-World: six outputs [1, cells, values]": _per_stride,
    "YOLOv8 pose: seven outputs [1, cells, values]": _pose,
    "YOLOv8, YOLO11 or YOLO26: six maps [1, values, rows, columns]": _maps,
    "DetectNet: two maps": _detectnet,
    "YOLO11 segmentation: rows and masks": _segmentation,
}


def kind(inputs: Sequence[Shape], outputs: Sequence[Shape]) -> str | None:
    """The kind of model that SSCMA takes these shapes for; None: it refuses them."""
    image = _image(inputs[0]) if len(inputs) == 1 else None
    if image is None:
        return None
    return next((name for name, test in KINDS.items() if test(*image, outputs)), None)
