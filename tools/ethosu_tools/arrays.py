# SPDX-License-Identifier: MIT
"""Arrays for a model's ends, kept in `.npz` files under the keys "0", "1", …, or names of inputs.

Values are raw quantised numbers. An array has its tensor's shape, or a time axis in front of it:
then the model is invoked once per index, keeping its state.
"""

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .errors import InputError, UsageError
from .files import LARGEST, read_whole, write_whole
from .tflite import Tensor

Array = NDArray[np.generic]


@dataclass(frozen=True)
class Feed:
    """Checked inputs: `steps` invocations, or a single one when the arrays had no time axis."""

    arrays: tuple[Array, ...]
    steps: int
    has_time: bool

    def step(self, index: int) -> list[Array]:
        """Inputs of one invocation."""
        return [array[index % len(array)] for array in self.arrays]

    def block(self, start: int, stop: int) -> list[bytes]:
        """Bytes of some invocations: for each the inputs, one after the other."""
        return [
            b"".join(np.ascontiguousarray(array).tobytes() for array in self.step(index))
            for index in range(start, stop)
        ]


# Beginnings of an archive, and of one bare array.
_ZIP, _ARRAY = b"PK\x03\x04", b"\x93NUM"


def load(path: Path) -> dict[str, Array]:
    """Read an .npz file; pickled objects are refused."""
    data = read_whole(path)
    start = data[: len(_ZIP)]
    if start not in (_ZIP, _ARRAY):
        raise InputError(
            f"{path} is not an .npz file: expected {_ZIP!r} at its start, found {start!r}"
        )
    if start == _ARRAY:
        raise InputError(f"{path} holds one bare array; write it with numpy.savez")
    try:
        _check_size(zipfile.ZipFile(io.BytesIO(data)))
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            found = {key: file[key] for key in file.files}
        for key, array in found.items():
            if not isinstance(array, np.ndarray):  # numpy gives the bytes of what is no array
                raise ValueError(f"{key} is no array")
    # Damaged archives make zipfile, zlib and numpy raise whatever occurs to them.
    except Exception as error:
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise InputError(f"{path} is not a sound .npz file: {reason}") from error
    return found


def _check_size(archive: zipfile.ZipFile) -> None:
    """Refuse what a few bytes would unpack to."""
    size = sum(entry.file_size for entry in archive.infolist())
    if size > LARGEST:
        raise ValueError(f"its arrays have {size:,} bytes, more than {LARGEST:,}")


def save(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write an .npz file, all or nothing."""
    file = io.BytesIO()
    # numpy's own stub takes any array here.
    np.savez(file, **dict(arrays))  # type: ignore[arg-type]
    write_whole(path, file.getvalue())


def random_inputs(tensors: Sequence[Tensor], random: np.random.Generator) -> list[Array]:
    """Raw values spread evenly over the whole range of each integer tensor; floats from -1 to 1.

    Integers of 32 bits and more are 0: they are indices, mostly, and 0 is a good one of any.
    """
    return [_random(tensor, random) for tensor in tensors]


def _random(tensor: Tensor, random: np.random.Generator) -> Array:
    if np.issubdtype(tensor.dtype, np.floating):
        return random.uniform(-1, 1, tensor.shape).astype(tensor.dtype)
    return random.integers(*_range(tensor.dtype), tensor.shape, tensor.dtype, endpoint=True)


def _range(dtype: str) -> tuple[int, int]:
    if dtype == "bool":
        return 0, 1
    if np.dtype(dtype).itemsize > np.dtype("int16").itemsize:
        return 0, 0
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def names(tensors: Sequence[Tensor]) -> list[str]:
    """What a message calls each input: its number, and the name that will do as well."""
    return [f"{i} ({name})" if name else str(i) for i, name in enumerate(_unique(tensors))]


def _unique(tensors: Sequence[Tensor]) -> list[str]:
    """Names that mean one input; empty where a name is another's, too, or a number."""
    known = [tensor.name for tensor in tensors]
    return ["" if known.count(name) > 1 or name.isdecimal() else name for name in known]


def in_order(arrays: Mapping[str, Array], tensors: Sequence[Tensor]) -> list[Array]:
    """The array of each input, by its number or its name; InputError: others are given."""
    keys = [{str(index), name} - {""} for index, name in enumerate(_unique(tensors))]
    given = [sorted(each & set(arrays)) for each in keys]
    if any(len(each) != 1 for each in given) or len(arrays) != len(tensors):
        raise InputError(
            f"the inputs must have the keys {', '.join(names(tensors)) or '(none)'}, numbers or "
            f"names, found {', '.join(sorted(arrays)) or 'none'}"
        )
    return [arrays[key] for (key,) in given]


def check(arrays: Mapping[str, Array], tensors: Sequence[Tensor], steps: int | None = None) -> Feed:
    """Check arrays against the tensors that they are for; InputError says what differs.

    An input without a time axis is repeated for each step, if `steps` or another input asks for
    several.
    """
    if steps is not None and steps < 1:
        raise UsageError(f"--steps must be 1 or more, found {steps}")
    timed: dict[str, int] = {}
    columns = []
    for key, array, tensor in zip(names(tensors), in_order(arrays, tensors), tensors, strict=True):
        _check_one(key, array, tensor)
        if array.ndim > len(tensor.shape):
            timed[key] = len(array)
            columns.append(array)
        else:
            columns.append(array[np.newaxis])
    feed = Feed(tuple(columns), _steps(timed, steps), bool(timed) or steps is not None)
    size = feed.steps * sum(tensor.size for tensor in tensors)
    if size > LARGEST:
        raise UsageError(
            f"{_shown(feed.steps)} steps have {_shown(size)} bytes of inputs, at most {LARGEST:,} "
            "are possible"
        )
    return feed


def _check_one(key: str, array: Array, tensor: Tensor) -> None:
    if array.dtype != np.dtype(tensor.dtype):
        raise InputError(f"input {key} must be {tensor.dtype}, found {array.dtype}")
    is_timed = array.ndim == len(tensor.shape) + 1
    if array.shape[is_timed:] != tensor.shape:
        raise InputError(
            f"input {key} must have shape {list(tensor.shape)}, or a time axis before it, "
            f"found {list(array.shape)}"
        )
    if is_timed and len(array) == 0:
        raise InputError(f"input {key} has a time axis of length 0")


def _shown(number: int) -> str:
    return f"{number:,}" if number < 10**15 else "more than 10^15"


def _steps(timed: Mapping[str, int], steps: int | None) -> int:
    lengths = set(timed.values())
    if len(lengths) > 1:
        found = ", ".join(f"{key}: {length}" for key, length in timed.items())
        raise InputError(f"the inputs' time axes differ in length ({found})")
    if not lengths:
        return steps or 1
    length = lengths.pop()
    if steps is not None and steps > length:
        raise InputError(f"--steps asks for {steps}, but the time axis is {length} long")
    return steps or length


def collect(rows: Sequence[Sequence[Array]], *, has_time: bool) -> dict[str, Array]:
    """Outputs of all steps as arrays under their keys."""
    if not has_time:
        return {str(index): array for index, array in enumerate(rows[0])}
    return {str(index): np.stack(column) for index, column in enumerate(zip(*rows, strict=True))}


def split(data: bytes, tensors: Sequence[Tensor]) -> list[Array]:
    """Arrays from the bytes of one invocation's outputs."""
    arrays, at = [], 0
    for tensor in tensors:
        array = np.frombuffer(data, tensor.dtype, count=tensor.size // _width(tensor), offset=at)
        arrays.append(array.reshape(tensor.shape).copy())
        at += tensor.size
    return arrays


def _width(tensor: Tensor) -> int:
    return np.dtype(tensor.dtype).itemsize
