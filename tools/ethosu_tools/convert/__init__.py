# SPDX-License-Identifier: MIT
"""Models of other formats: what a file is, what to do with it, and its conversion to int8 TFLite.

formats.py    tells the formats apart
convert.py    has TensorFlow or onnx2tf convert and quantise, in a process of its own
converter.py  is that process's program
"""

from .convert import convert
from .formats import Format, check, find

__all__ = ["Format", "check", "convert", "find"]
