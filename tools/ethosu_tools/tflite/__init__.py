# SPDX-License-Identifier: MIT
"""TensorFlow Lite files.

reader.py    reads them (ethosu_tools/model does, for any format)
metadata.py  edits a file and leaves everything else bit-identical
writer.py    writes small new files (imported explicitly, as it needs LiteRT's schema classes)
"""

from ..model import DTYPES, Description, Graph, NpuOperator, Operator, Tensor, name_of, reading
from ..model.graph import NPU_OPERATOR
from .reader import (
    IDENTIFIER,
    OFFSETS_NAME,
    describe,
    describe_compiled,
    parse,
    read,
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
