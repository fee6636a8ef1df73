# SPDX-License-Identifier: MIT
"""Detects files that neither board nor Vela accept, by their first bytes."""

import json
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from ..base.errors import InputError
from ..base.files import read_whole


@dataclass(frozen=True)
class Format:
    """A format: name of its files, and remedy; by: the package that converts it."""

    title: str
    remedy: str
    by: str | None = None

    def message(self, path: Path) -> str:
        """An error message with the format and the remedy."""
        return f"{path} is {self.title}: {self.remedy.format(path=path)}"


_TABLE = json.loads(files(__package__).joinpath("kinds.json").read_text())
"""Kinds of files; the first match counts. `begins` is a regular expression for the first bytes as
characters, `has` is text anywhere in the file; `title` is null if the format is unknown."""
SAVED_MODEL = Format(
    "a SavedModel of TensorFlow",
    next(row["remedy"] for row in _TABLE if row.get("by")),
    "tensorflow",
)
_NAMED = {".keras": "Keras model", ".h5": "Keras model (HDF5)", ".onnx": "ONNX model"}


def find(path: Path, data: bytes = b"") -> Format | None:
    """Detect the format of a folder, or of a file with these contents; None if unknown."""
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
    """Return the format of a file's contents; without an identifier, the suffix decides."""
    text = data.decode("latin-1")
    for row in _TABLE:
        if (
            re.match(row["begins"], text)
            and all(part in text for part in row.get("has", ()))
            and suffix in row.get("suffixes", (suffix,))
        ):
            title = row["title"]
            return Format(title, row["remedy"], row.get("by")) if title else None
    return None
