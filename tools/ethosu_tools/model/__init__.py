# SPDX-License-Identifier: MIT
"""Model files of any kind that the board loads.

The C library reads and describes their contents, without an NPU.

file.py         a file, read and described once
description.py  summary of a model's requirements and interface
kinds.py        kinds of files: identifiers and suffixes
case.py         test cases of a bundle
graph.py        tensors, operators, graphs
reader.py       wraps the C library's description of a file
"""

from .case import Case
from .description import Description, ProgramDescription
from .file import BOARD, LATENCY, SOURCE, Model, ModelFile, describe, is_model, read_data, reading
from .graph import DTYPES, Graph, Method, NpuOperator, Operator, Tensor, Value
from .kinds import ANY, BUNDLE, DATA, PROGRAM, PROGRAMS, RUNNABLE, TFLITE, data_path
from .reader import Call, read_debug_table, read_stream

__all__ = [
    "ANY",
    "BOARD",
    "BUNDLE",
    "DATA",
    "DTYPES",
    "LATENCY",
    "PROGRAM",
    "PROGRAMS",
    "RUNNABLE",
    "SOURCE",
    "TFLITE",
    "Call",
    "Case",
    "Description",
    "Graph",
    "Method",
    "Model",
    "ModelFile",
    "NpuOperator",
    "Operator",
    "ProgramDescription",
    "Tensor",
    "Value",
    "data_path",
    "describe",
    "is_model",
    "read_data",
    "read_debug_table",
    "read_stream",
    "reading",
]
