# SPDX-License-Identifier: MIT
"""How costs grow with models, inputs, boards and samples, in counts that repeat exactly.

series.py   the counts of one cost at several sizes, and how they grow
models.py   models of any size
board.py    guest instructions and heap bytes on an emulated board
pc.py       Python's bytecode instructions, and bytes, on the PC
"""
