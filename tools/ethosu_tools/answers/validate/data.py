# SPDX-License-Identifier: MIT
"""Data sets: .npz files, CSV files, folders by class, and Python scripts."""

import csv
import hashlib
import importlib.util
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...base.errors import InputError, UsageError
from ...base.files import read_whole
from ...model import arrays
from ...model.arrays import LABELS, Array
from ...model.graph import Tensor

_IMAGES = {".bmp", ".jpeg", ".jpg", ".pgm", ".png", ".ppm"}


@dataclass(frozen=True)
class Samples:
    """Some samples: an array per input with samples in the first dimension; and classes or -1."""

    inputs: tuple[Array, ...]
    labels: Array

    def __len__(self) -> int:
        return len(self.labels)


class DataSet:
    """All samples of a data set, for the inputs of a model."""

    def __init__(self, samples: Samples, classes: Sequence[str] = ()) -> None:
        """`classes` are optional names; `identity` is a hash of all samples."""
        self.samples = samples
        self.classes = tuple(classes)
        digest = hashlib.sha256()
        for array in (*samples.inputs, samples.labels):
            digest.update(f"{array.dtype} {array.shape}".encode() + array.tobytes())
        self.identity = digest.hexdigest()

    def block(self, start: int, stop: int) -> Samples:
        """Samples from `start` up to `stop`."""
        return Samples(
            tuple(each[start:stop] for each in self.samples.inputs),
            self.samples.labels[start:stop],
        )

    def chosen(self, numbers: Sequence[int]) -> dict[str, Array]:
        """Arrays of some samples, for a file: "0", "1", ..., and their "index" and "labels"."""
        inputs = enumerate(self.samples.inputs)
        found: dict[str, Array] = {str(key): array[[*numbers]] for key, array in inputs}
        return found | {"index": np.array(numbers), "labels": self.samples.labels[[*numbers]]}


def read(source: str, tensors: Sequence[Tensor], classes: int) -> DataSet:
    """Read FILE.npz, FILE.npy, FILE.csv, a folder with a folder for each class, or FILE.py:NAME.

    `classes`: the model's number of classes.
    """
    data = _read(source, tensors)
    labels = data.samples.labels
    wrong = np.flatnonzero(np.greater_equal(labels, classes))
    if len(wrong):
        raise InputError(_bad_label(source, labels[wrong[0]], wrong[0], f" to {classes - 1}"))
    return data


def _read(source: str, tensors: Sequence[Tensor]) -> DataSet:
    path = Path(source)
    if path.is_dir():
        return _folder(path, tensors)
    readers = {".npz": _npz, ".npy": _npz, ".csv": _csv}
    if path.suffix in readers:
        return readers[path.suffix](path, tensors)
    script, _, name = source.rpartition(":")
    if script.endswith(".py") and name.isidentifier():
        return _script(Path(script), name, tensors)
    raise UsageError(
        f"{source} is not a data set: expected FILE.npz, FILE.npy, FILE.csv, a folder with a "
        "folder for each class, or FILE.py:NAME"
    )


def classes_of(output: Tensor) -> int:
    """Return an output's number of classes; a single value has two, with the threshold at 0.5."""
    return max(2, math.prod(output.shape))


def _bad_label(source: str | Path, label: object, index: int, end: str = " on") -> str:
    return (
        f"{source} has the class {label} at index {index}: expected whole numbers from 0{end}, "
        "the model's classes"
    )


def _classes(path: Path, given: Array) -> Array:
    """Classes as integers; InputError reports the first that is not one."""
    if given.dtype.kind not in "biuf" or given.ndim != 1:
        raise InputError(
            f"the classes of {path} must be one whole number for each sample, found {given.dtype} "
            f"of shape {list(given.shape)}"
        )
    numbers = given.astype(np.float64)
    wrong = np.flatnonzero(~((numbers >= 0) & (numbers < 2**31) & (numbers == np.rint(numbers))))
    if len(wrong):
        raise InputError(_bad_label(path, given[wrong[0]], wrong[0]))
    return given.astype(np.int64)


def _npz(path: Path, tensors: Sequence[Tensor]) -> DataSet:
    loaded = arrays.load(path)
    own = {each.name for index, each in enumerate(tensors) if str(index) not in loaded}
    labels = [loaded.pop(name) for name in LABELS if name in loaded and name not in own]
    if len(loaded) == 1 and len(tensors) == 1:  # whatever its name
        loaded = {"0": next(iter(loaded.values()))}
    try:
        columns = arrays.in_order(loaded, tensors)
    except InputError as error:
        raise InputError(f"{path}: {error}; labels are allowed as well") from error
    return _data_set(path, columns, _classes(path, labels[0]) if labels else None, tensors)


def _csv(path: Path, tensors: Sequence[Tensor]) -> DataSet:
    """One row per sample: a column `label`, the others are the values of the only input."""
    content = read_whole(path)
    try:
        rows = list(csv.reader(io.StringIO(content.decode())))
        header, values = rows[0], np.array(rows[1:])
        if len(tensors) != 1 or values.ndim != 2 or values.shape[1] != len(header):
            raise ValueError(f"expected {len(header)} columns in each row, and one input")
        at = next((header.index(name) for name in LABELS if name in header), None)
        labels = None if at is None else values[:, at].astype(np.float64)
        numbers = values if at is None else np.delete(values, at, axis=1)
        column = numbers.astype(np.float32)
        column = column.reshape(len(column), *tensors[0].shape)
    except (IndexError, OverflowError, ValueError, csv.Error) as error:
        raise InputError(f"{path} is not a CSV file of samples: {error}") from None
    return _data_set(path, [column], None if labels is None else _classes(path, labels), tensors)


def _folder(path: Path, tensors: Sequence[Tensor]) -> DataSet:
    """A folder per class, with arrays (.npy) and images."""
    classes = sorted(each.name for each in path.iterdir() if each.is_dir())
    rows, labels = [], []
    for index, name in enumerate(classes):
        for file in sorted((path / name).iterdir()):
            content = read_whole(file)
            rows.append(_sample(file, content, tensors[0]))
            labels.append(index)
    if not rows or len(tensors) != 1:
        raise InputError(f"{path} must have a folder for each class, for a model with one input")
    data = _data_set(path, [np.stack(rows)], np.array(labels), tensors)
    return DataSet(data.samples, classes)


def _sample(path: Path, content: bytes, tensor: Tensor) -> Array:
    if path.suffix == ".npy":
        array = arrays.load_one(path, content)
        if not arrays.is_same_layout(array.shape, tensor.shape):
            raise InputError(
                f"{path} must have shape {list(tensor.shape)}, found {list(array.shape)}"
                f"{arrays.advice(array.shape, tensor.shape)}"
            )
        return array.reshape(tensor.shape)
    if path.suffix in _IMAGES:
        return _image(path, content, tensor)
    raise InputError(f"{path} is neither an array (.npy) nor an image")


def _image(path: Path, content: bytes, tensor: Tensor) -> Array:
    """Pixels of an image in the model's size; 0 is the lowest raw value, as in camera drivers."""
    if len(tensor.shape) != 4 or tensor.shape[0] != 1 or tensor.shape[3] not in (1, 3):
        raise InputError(f"{path} is a picture, but the input has shape {list(tensor.shape)}")
    _, height, width, depth = tensor.shape
    mode = "L" if depth == 1 else "RGB"
    pixels = arrays.picture(str(path), content, mode, (width, height)).reshape(tensor.shape)
    if tensor.dtype == "int8":
        return (pixels.astype(np.int16) - 128).astype(np.int8)
    return pixels if tensor.dtype == "uint8" else (pixels / 255).astype(np.float32)


def _script(path: Path, name: str, tensors: Sequence[Tensor]) -> DataSet:
    """Samples, or pairs of sample and class, from NAME of a script: an iterable or function."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    given: Any = getattr(module, name, None)
    rows: Iterable[Any] = given() if callable(given) else given
    if given is None or not isinstance(rows, Iterable):
        raise InputError(f"{path} has no iterable {name}")
    columns: list[list[Array]] = [[] for _ in tensors]
    labels: list[Any] = []  # None if unknown
    for row in rows:
        sample, label = row if isinstance(row, tuple) else (row, None)
        for column, array in zip(
            columns, sample if isinstance(sample, list) else [sample], strict=True
        ):
            column.append(np.asarray(array))
        labels.append(label)
    stacked = [np.stack(column) for column in columns if column]
    numbers = _classes(path, np.array([0 if each is None else each for each in labels]))
    numbers[[each is None for each in labels]] = -1
    return _data_set(path, stacked, numbers, tensors)


def _data_set(
    path: Path,
    columns: Sequence[Array],
    labels: Array | None,
    tensors: Sequence[Tensor],
) -> DataSet:
    """Check and reshape all arrays to the tensors' shapes; real values become float32."""
    checked = []
    for index, (array, tensor) in enumerate(zip(columns, tensors, strict=False)):
        shape = (len(array) if array.ndim else 0, *tensor.shape)
        if array.ndim and not len(array):
            raise InputError(f"input {index} of {path} has no samples")
        if not shape[0] or not arrays.is_same_layout(array.shape[1:], tensor.shape):
            raise InputError(
                f"input {index} of {path} must have shape [samples, "
                f"{', '.join(map(str, tensor.shape))}], found {list(array.shape)}"
                f"{arrays.advice(array.shape, tensor.shape, lead=1) if shape[0] else ''}"
            )
        real = np.issubdtype(array.dtype, np.floating)
        if array.dtype != np.dtype(tensor.dtype) and not (real and tensor.scale):
            raise InputError(
                f"input {index} of {path} must be {tensor.dtype} (raw values) or float32 (real "
                f"values), found {array.dtype}"
            )
        arrays.check_finite(f"input {index} of {path}", array)
        checked.append(array.astype(np.float32 if real else array.dtype).reshape(shape))
    count = len(checked[0]) if checked else 0
    if labels is None:
        labels = np.full(count, -1)
    if not checked or any(len(each) != count for each in (*checked, labels)):
        raise InputError(f"{path} has no arrays, or their lengths differ")
    return DataSet(Samples(tuple(checked), labels))
