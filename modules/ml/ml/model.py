# SPDX-License-Identifier: MIT
"""`ml.Model`: real values in, real values out; raw ones for a post-processor."""

import os

import ethosu
import uctypes

try:
    from ulab import numpy as np
except ImportError:
    np = None


class Model(ethosu.Model):
    """A model; `labels` are the lines of the .txt file with its name, else those in the file."""

    def __init__(self, path, postprocess=None, *, load_to_fb: bool = False, **options) -> None:
        """Load a model by its path, or by its name in /rom. `load_to_fb` has no effect.

        `postprocess` is called with (model, inputs, raw outputs); its result is predict()'s.
        """
        if isinstance(path, str):
            path = _find(path)
        super().__init__(path, **options)
        self.postprocess = postprocess
        self.labels = _labels(path)
        if self.labels is None:
            from _ethosu import read_labels

            self.labels = read_labels(self)

    def predict(self, inputs: list, *, callback=None):
        """Run once; returns real outputs, or what the callback or post-processor returns."""
        if not isinstance(inputs, (list, tuple)):
            raise TypeError(f"inputs is of type {type(inputs).__name__}, expected a list")
        inputs = [_bound(each) for each in inputs]
        tensors = self.inputs
        if len(inputs) != len(tensors):
            raise ValueError(f"{len(inputs)} inputs given, the model has {len(tensors)}")
        outputs = super().predict([_input(*each) for each in zip(inputs, tensors)])  # noqa: B905
        after = callback or self.postprocess
        if after is not None:
            return after(self, inputs, [_raw(*each) for each in zip(outputs, self.outputs)])  # noqa: B905
        return [_real(*each) for each in zip(outputs, self.outputs)]  # noqa: B905


def _bound(given):
    """Convert an image, an object with width and height, to an input."""
    if hasattr(given, "width") and hasattr(given, "height"):
        from .preprocessing import Normalization

        return Normalization()(given)
    return given


def _input(given, tensor):
    """Convert an input of OpenMV's kinds for `ethosu.Model`."""
    if np is not None and isinstance(given, np.ndarray):
        _check_shape(given.shape, tensor)

        def fill(memory, shape, dtype):
            try:
                tensor.quantize(given, memory)
            except TypeError:  # a slice with steps is not a buffer
                tensor.quantize(given.copy(), memory)

        return fill
    if callable(given):

        def call(memory, shape, dtype):
            size = len(memory) * _WIDTHS[dtype]
            given(uctypes.bytearray_at(uctypes.addressof(memory), size), shape, ord(dtype))

        return call
    return given


def _check_shape(shape, tensor):
    """Check that an array has the tensor's shape, or one dimension (ulab may lack four)."""
    if shape != tensor.shape and shape != (_count(tensor.shape),):
        raise ValueError(f"input {tensor.name} has shape {tensor.shape}, an array of {shape} given")


def _count(shape):
    count = 1
    for size in shape:
        count *= size
    return count


_WIDTHS = {"b": 1, "B": 1, "h": 2, "H": 2, "i": 4, "I": 4, "f": 4, "q": 8, "Q": 8, "d": 8}


def _raw(values, tensor):
    """An output as an array of ulab of the tensor's own type, if ulab has this type."""
    kind = _kinds().get(tensor.dtype)
    if kind is not None:
        return _shaped(np.frombuffer(values, dtype=kind), tensor.shape)
    return values if np is None else _real(values, tensor)


def _real(values, tensor):
    """An output as an array of real values; without ulab an array("f")."""
    if np is None:
        return tensor.dequantize(values)
    real = np.zeros(len(values))
    tensor.dequantize(values, real)
    return _shaped(real, tensor.shape)


def _kinds():
    return {} if np is None else {"b": np.int8, "B": np.uint8, "h": np.int16, "H": np.uint16}


def _shaped(array, shape):
    """With the tensor's shape; flat if this ulab does not support as many dimensions."""
    try:
        return array.reshape(shape)
    except (TypeError, ValueError):
        return array


def _find(path):
    """The given path if it exists, else the path of the model of this name in ROM."""
    for candidate in (path, f"/rom/{path}", f"/rom/{path}.tflite"):
        try:
            os.stat(candidate)
            return candidate
        except OSError:
            pass
    return path


def _labels(path):
    """Lines of the text file with a model's name; None if there is no file."""
    if not isinstance(path, str):
        return None
    try:
        with open(path.rsplit(".", 1)[0] + ".txt") as file:
            return [line.strip() for line in file]
    except OSError:
        return None
