# SPDX-License-Identifier: MIT
"""What a block of samples came to; those of all blocks add up to the result."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..model.graph import Tensor

# Errors of an output by size, in steps of its scale: none, up to 1, 2, 4, ..., and more.
BINS = (0, 1, 2, 4, 8, 16, 32, 64, 128)
# So many failures are kept, the first ones.
FAILURES = 10


@dataclass
class OutputError:
    """Differences of one output from the reference's, in steps (`lsb`) or, of floats, in values."""

    values: int = 0
    differing: int = 0
    largest: float = 0.0
    total: float = 0.0
    histogram: list[int] = field(default_factory=lambda: [0] * (len(BINS) + 1))

    def add(self, other: "OutputError") -> None:
        """Take in those of another block."""
        self.values += other.values
        self.differing += other.differing
        self.largest = max(self.largest, other.largest)
        self.total += other.total
        self.histogram = [a + b for a, b in zip(self.histogram, other.histogram, strict=True)]


@dataclass
class Result:
    """Counts of a block, or of all."""

    samples: int = 0
    labelled: int = 0
    top1: int = 0
    topk: int = 0
    exact: int = 0
    agree: int = 0
    reference_top1: int = 0
    confusion: list[tuple[int, int, int]] = field(default_factory=list)
    errors: list[OutputError] = field(default_factory=list)
    failures: list[int] = field(default_factory=list)

    def add(self, other: "Result") -> None:
        """Take in a later block."""
        for name in ("samples", "labelled", "top1", "topk", "exact", "agree", "reference_top1"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        counts = Counter[tuple[int, int]]()
        for label, found, count in (*self.confusion, *other.confusion):
            counts[label, found] += count
        self.confusion = [(*key, count) for key, count in sorted(counts.items())]
        self.errors = self.errors or [OutputError() for _ in other.errors]
        for mine, theirs in zip(self.errors, other.errors, strict=True):
            mine.add(theirs)
        self.failures = (self.failures + other.failures)[:FAILURES]

    def as_dict(self) -> dict[str, Any]:
        """Give plain data, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Result":
        """Read what `as_dict` gave."""
        errors = [OutputError(**each) for each in data["errors"]]
        confusion = [(a, b, c) for a, b, c in data["confusion"]]
        return cls(**{**data, "errors": errors, "confusion": confusion})


def count_block(
    start: int,
    labels: Array,
    tensors: Sequence[Tensor],
    found: Sequence[Sequence[Array]],
    expected: Sequence[Sequence[Array]] | None,
    top: int,
) -> Result:
    """Count one block, whose first sample is number `start`."""
    result, confusion = Result(samples=len(found)), Counter[tuple[int, int]]()
    if expected is not None:
        result.errors = [OutputError() for _ in tensors]
    for index, (outputs, label) in enumerate(zip(found, labels, strict=True)):
        ranking = _ranking(outputs[0], tensors[0])
        right = True
        if label >= 0:
            result.labelled += 1
            right = bool(ranking[0] == label)
            result.top1 += right
            result.topk += bool(label in ranking[:top])
            confusion[int(label), int(ranking[0])] += 1
        if expected is not None:
            wanted = expected[index]
            theirs = _ranking(wanted[0], tensors[0])[0]
            result.agree += bool(ranking[0] == theirs)
            result.reference_top1 += bool(label >= 0 and theirs == label)
            exact = _compare(outputs, wanted, tensors, result.errors)
            result.exact += exact
            same_kind = wanted[0].dtype == outputs[0].dtype
            right = right and (exact if same_kind else bool(ranking[0] == theirs))
        if not right and len(result.failures) < FAILURES:
            result.failures.append(start + index)
    result.confusion = [(*key, count) for key, count in sorted(confusion.items())]
    return result


def _ranking(output: Array, tensor: Tensor) -> Array:
    """Classes from the likeliest on; of one value, whether it is a half or more."""
    values = output.ravel()
    if values.size == 1:
        real = _real(output, tensor).ravel()[0]
        return np.array([1, 0] if real >= 0.5 else [0, 1])
    return np.argsort(-values.astype(np.float64), kind="stable")


def _real(array: Array, tensor: Tensor) -> NDArray[np.float64]:
    if np.issubdtype(array.dtype, np.floating) or not tensor.scale:
        return array.astype(np.float64)
    return (array.astype(np.float64) - tensor.zero_point) * tensor.scale


def _compare(
    outputs: Sequence[Array],
    wanted: Sequence[Array],
    tensors: Sequence[Tensor],
    errors: Sequence[OutputError],
) -> bool:
    """Add the differences of one sample; True when all are equal bit by bit."""
    exact = True
    for array, reference, tensor, error in zip(outputs, wanted, tensors, errors, strict=True):
        step = tensor.scale or 1.0
        size = np.abs(_real(array, tensor) - _real(reference, tensor)) / step
        if array.dtype == reference.dtype:
            same = array.tobytes() == reference.tobytes()
            size = np.rint(size) if tensor.scale else size
        else:
            same = False
        exact = exact and same
        bins = np.searchsorted(BINS, size.ravel(), side="left")
        counts = np.bincount(bins, minlength=len(BINS) + 1)
        error.add(
            OutputError(
                int(size.size),
                int(np.count_nonzero(size)),
                float(size.max(initial=0)),
                float(size.sum()),
                counts.tolist(),
            )
        )
    return exact
