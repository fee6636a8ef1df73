# SPDX-License-Identifier: MIT
"""TensorFlow Lite files, which ethosu_tools/model reads.

metadata.py  edits a file and leaves everything else bit-identical
writer.py    writes small new files (imported explicitly, as it needs LiteRT's schema classes)
cut.py       writes some operators of a file as a new one; the same
"""

from ..model import (
    DTYPES,
    Description,
    Graph,
    NpuOperator,
    Operator,
    Tensor,
    describe,
    reading,
)
from ..model.graph import NPU_OPERATOR
from ..model.reader import Reader

# Metadata with the arena offset of each tensor: three header words, then an int32 per tensor.
OFFSETS_NAME = "OfflineMemoryAllocation"

__all__ = [
    "DTYPES",
    "NPU_OPERATOR",
    "OFFSETS_NAME",
    "Description",
    "Graph",
    "NpuOperator",
    "Operator",
    "Tensor",
    "describe",
    "parse",
    "reading",
]


def parse(data: bytes) -> list[Graph]:
    """Read all graphs of a file, the main one first."""
    return Reader(data).graphs
