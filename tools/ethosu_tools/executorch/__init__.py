# SPDX-License-Identifier: MIT
"""ExecuTorch programs.

tables.py       tables of a FlatBuffer, each read checked and counted
program.py      .pte: methods, values, instructions, delegates
vela_binary.py  the data of an Ethos-U delegate
data_file.py    .ptd: data that a program names
bundle.py       .bpte: a program with test cases
strip.py        a program without what no board needs
description.py  what a program needs and offers, in a few fields
"""

from .bundle import Bundle
from .data_file import DataFile
from .description import Description, describe
from .program import Delegate, Instruction, Method, Program, Tensor, Value
from .strip import strip
from .vela_binary import Io, VelaBinary

__all__ = [
    "Bundle",
    "DataFile",
    "Delegate",
    "Description",
    "Instruction",
    "Io",
    "Method",
    "Program",
    "Tensor",
    "Value",
    "VelaBinary",
    "describe",
    "strip",
]
