# SPDX-License-Identifier: MIT
"""TFLite metadata of a model: labels and normalisation, read on the board by `Model.metadata()`.

Source of the layout: metadata_schema.fbs of tensorflow/tflite-support. The metadata is the entry
TFLITE_METADATA; its files are in a ZIP archive after the model. Vela drops both.
"""

from __future__ import annotations

import argparse
import io
import math
import struct
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...base.errors import InputError
from ...base.files import read_whole, unpack
from .. import ModelFile, reading
from .flatbuffer_writer import encode, f32s, i8, u8
from .metadata import get, put

ENTRY = "TFLITE_METADATA"
IDENTIFIER = b"M001"
LABELS_FILE = "labels.txt"
_AXIS_LABELS = 2
_NORMALIZATION = 1
# The end record of an archive without a comment; zero bytes may follow it.
_END = struct.Struct("<4s4H2LH")
_MAX_PADDING = 1024
# This is far larger than any labels or vocabulary, and than the flash of any board.
_MAX_UNPACKED = 1 << 26


@dataclass
class ModelMetadata:
    """Metadata to store in a model; empty fields are not stored."""

    labels: Sequence[str] = ()
    mean: Sequence[float] = ()
    std: Sequence[float] = ()


def archive(data: bytes) -> dict[str, bytes]:
    """Read the files in the archive after a model; empty if it has no archive."""
    at = data.rfind(b"PK\5\6", max(0, len(data) - _MAX_PADDING))
    if at < 0:
        return {}
    try:
        return dict(unpack(data[: at + _END.size], _MAX_UNPACKED))
    except InputError as error:
        raise InputError(
            f"the ZIP archive of labels behind the model cannot be read: {error}; compile it with "
            "--labels FILE to replace the archive"
        ) from None


def copy(source: bytes, compiled: bytes) -> bytes:
    """Copy the source's metadata and files into a compiled model."""
    entry = get(source, ENTRY)
    return compiled if entry is None else _join(compiled, entry, archive(source))


def check(source: bytes) -> None:
    """Raise InputError unless `copy` can read the archive."""
    if get(source, ENTRY) is not None:
        archive(source)


def write(compiled: bytes, given: ModelMetadata, inputs: int, outputs: int) -> bytes:
    """Store metadata of the first input and output in a model, replacing any that it has.

    `inputs` and `outputs` are the numbers of the model's inputs and outputs.
    """
    for name, numbers in (("mean", given.mean), ("std", given.std)):
        if len(numbers) not in (0, 1, 3):
            raise InputError(f"{name} has {len(numbers)} numbers, 1 or 3 expected")
    if any(number <= 0 for number in given.std):
        raise InputError(f"std is {tuple(given.std)}, numbers above 0 expected")
    files = {LABELS_FILE: "\n".join(given.labels).encode() + b"\n"} if given.labels else {}
    return _join(compiled, _encode(given, inputs, outputs), files)


def _join(compiled: bytes, entry: bytes, files: Mapping[str, bytes]) -> bytes:
    model = put(compiled, {ENTRY: entry})
    if not files:
        return model
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as content:
        for name, data in files.items():
            content.writestr(zipfile.ZipInfo(name), data)
    return model + packed.getvalue()


def _encode(given: ModelMetadata, inputs: int, outputs: int) -> bytes:
    """Encode the flatbuffer ModelMetadata."""
    first_input: dict[int, Any] = {}
    first_output: dict[int, Any] = {}
    if given.mean and given.std:
        options = {0: f32s(given.mean), 1: f32s(given.std)}
        first_input[4] = [{0: u8(_NORMALIZATION), 1: options}]
    if given.labels:
        first_output[6] = [{0: LABELS_FILE, 2: i8(_AXIS_LABELS)}]
    graph = {
        2: [first_input, *({} for _ in range(inputs - 1))],
        3: [first_output, *({} for _ in range(outputs - 1))],
    }
    return encode({3: [graph], 7: "1.0.0"}, IDENTIFIER)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of a command that stores metadata."""
    parser.add_argument(
        "--labels",
        type=Path,
        metavar="FILE",
        help="store the lines of a text file as labels of the first output: Model.labels",
    )
    parser.add_argument(
        "--normalise",
        nargs=2,
        type=_numbers,
        metavar=("MEAN", "STD"),
        help="store the normalisation of image inputs, (pixel - MEAN) / STD: one number each, or "
        "one per channel, such as 123.7,116.3,103.5",
    )


def _numbers(text: str) -> tuple[float, ...]:
    numbers = tuple(map(float, text.split(",")))
    if len(numbers) not in (1, 3) or not all(map(math.isfinite, numbers)):
        raise ValueError
    return numbers


_numbers.__name__ = "number, or three with commas"  # for argparse's error messages


def given(args: argparse.Namespace, model: ModelFile) -> ModelMetadata | None:
    """Return the metadata given by options, if any; otherwise check the file's and return None."""
    if not args.labels and not args.normalise:
        with reading(model):
            check(model.data)
        return None
    labels: list[str] = []
    if args.labels:
        try:
            labels = [line.strip() for line in read_whole(args.labels).decode().splitlines()]
        except UnicodeDecodeError as error:
            raise InputError(f"{args.labels} is not UTF-8 text: {error}") from None
        if not labels or not all(labels):
            raise InputError(
                f"{args.labels} is empty or has an empty line; expected one label per line"
            )
    return ModelMetadata(labels, *(args.normalise or ((), ())))
