# SPDX-License-Identifier: MIT
"""Model formats that neither board nor Vela accept, detected by the first bytes of a file."""

from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from ..files import read_whole

_EXPORT = (
    "load it in Python and pass a .py that defines `model` and `inputs` to `ethosu compile` "
    "(see `ethosu compile --help`)"
)
CALIBRATE = (
    "convert, quantise and compile it with: ethosu compile {path} --calibrate SAMPLES.npz, which "
    "keeps the quantised model as NAME_int8.tflite, for other commands and for --reference"
)


@dataclass(frozen=True)
class Format:
    """A format: name of its files, and remedy; by: the package that converts it."""

    title: str
    remedy: str
    by: str | None = None

    def message(self, path: Path) -> str:
        """An error message with the format and the remedy."""
        return f"{path} is {self.title}: {self.remedy.format(path=path)}"


KERAS = Format("a Keras model", CALIBRATE, "tensorflow")
SAVED_MODEL = Format("a SavedModel of TensorFlow", CALIBRATE, "tensorflow")
ONNX = Format("an ONNX model", CALIBRATE, "onnx2tf")
HDF5 = Format("a Keras model (HDF5)", CALIBRATE, "tensorflow")
PYTORCH = Format("weights or a model saved by PyTorch", _EXPORT)
GRAPH = Format(
    "a frozen graph of TensorFlow 1", "convert it with tf.compat.v1.lite.TFLiteConverter"
)
_HDF5_MARK = b"\x89HDF\r\n\x1a\n"
_ZIP_MARK = b"PK\x03\x04"
_NAMED = {".keras": "Keras model", ".h5": "Keras model (HDF5)", ".onnx": "ONNX model"}


def find(path: Path, data: bytes = b"") -> Format | None:
    """The format of a folder, or of a file with these contents; None if unknown."""
    if path.is_dir():
        return SAVED_MODEL if (path / "saved_model.pb").is_file() else None
    return of(data, path.suffix.lower())


def check(path: Path) -> None:
    """Report a file whose suffix does not match its contents."""
    if path.is_dir():
        raise InputError(f"{path} is not a SavedModel: saved_model.pb is missing")
    read_whole(path)
    if title := _NAMED.get(path.suffix.lower()):
        raise InputError(f"{path} is not a valid {title}: it is damaged, or in another format")


def of(data: bytes, suffix: str) -> Format | None:
    """The format of a file's contents; the suffix decides if they have no identifier."""
    if data.startswith(_HDF5_MARK):
        return HDF5
    if data.startswith(_ZIP_MARK):
        if b"config.json" in data and b"model.weights.h5" in data:
            return KERAS
        return PYTORCH if b"data.pkl" in data else None
    if suffix == ".onnx" and data[:1] == b"\x08":  # the version of the format is its first field
        return ONNX
    if suffix in (".pt", ".pth") and data[:1] == b"\x80":  # a pickle
        return PYTORCH
    return GRAPH if suffix == ".pb" and data[:1] == b"\x0a" else None
