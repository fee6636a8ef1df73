# SPDX-License-Identifier: MIT
"""Measured latencies, and the estimates for them.

points.csv here and in the board folders contains published measurements; users add their own
rows with `ethosu profile --save`.
Models are not included in the project. They are found by name and hash in the user's folders.
"""

import csv
import hashlib
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from .. import boards
from ..base import paths
from ..base.errors import InputError
from ..boards import systems
from ..compile import load
from ..model import ModelFile
from ..sim import latency

FILE = Path(__file__).parent / "points.csv"
MEAN_LIMIT, LIMIT = 0.10, 0.25  # largest mean and single error that the test accepts


@dataclass(frozen=True)
class Point:
    """One measured latency; `known` if the estimate's rules were chosen with it at hand."""

    id: str
    model: str
    sha256: str
    npu: str
    system: str
    weights: str
    measured_ms: float
    known: str
    chip: str
    source: str


@dataclass(frozen=True)
class Result:
    """A point and its estimate; `error` is relative to the measurement."""

    point: Point
    estimated_ms: float
    low_ms: float
    high_ms: float

    @property
    def error(self) -> float:
        """Relative error of the estimate: +0.1 means 10 % too slow."""
        return self.estimated_ms / self.point.measured_ms - 1

    @property
    def inside(self) -> bool:
        """Whether the measured latency is within the estimated interval."""
        return self.low_ms <= self.point.measured_ms <= self.high_ms


def read(path: Path = FILE) -> list[Point]:
    """Read a table of points."""
    try:
        with path.open(newline="") as file:
            rows: list[dict[str, Any]] = list(csv.DictReader(file))
        return [Point(**row | {"measured_ms": float(row["measured_ms"])}) for row in rows]
    except (OSError, UnicodeDecodeError, TypeError, KeyError, ValueError) as error:
        columns = ", ".join(field.name for field in fields(Point))
        raise InputError(f"{path}: expected columns {columns}; {error}") from None


def published() -> list[Point]:
    """Read the points of all boards and chips."""
    found = (FILE, *boards.files.files(paths.root(), FILE.name))
    return [point for path in found for point in read(path)]


def append(point: Point, path: Path) -> None:
    """Append a point to a table that has a header."""
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Point)])
        if new:
            writer.writeheader()
        writer.writerow(asdict(point))


def find_model(point: Point, folders: Iterable[Path]) -> bytes | None:
    """Find a point's model by name and hash: the file NAME, or a C array of it in NAME.cpp."""
    for folder in folders:
        for path, read in ((folder / point.model, _bytes), (folder / f"{point.model}.cpp", _array)):
            if path.is_file():
                data = read(path)
                if hashlib.sha256(data).hexdigest() == point.sha256:
                    return data
    return None


def _bytes(path: Path) -> bytes:
    return path.read_bytes()


def _array(path: Path) -> bytes:
    """The longest byte array in a C source."""
    arrays = re.findall(r"\{((?:\s*0x[0-9a-fA-F]{2},?)+)\s*\}", path.read_text(errors="replace"))
    longest = max(arrays, key=len, default="")
    return bytes(int(each, 16) for each in re.findall(r"0x([0-9a-fA-F]{2})", longest))


def compare(point: Point, model: bytes) -> Result:
    """Estimate a point's latency; compiles its model for the point's NPU if necessary."""
    system = systems.find(point.system, point.npu, point.weights)
    source = ModelFile(model, name=point.model)
    estimate = latency.estimate(load.compile_for(source, system), system)
    return Result(point, estimate.milliseconds, estimate.low_ms, estimate.high_ms or math.inf)


def mean_error(results: Sequence[Result]) -> float:
    """Return the mean absolute error."""
    return sum(abs(each.error) for each in results) / len(results)


def left_out(result: Result, results: Sequence[Result]) -> float | None:
    """The error after scaling estimates by the mean error of other chips and models.

    If scaling helps consistently, the rules have a bias. None if there are no others.
    """
    others = [
        math.log(1 + each.error)
        for each in results
        if each.point.chip != result.point.chip and each.point.model != result.point.model
    ]
    if not others:
        return None
    return (1 + result.error) / math.exp(sum(others) / len(others)) - 1
