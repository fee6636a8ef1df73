# SPDX-License-Identifier: MIT
"""Compares outputs with those that a file keeps, bit by bit: for the fixture `golden`."""

import io
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import InputError, MismatchError
from ..base.files import write_whole
from ..model import arrays

Outputs = Mapping[str, Any] | Sequence[Any] | np.ndarray[Any, Any]


@dataclass(frozen=True)
class Golden:
    """Compares with files in the folder of a test; with `updates`, it writes them instead."""

    folder: Path
    test: str  # as pytest's command line names it
    updates: bool

    def __call__(self, path: Path | str, outputs: Outputs) -> None:
        """Compare an array, a list of arrays, or arrays by name with an .npz or .npy file.

        MismatchError: a value, type or shape differs; two NaN are equal. InputError: no such file.
        """
        file, found = self.folder / path, _named(outputs)
        if file.suffix not in (".npz", ".npy") or (file.suffix == ".npy" and len(found) != 1):
            raise InputError(f"{path} must end in .npz, or, for one array, in .npy")
        command = f"pytest {shlex.quote(self.test)} --ethosu-update"
        if self.updates:
            _write(file, found)
            return
        if not file.exists():
            raise InputError(f"there is no {file}; this makes it: {command}")
        expected = arrays.load(file)
        if file.suffix == ".npy":
            expected = dict(zip(found, expected.values(), strict=True))
        if wrong := _differences(found, expected):
            raise MismatchError(f"{path}: {'; '.join(wrong)}; if this is right: {command}")


def _named(outputs: Outputs) -> dict[str, Any]:
    """Name arrays by their numbers, as `ethosu run --output` does."""
    if isinstance(outputs, Mapping):
        return {str(name): np.asarray(array) for name, array in outputs.items()}
    several = [outputs] if isinstance(outputs, np.ndarray) else outputs
    return {str(number): np.asarray(array) for number, array in enumerate(several)}


def _write(file: Path, found: Mapping[str, Any]) -> None:
    """Write a file, all or nothing, since workers of pytest-xdist may write it at the same time."""
    if file.suffix == ".npz":
        arrays.save(file, found)
        return
    data = io.BytesIO()
    (array,) = found.values()
    np.save(data, array, allow_pickle=False)
    write_whole(file, data.getvalue())


def _differences(found: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    """Describe each array that differs in one clause."""
    if found.keys() != expected.keys():
        return [f"expected arrays {', '.join(expected)}, found {', '.join(found)}"]
    pairs = ((name, array, expected[name]) for name, array in found.items())
    return [f"array {name}: {text}" for name, *pair in pairs if (text := _difference(*pair))]


def _difference(found: Any, expected: Any) -> str:
    for what in ("dtype", "shape"):
        ours, theirs = getattr(found, what), getattr(expected, what)
        if ours != theirs:
            return f"expected {what} {theirs}, found {ours}"
    mask = _bytes(found) != _bytes(expected)
    wrong = mask.any(axis=-1).reshape(found.shape)
    if found.dtype.kind in "fc":
        wrong &= ~(np.isnan(found) & np.isnan(expected))
    count = np.count_nonzero(wrong)
    if not count:
        return ""
    first = tuple(int(each) for each in np.unravel_index(np.argmax(wrong), wrong.shape))
    return (
        f"{count:,} of {wrong.size:,} values differ, the first at {list(first)}: "
        f"expected {expected[first]}, found {found[first]}"
    )


def _bytes(array: Any) -> Any:
    """Return the bytes of each value in a row."""
    return np.ascontiguousarray(array).reshape(-1, 1).view(np.uint8)
