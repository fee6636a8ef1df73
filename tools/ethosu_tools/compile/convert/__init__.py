# SPDX-License-Identifier: MIT
"""Models of other formats: detects the format, and converts the model to int8 TFLite.

formats.py    detects the format
convert.py    runs TensorFlow or onnx2tf in a separate process to convert and quantise
converter.py  the program of that process
"""

from ...model.formats import Format, check, find
from .convert import convert

__all__ = ["Format", "check", "convert", "find"]
