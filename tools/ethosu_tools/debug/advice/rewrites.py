# SPDX-License-Identifier: MIT
"""The table of changes that move an operator to the NPU, and their application to a model.

Each changes one kind of operator that Vela 5.2 leaves to the CPU in some shapes. To add one, write
a function with the operator's name that adds the new operators to a site and returns True, or
returns False before it adds anything, and a row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...base.errors import InputError
from ...model import ModelFile
from . import resampling, windows

if TYPE_CHECKING:  # LiteRT's schema, which only a change needs
    from ...model.tflite.edit import Site


@dataclass(frozen=True)
class Rewrite:
    """A change of one kind of operator; the function has the operator's name.

    becomes: the replacement, in words. exact: the change preserves every value, so any difference
    is a defect.
    """

    apply: Callable[[Site], bool]
    becomes: str
    exact: bool = True

    @property
    def operator(self) -> str:
        """The schema's name of the operator, from the function's name."""
        return self.apply.__name__.upper()


TABLE = (
    Rewrite(
        resampling.transpose_conv,
        "a CONV_2D for each row of the stride, whose results are interleaved",
    ),
    Rewrite(
        resampling.resize_nearest_neighbor,
        "copies of rows and columns (RESHAPE, CONCATENATION), or STRIDED_SLICE",
    ),
    Rewrite(
        resampling.resize_bilinear,
        "DEPTHWISE_CONV_2D for each place between two pixels, columns first",
        exact=False,
    ),
    Rewrite(
        resampling.depth_to_space, "slices of the channels, interleaved (RESHAPE, CONCATENATION)"
    ),
    Rewrite(
        resampling.space_to_depth,
        "slices of the rows, one after the other in the channels (RESHAPE, CONCATENATION)",
    ),
    Rewrite(resampling.reverse_v2, "slices of the axis in reverse order (CONCATENATION)"),
    Rewrite(windows.conv_2d, "PAD, and CONV_2D without padding"),
    Rewrite(
        windows.depthwise_conv_2d, "DEPTHWISE_CONV_2D with a smaller stride, and STRIDED_SLICE"
    ),
    Rewrite(
        windows.average_pool_2d, "the pool of the same pixels as a shorter rectangle (RESHAPE)"
    ),
    Rewrite(windows.mean, "the mean of the same pixels as one column (RESHAPE)"),
)


def apply(
    source: ModelFile, rewrite: Rewrite, outputs: Collection[str]
) -> tuple[ModelFile, list[str]]:
    """Change the main graph's operators with these outputs; returns the changed outputs."""
    from ...model.tflite.edit import Document

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
