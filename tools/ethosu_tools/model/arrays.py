# SPDX-License-Identifier: MIT
"""Arrays of a model's inputs and outputs in `.npz` files, keyed "0", "1", …, or by input name.

Values are raw quantised numbers. An array has its tensor's shape, optionally with a leading time
axis: the model is then invoked once per index and keeps its state. An `.npy` file is the array of
the first input.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError, SetupError, UsageError
from ..base.files import LARGEST, read_whole, unpack, write_whole
from .graph import Tensor

Array = NDArray[np.generic]


@dataclass(frozen=True)
class Feed:
    """Checked inputs: `steps` invocations, or one if the arrays had no time axis."""

    arrays: tuple[Array, ...]
    steps: int
    has_time: bool

    def step(self, index: int) -> list[Array]:
        """Inputs of one invocation."""
        return [array[index % len(array)] for array in self.arrays]

    def block(self, start: int, stop: int) -> list[bytes]:
        """Bytes of some invocations: each invocation's inputs, one after the other."""
        return [
            b"".join(np.asarray(array).tobytes() for array in self.step(index))
            for index in range(start, stop)
        ]


# Magic bytes of an archive, and of a single array.
_ZIP, _ARRAY = b"PK\x03\x04", b"\x93NUM"
# Class labels of the samples, which a file may contain next to the inputs.
LABELS = ("labels", "label", "y")
# Pillow may read these formats only; by default it accepts 40 more, including PostScript.
_PICTURES = ("BMP", "GIF", "JPEG", "PNG", "PPM", "WEBP")
# Maximum number of axes tried in every order: 720 orders.
_MAX_AXES = 6
# Range of random integers of 32 bits and more that have a scale.
_NUMBERS = (-1000, 1000)


def load(path: Path) -> dict[str, Array]:
    """Read an .npz file, or an .npy file as the first input; pickled objects are refused."""
    data = read_whole(path)
    start = data[: len(_ZIP)]
    if start not in (_ZIP, _ARRAY):
        raise InputError(
            f"{path} is not an .npz or .npy file: expected {_ZIP!r} or {_ARRAY!r} at its start, "
            f"found {start!r}"
        )
    if start == _ARRAY:
        return {"0": load_one(path, data)}
    with _reading(path, ".npz"):
        return {name.removesuffix(".npy"): _array(content) for name, content in unpack(data)}


def load_one(path: Path, data: bytes) -> Array:
    """Read the array from the contents of an .npy file."""
    with _reading(path, ".npy"):
        return _array(data)


def _array(content: bytes) -> Array:
    return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)


@contextlib.contextmanager
def _reading(path: Path, kind: str) -> Iterator[None]:
    """Report a damaged file: NumPy evaluates headers as Python, and may raise any exception."""
    try:
        yield
    except Exception as error:
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise InputError(f"{path} is not a valid {kind} file: {reason}") from error


def save(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write an .npz file, all or nothing."""
    file = io.BytesIO()
    # numpy's own stub takes any array here.
    np.savez(file, **dict(arrays))  # type: ignore[arg-type]
    write_whole(path, file.getvalue())


def picture(
    name: str, content: bytes, mode: str, size: tuple[int, int] | None = None
) -> NDArray[np.uint8]:
    """Read a picture's pixels in Pillow's `mode`, resized to `size` (width, height) if given.

    SetupError: Pillow is not installed. InputError: not a picture that Pillow can read.
    """
    try:
        from PIL import Image
    except ImportError:
        raise SetupError(f"{name} needs Pillow: pip install pillow") from None
    try:
        image = Image.open(io.BytesIO(content), formats=_PICTURES).convert(mode)
        return np.asarray(image.resize(size) if size else image)
    except Exception as error:  # damaged files make Pillow raise exceptions of any kind
        raise InputError(f"{name} is not a picture: {error}") from None


def random_inputs(
    tensors: Sequence[Tensor],
    random: np.random.Generator | None = None,
    *,
    positive: bool = False,
) -> list[Array]:
    """Raw values spread evenly over the whole range of each integer tensor; floats from -1 to 1.

    They come from `random`, or from a new generator with seed 0. `positive` makes all real values
    positive, for operators that are undefined for others.

    Integers of 32 bits and more are usually indices, so they are 0, which is always a valid index;
    those with a scale are small numbers, which do not overflow.
    """
    random = random or np.random.default_rng(0)
    return [_random(tensor, random, positive) for tensor in tensors]


def random_steps(
    tensors: Sequence[Tensor], count: int, seed: int = 0, *, positive: bool = False
) -> list[list[Array]]:
    """Random inputs for some steps, different ones in each."""
    _check_size(tensors, count)
    random = np.random.default_rng(seed)
    return [random_inputs(tensors, random, positive=positive) for _ in range(count)]


def _random(tensor: Tensor, random: np.random.Generator, positive: bool) -> Array:
    if np.issubdtype(tensor.dtype, np.floating):
        return random.uniform(1e-3 if positive else -1, 1, tensor.shape).astype(tensor.dtype)
    if positive and tensor.scale and tensor.zero_point < np.iinfo(tensor.dtype).max:
        most = _range(tensor.dtype)[1] or _NUMBERS[1]
        least = min(tensor.zero_point + 1, most)
        return random.integers(least, most, tensor.shape, tensor.dtype, endpoint=True)
    limits = _range(tensor.dtype)
    limits = _NUMBERS if tensor.scale and limits == (0, 0) else limits
    return random.integers(*limits, tensor.shape, tensor.dtype, endpoint=True)


def _range(dtype: str) -> tuple[int, int]:
    if dtype == "bool":
        return 0, 1
    if np.dtype(dtype).itemsize > np.dtype("int16").itemsize:
        return 0, 0
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def names(tensors: Sequence[Tensor]) -> list[str]:
    """Return the keys that name each input: its number, and its name if that is unambiguous."""
    return [f"{i} ({name})" if name else str(i) for i, name in enumerate(_unique(tensors))]


def _unique(tensors: Sequence[Tensor]) -> list[str]:
    """Return the inputs' names, "" in place of one that is ambiguous or a number."""
    known = [tensor.name for tensor in tensors]
    return ["" if known.count(name) > 1 or name.isdecimal() else name for name in known]


def in_order(arrays: Mapping[str, Array], tensors: Sequence[Tensor]) -> list[Array]:
    """Find the array of each input by number or name; InputError if the keys do not match.

    Classes (LABELS) are allowed too.
    """
    if len(arrays) > len(tensors):
        own = {tensor.name for tensor in tensors}
        arrays = {key: array for key, array in arrays.items() if key in own or key not in LABELS}
    keys = [{str(index), name} - {""} for index, name in enumerate(_unique(tensors))]
    given = [sorted(accepted & set(arrays)) for accepted in keys]
    if any(len(used) != 1 for used in given) or len(arrays) != len(tensors):
        extra = sorted(set(arrays) - set().union(*keys))
        unknown = f"; the model has no input {', '.join(extra)}" if extra else ""
        raise InputError(
            f"the inputs must have the keys {', '.join(names(tensors)) or '(none)'}, numbers or "
            f"names, found {', '.join(sorted(arrays)) or 'none'}{unknown}"
        )
    return [arrays[key] for (key,) in given]


def check(arrays: Mapping[str, Array], tensors: Sequence[Tensor], steps: int | None = None) -> Feed:
    """Check arrays against their tensors; InputError describes the difference.

    An input without a time axis is repeated for each step if `steps` or another input has several.
    Samples of a tensor with a first dimension of 1 are steps, even if they lack that dimension.
    """
    if steps is not None and steps < 1:
        raise UsageError(f"--steps must be 1 or more, found {steps}")
    timed: dict[str, int] = {}
    columns = []
    for key, array, tensor in zip(names(tensors), in_order(arrays, tensors), tensors, strict=True):
        if array.ndim and array.shape != tensor.shape and (1, *array.shape[1:]) == tensor.shape:
            array = array[:, np.newaxis]
        _check_one(key, array, tensor)
        if array.ndim > len(tensor.shape):
            timed[key] = len(array)
            columns.append(array)
        else:
            columns.append(array[np.newaxis])
    feed = Feed(tuple(columns), _steps(timed, steps), bool(timed) or steps is not None)
    _check_size(tensors, feed.steps)
    return feed


def _check_size(tensors: Sequence[Tensor], steps: int) -> None:
    """Reject more inputs than memory should be used for."""
    size = steps * sum(tensor.size for tensor in tensors)
    if size > LARGEST:
        raise UsageError(
            f"{_shown(steps)} steps have {_shown(size)} bytes of inputs, expected at most "
            f"{LARGEST:,}"
        )


def as_feed(steps: Sequence[Sequence[Array]]) -> Feed:
    """Return the inputs of some invocations."""
    return Feed(tuple(map(np.stack, zip(*steps, strict=True))), len(steps), has_time=True)


def _check_one(key: str, array: Array, tensor: Tensor) -> None:
    if array.dtype != np.dtype(tensor.dtype):
        raise InputError(
            f"input {key} must be {tensor.dtype}, found {array.dtype}{_raw(array, tensor)}"
        )
    is_timed = array.ndim == len(tensor.shape) + 1
    if array.shape[is_timed:] != tensor.shape:
        raise InputError(
            f"input {key} must have shape {list(tensor.shape)}, or a time axis before it, "
            f"found {list(array.shape)}{advice(array.shape, tensor.shape)}"
        )
    if is_timed and len(array) == 0:
        raise InputError(f"input {key} has a time axis of length 0")


def _raw(array: Array, tensor: Tensor) -> str:
    """Return advice on converting real values to raw ones, if real ones were given."""
    if array.dtype.kind != "f" or not tensor.scale:
        return ""
    low, high = _range(tensor.dtype)
    return (
        f"; convert real values x to raw ones with: np.clip(np.rint(x / {tensor.scale:.9g}) + "
        f"{tensor.zero_point}, {low}, {high}).astype('{tensor.dtype}')"
    )


def check_finite(name: str, array: Array) -> None:
    """Reject NaN and infinity."""
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        index = tuple(map(int, np.argwhere(~np.isfinite(array))[0]))
        kind = "NaN" if np.isnan(array[index]) else "an infinite value"
        raise InputError(f"{name} has {kind} at index {list(index)}, expected finite numbers")


def quantise(name: str, array: Array, tensor: Tensor) -> Array:
    """Quantise real values to the nearest raw ones; other arrays are returned unchanged."""
    if array.dtype.kind != "f" or not tensor.scale:
        return array
    check_finite(name, array)
    limits = np.iinfo(tensor.dtype)
    steps = np.rint(array.astype(np.float64) / tensor.scale) + tensor.zero_point
    return cast(Array, np.clip(steps, limits.min, limits.max).astype(tensor.dtype))


def quantise_all(arrays: Sequence[Array], tensors: Sequence[Tensor]) -> list[Array]:
    """Quantise the arrays of all inputs."""
    pairs = enumerate(zip(arrays, tensors, strict=True))
    return [quantise(f"input {index}", array, tensor) for index, (array, tensor) in pairs]


def dequantise(array: Array, tensor: Tensor) -> Array:
    """Convert raw values to real ones; real values are unchanged."""
    if np.issubdtype(array.dtype, np.floating) or not tensor.scale:
        return array
    return (array.astype(np.float64) - tensor.zero_point) * tensor.scale


def is_same_layout(found: Sequence[int], expected: Sequence[int]) -> bool:
    """Whether a reshape is safe: only axes of size 1 differ, or there is a single axis."""
    return _without_ones(found) == _without_ones(expected) or tuple(found) == (math.prod(expected),)


def advice(found: Sequence[int], expected: Sequence[int], lead: int | None = None) -> str:
    """Advise, in an error message, how to match a tensor's shape; "" if unknown.

    If several orders of the axes fit, one that moves a single axis comes first, as in NCHW to NHWC.
    `lead` leading axes, which count samples, keep their position; None means none or one.
    """
    leads = (0, 1) if lead is None else (lead,)
    orders = [
        (*range(first), *(first + axis for axis in order))
        for first in leads
        if len(found) - first <= _MAX_AXES
        for order in itertools.permutations(range(len(found) - first))
        if _without_ones([found[first + axis] for axis in order]) == _without_ones(expected)
    ]
    if not orders:
        return ""
    best = min(orders, key=lambda order: (_moves(order), order))
    if _moves(best) == 0:
        return "; its values are in the right order: reshape it"
    return f"; its axes are in another order: transpose it with np.transpose(x, {best})"


def _without_ones(shape: Sequence[int]) -> list[int]:
    return [size for size in shape if size != 1]


def _moves(order: Sequence[int]) -> int:
    """Return how many axes change position; 2 means two or more."""
    if list(order) == sorted(order):
        return 0
    rest = ([axis for axis in order if axis != moved] for moved in order)
    return 1 if any(axes == sorted(axes) for axes in rest) else 2


def _shown(number: int) -> str:
    return f"{number:,}" if number < 10**15 else "more than 10^15"


def _steps(timed: Mapping[str, int], steps: int | None) -> int:
    lengths = set(timed.values())
    if len(lengths) > 1:
        listed = ", ".join(f"{key}: {length}" for key, length in timed.items())
        raise InputError(f"the inputs' time axes differ in length ({listed})")
    if not lengths:
        return steps or 1
    length = lengths.pop()
    if steps is not None and steps > length:
        raise InputError(f"--steps asks for {steps}, but the time axis is {length} long")
    return steps or length


def collect(rows: Sequence[Sequence[Array]], *, has_time: bool) -> dict[str, Array]:
    """Collect the outputs of all steps as arrays, by key."""
    if not has_time:
        return {str(index): array for index, array in enumerate(rows[0])}
    return {str(index): np.stack(column) for index, column in enumerate(zip(*rows, strict=True))}


def split(data: bytes, tensors: Sequence[Tensor]) -> list[Array]:
    """Split the bytes of one invocation's outputs into arrays."""
    arrays, at = [], 0
    for tensor in tensors:
        array = np.frombuffer(data, tensor.dtype, count=math.prod(tensor.shape), offset=at)
        arrays.append(array.reshape(tensor.shape).copy())
        at += tensor.size
    return arrays
