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

# Operators of Vela's report for which no graph is generated, and why.
WITHOUT_GENERATOR: dict[str, str] = {}
