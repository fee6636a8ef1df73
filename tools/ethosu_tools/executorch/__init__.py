# SPDX-License-Identifier: MIT
"""ExecuTorch programs; ethosu_tools/model reads and describes them.

export.py    exports a Python file to a program with ExecuTorch
strip.py     removes data that no board needs from a program
tables.py    tables of a FlatBuffer, for strip.py, which edits them in place
"""

from .strip import strip, strip_checked

__all__ = ["strip", "strip_checked"]
