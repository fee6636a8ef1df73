# SPDX-License-Identifier: MIT
"""ExecuTorch programs; ethosu_tools/model reads and describes them.

export.py    makes a program of a Python file, by ExecuTorch
strip.py     a program without what no board needs
tables.py    tables of a FlatBuffer, for strip.py, which edits them where they lie
"""

from ..model import ProgramDescription as Description
from .strip import strip

__all__ = ["Description", "strip"]
