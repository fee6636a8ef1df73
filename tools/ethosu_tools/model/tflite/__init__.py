# SPDX-License-Identifier: MIT
"""TensorFlow Lite files, which ethosu_tools/model reads.

metadata.py    edits a file and leaves everything else bit-identical
writer.py      writes small new files (imported explicitly, as it needs LiteRT's schema classes)
cut.py         writes some operators of a file as a new one; the same
signatures.py  one signature of a file with several, as a model of its own (imported explicitly)
"""

from .. import Graph, Operator, Tensor, describe, reading
from ..description import OFFSETS_NAME
from ..reader import Reader

__all__ = ["OFFSETS_NAME", "Graph", "Operator", "Tensor", "describe", "parse", "reading"]


def parse(data: bytes) -> list[Graph]:
    """Read all graphs of a file, the main one first."""
    return Reader(data).graphs
