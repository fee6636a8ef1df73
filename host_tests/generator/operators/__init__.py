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

# Operators that form a whole graph. The reference kernels of LiteRT 1.2.0 lack ELU and add
# negative numbers wrongly in SUM, so the optimised kernels are the reference for these two. An LSTM
# layer and ABS are exact only to a bound, which holds for their own outputs.
ALONE = {"ABS", "ELU", "SUM", "UNIDIRECTIONAL_SEQUENCE_LSTM"}
OPTIMISED_KERNELS = {"ELU", "SUM"}

# Bounds due to the hardware itself: see tools/npu_sim/README.md.
BOUNDS = {"ABS": 1, "ELU": 1, "UNIDIRECTIONAL_SEQUENCE_LSTM": 12}

# Operators of Vela's report that it always left on the CPU, with its reason.
NEVER_ON_NPU = {"REVERSE_V2": "Axis attribute is not supported."}

# Operators of Vela's report for which no graph is generated, and why.
WITHOUT_GENERATOR: dict[str, str] = {}
