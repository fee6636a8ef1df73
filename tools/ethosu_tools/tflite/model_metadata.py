# SPDX-License-Identifier: MIT
"""TFLite metadata of a model: labels, normalisation; what `Model.metadata()` reads on the board.

Source of the layout: metadata_schema.fbs of tensorflow/tflite-support. The metadata is the entry
TFLITE_METADATA; its files are a ZIP archive behind the model. Vela leaves both out.
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from ..files import unpack
from ..flatbuffer_writer import encode, f32s, i8, u8
from .metadata import get, put

ENTRY = "TFLITE_METADATA"
IDENTIFIER = b"M001"
LABELS_FILE = "labels.txt"
_AXIS_LABELS = 2
_NORMALIZATION = 1
# The archive's end, as long as an archive without a comment has it; behind it may be zero bytes.
_END = struct.Struct("<4s4H2LH")
_PADDING_MOST = 1024
# Labels and vocabularies are far smaller, and so is the flash of every board.
_MOST_UNPACKED = 1 << 26


@dataclass
class Told:
    """What is to be said of a model; None or empty: nothing."""

    labels: Sequence[str] = ()
    mean: Sequence[float] = ()
    std: Sequence[float] = ()


def archive(data: bytes) -> dict[str, bytes]:
    """The files behind a model; an empty dict: there are none."""
    at = data.rfind(b"PK\5\6", max(0, len(data) - _PADDING_MOST))
    if at < 0:
        return {}
    try:
        return dict(unpack(data[: at + _END.size], _MOST_UNPACKED))
    except InputError as error:
        raise InputError(
            f"the ZIP archive of labels behind the model cannot be read: {error}; compile it with "
            "--labels FILE to replace the archive"
        ) from None


def copy(source: bytes, compiled: bytes) -> bytes:
    """A compiled model with the metadata and the files of its source."""
    entry = get(source, ENTRY)
    return compiled if entry is None else _join(compiled, entry, archive(source))


def check(source: bytes) -> None:
    """Raise InputError unless `copy` can read what it copies."""
    if get(source, ENTRY) is not None:
        archive(source)


def write(compiled: bytes, told: Told, inputs: int, outputs: int) -> bytes:
    """A model of so many inputs and outputs that says this of its first input and output.

    What it said before is replaced.
    """
    for name, numbers in (("mean", told.mean), ("std", told.std)):
        if len(numbers) not in (0, 1, 3):
            raise InputError(f"{name} has {len(numbers)} numbers, 1 or 3 expected")
    if any(number <= 0 for number in told.std):
        raise InputError(f"std is {tuple(told.std)}, numbers above 0 expected")
    files = {LABELS_FILE: "\n".join(told.labels).encode() + b"\n"} if told.labels else {}
    return _join(compiled, _encode(told, inputs, outputs), files)


def _join(compiled: bytes, entry: bytes, files: Mapping[str, bytes]) -> bytes:
    model = put(compiled, {ENTRY: entry})
    if not files:
        return model
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as content:
        for name, data in files.items():
            content.writestr(zipfile.ZipInfo(name), data)
    return model + packed.getvalue()


def _encode(told: Told, inputs: int, outputs: int) -> bytes:
    """The flatbuffer ModelMetadata."""
    first_input: dict[int, Any] = {}
    first_output: dict[int, Any] = {}
    if told.mean and told.std:
        options = {0: f32s(told.mean), 1: f32s(told.std)}
        first_input[4] = [{0: u8(_NORMALIZATION), 1: options}]
    if told.labels:
        first_output[6] = [{0: LABELS_FILE, 2: i8(_AXIS_LABELS)}]
    graph = {
        2: [first_input, *({} for _ in range(inputs - 1))],
        3: [first_output, *({} for _ in range(outputs - 1))],
    }
    return encode({3: [graph], 7: "1.0.0"}, IDENTIFIER)
