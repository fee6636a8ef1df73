# SPDX-License-Identifier: MIT
"""One function per operator that Vela can place on an Ethos-U55 or U65."""

from __future__ import annotations

from collections.abc import Callable

from ..builder import Builder
from . import activation, convolution, elementwise, layout, pooling, recurrent

GENERATORS: dict[str, Callable[[Builder], None]] = dict(
    sorted(
        (
            activation.OPERATORS
            | convolution.OPERATORS
            | elementwise.OPERATORS
            | layout.OPERATORS
            | pooling.OPERATORS
            | recurrent.OPERATORS
        ).items()
    )
)

# Operators that make a graph of their own. The reference kernels of LiteRT 1.2.0 lack ELU and add
# negative numbers wrongly in SUM, so the optimised kernels speak for these two, and an LSTM layer
# and ABS are exact to a bound only, which holds for their own outputs.
ALONE = {"ABS", "ELU", "SUM", "UNIDIRECTIONAL_SEQUENCE_LSTM"}
OPTIMISED_KERNELS = {"ELU", "SUM"}

# The hardware's own nature: tools/npu_sim/README.md says why, and what these bounds are.
BOUNDS = {"ABS": 1, "ELU": 1, "UNIDIRECTIONAL_SEQUENCE_LSTM": 12}

# Operators of Vela's report that it left on the CPU whatever was tried, with its reason.
NEVER_ON_NPU = {"REVERSE_V2": "Axis attribute is not supported."}

# Operators of Vela's report for which no graph is generated, and why.
WITHOUT_GENERATOR: dict[str, str] = {}
