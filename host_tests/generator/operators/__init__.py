# SPDX-License-Identifier: MIT
"""One function per operator that Vela can place on an Ethos-U55 or U65."""

from __future__ import annotations

from collections.abc import Callable

from ethosu_tools.compile.known import BOUNDS
from ethosu_tools.sim.oracle import OPTIMISED

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

# Operators that form a whole graph: their reference has other kernels, or their bound holds for
# their own outputs only. SUM is here because the samples' seeds were chosen with it.
ALONE = {"SUM", *OPTIMISED, *BOUNDS}

# Operators of Vela's report that Vela always leaves on the CPU, with Vela's reason.
NEVER_ON_NPU = {"REVERSE_V2": "Axis attribute is not supported."}
