# SPDX-License-Identifier: MIT
"""The changes that bring an operator to the NPU: a table, and their application to a model.

Each changes one kind of operator that Vela 5.2 leaves to the CPU in some shapes. To add one, write
a function that adds the new operators to a site and returns True, or returns False before it adds
anything, and a row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import InputError
from ..model import ModelFile
from . import resampling, windows

if TYPE_CHECKING:  # LiteRT's schema, which only a change needs
    from .edit import Site


@dataclass(frozen=True)
class Rewrite:
    """A change of one kind of operator; `becomes`: the operators in its place, in words.

    exact: the change leaves every value as it is, so that a difference is a defect.
    """

    operator: str
    becomes: str
    apply: Callable[[Site], bool]
    exact: bool = True


TABLE = (
    Rewrite(
        "TRANSPOSE_CONV",
        "a CONV_2D for each row of the stride, whose results are interleaved",
        resampling.transposed_convolution,
    ),
    Rewrite(
        "RESIZE_NEAREST_NEIGHBOR",
        "copies of rows and columns (RESHAPE, CONCATENATION), or STRIDED_SLICE",
        resampling.nearest,
    ),
    Rewrite(
        "DEPTH_TO_SPACE",
        "slices of the channels, interleaved (RESHAPE, CONCATENATION)",
        resampling.depth_to_space,
    ),
    Rewrite(
        "SPACE_TO_DEPTH",
        "slices of the rows, one after the other in the channels (RESHAPE, CONCATENATION)",
        resampling.space_to_depth,
    ),
    Rewrite("CONV_2D", "PAD, and CONV_2D without padding", windows.convolution),
    Rewrite(
        "DEPTHWISE_CONV_2D",
        "DEPTHWISE_CONV_2D with a smaller stride, and STRIDED_SLICE",
        windows.depthwise,
    ),
    Rewrite(
        "AVERAGE_POOL_2D",
        "the pool of the same pixels as a shorter rectangle (RESHAPE)",
        windows.global_average,
    ),
    Rewrite(
        "MEAN", "the mean of the same pixels as one column (RESHAPE)", windows.mean_of_channels
    ),
)


def apply(
    source: ModelFile, rewrite: Rewrite, outputs: Collection[str]
) -> tuple[ModelFile, list[str]]:
    """Change the operators of the main graph with these outputs; returns the names of those."""
    from .edit import Document

    try:
        document = Document(source.data)
    except Exception as error:  # the schema's classes check nothing
        raise InputError(f"{source} cannot be changed: {error!r}") from error
    changed: list[str] = []
    for index in reversed(range(len(document.graph.operators))):
        operator = document.graph.operators[index]
        if document.kind(operator) != rewrite.operator or len(operator.outputs) != 1:
            continue
        name = source.graph.tensors[int(operator.outputs[0])].name
        if name not in outputs:
            continue
        site = document.at(index)
        if rewrite.apply(site):
            document.replace(index, site)
            changed.append(name)
    if not changed:
        return source, []
    return source.with_data(document.data()), changed[::-1]
