# SPDX-License-Identifier: MIT
"""The result of one block of samples; the sum over all blocks is the result of the run."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...model.arrays import Array, dequantise
from ...model.graph import Tensor
from ...sim.difference import Difference, check

# Bins of an output's errors, in steps of its scale: none, up to 1, 2, 4, ..., and more.
BINS = (0, 1, 2, 4, 8, 16, 32, 64, 128)
# Number of failures kept, the first ones.
FAILURES = 10


@dataclass
class OutputError:
    """Differences of one output from the reference, in steps (`lsb`) or, for floats, in values."""

    values: int = 0
    differing: int = 0
    largest: float = 0.0
    total: float = 0.0
    histogram: list[int] = field(default_factory=lambda: [0] * (len(BINS) + 1))

    def add(self, other: "OutputError") -> None:
        """Add the differences of another block."""
        self.values += other.values
        self.differing += other.differing
        self.largest = max(self.largest, other.largest)
        self.total += other.total
        self.histogram = [a + b for a, b in zip(self.histogram, other.histogram, strict=True)]


@dataclass
class Result:
    """Counts of one block or of all blocks."""

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

    @classmethod
    def total(cls, blocks: Iterable["Result"]) -> "Result":
        """Add up all blocks, in order."""
        total, confusion = cls(), Counter[tuple[int, int]]()
        for block in blocks:
            total._add(block)
            for label, predicted, count in block.confusion:
                confusion[label, predicted] += count
        total.confusion = [(*key, count) for key, count in sorted(confusion.items())]
        return total

    def _add(self, other: "Result") -> None:
        """Add a later block, without its confusion matrix: `total` merges all of these at once."""
        for name in ("samples", "labelled", "top1", "topk", "exact", "agree", "reference_top1"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.errors = self.errors or [OutputError() for _ in other.errors]
        for mine, theirs in zip(self.errors, other.errors, strict=True):
            mine.add(theirs)
        self.failures = (self.failures + other.failures)[:FAILURES]

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Result":
        """Read the result of `as_dict`."""
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
    outputs = [np.stack(each) for each in zip(*found, strict=True)]
    ranking = _ranking(outputs[0], tensors[0])
    guesses, known = ranking[:, 0], np.greater_equal(labels, 0)
    hits = (guesses == labels) & known
    right = hits | ~known
    result = Result(
        samples=len(labels),
        labelled=int(known.sum()),
        top1=int(hits.sum()),
        topk=int(((ranking[:, :top] == labels[:, None]).any(axis=1) & known).sum()),
    )
    pairs = zip(labels[known].tolist(), guesses[known].tolist(), strict=True)
    result.confusion = [(*pair, count) for pair, count in sorted(Counter(pairs).items())]
    if expected is not None:
        references = [np.stack(column) for column in zip(*expected, strict=True)]
        theirs = _ranking(references[0], tensors[0])[:, 0]
        exact = np.ones(len(labels), bool)
        for array, reference, tensor in zip(outputs, references, tensors, strict=True):
            result.errors.append(_difference(array, reference, tensor))
            exact &= _exact(array, reference)
        result.agree = int((guesses == theirs).sum())
        result.reference_top1 = int(((theirs == labels) & known).sum())
        result.exact = int(exact.sum())
        right &= exact if references[0].dtype == outputs[0].dtype else guesses == theirs
    result.failures = (start + np.flatnonzero(~right)[:FAILURES]).tolist()
    return result


def _ranking(outputs: Array, tensor: Tensor) -> Array:
    """Classes of each sample, most likely first; for a single value, 1 if it is at least a half."""
    values = outputs.reshape(len(outputs), -1)
    if values.shape[1] == 1:
        ones = _real(values, tensor) >= 0.5
        return np.hstack([ones, ~ones]).astype(np.int64)
    return np.argsort(-values.astype(np.float64), axis=1, kind="stable")


def _real(array: Array, tensor: Tensor) -> NDArray[np.float64]:
    return dequantise(array, tensor).astype(np.float64)


def _exact(array: Array, reference: Array) -> Array:
    """Mask of the samples with equal values, of a reference of the same type."""
    if array.dtype != reference.dtype:
        return np.zeros(len(array), bool)
    pairs = zip(array, reference, strict=True)
    return np.array([not Difference.of([one], [other]).differing for one, other in pairs])


def _difference(array: Array, reference: Array, tensor: Tensor) -> OutputError:
    check([array], [reference], types=False)
    size = np.abs(_real(array, tensor) - _real(reference, tensor)) / (tensor.scale or 1.0)
    if array.dtype == reference.dtype and tensor.scale:
        size = np.rint(size)
    bins = np.searchsorted(BINS, size.ravel(), side="left")
    return OutputError(
        values=size.size,
        differing=int(np.count_nonzero(size)),
        largest=float(size.max(initial=0)),
        total=float(size.sum()),
        histogram=np.bincount(bins, minlength=len(BINS) + 1).tolist(),
    )
