# SPDX-License-Identifier: MIT
"""TensorFlow Lite files.

reader.py    what a file holds: tensors, operators, arena offsets, and a short description of them
metadata.py  changes of a file that leave everything else as it is, bit by bit
writer.py    small files from nothing (imported by itself: it needs LiteRT's schema classes)
"""

from .reader import (
    DTYPES,
    IDENTIFIER,
    NPU_OPERATOR,
    OFFSETS_NAME,
    Description,
    Graph,
    NpuOperator,
    Operator,
    Tensor,
    describe,
    describe_compiled,
    name_of,
    parse,
    read,
    reading,
    vela_version,
)

__all__ = [
    "DTYPES",
    "IDENTIFIER",
    "NPU_OPERATOR",
    "OFFSETS_NAME",
    "Description",
    "Graph",
    "NpuOperator",
    "Operator",
    "Tensor",
    "describe",
    "describe_compiled",
    "name_of",
    "parse",
    "read",
    "reading",
    "vela_version",
]
