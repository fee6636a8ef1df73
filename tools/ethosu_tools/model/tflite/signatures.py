# SPDX-License-Identifier: MIT
"""Turns one signature of a `.tflite` that has several into a model of its own.

A signature is the name under which programs call a subgraph. LiteRT, Vela's results and this
project's runtime take the first subgraph as the model, so the signature's subgraph is exchanged
with the first one, to which nothing else refers: CALL_ONCE and control flow name later subgraphs.
"""

from __future__ import annotations

import argparse
import struct
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

from ...base.errors import UsageError
from .. import LATENCY, ModelFile, debug_table
from ..description import RECORD_NAME
from . import OFFSETS_NAME
from .metadata import get, put, swap_graphs

_HEADER_WORDS = 3
# Metadata that describes only the first subgraph.
_OF_FIRST = (debug_table.NAME, LATENCY)


def add_option(parser: argparse.ArgumentParser) -> None:
    """Declare --signature."""
    parser.add_argument(
        "--signature",
        metavar="NAME",
        help="of a .tflite with several: the one to use (default: that of its first subgraph)",
    )


def plan_name(graph: int) -> str:
    """Name of the entry with the memory plan of a subgraph, as in the runtime's file/plan.h."""
    return f"{RECORD_NAME}:{graph:02}" if graph else RECORD_NAME


def select(file: ModelFile, name: str | None) -> ModelFile:
    """Return the model that a signature runs; None selects the file unchanged."""
    if name is None:
        return file
    if name not in file.signatures:
        names = ", ".join(file.signatures)
        raise UsageError(
            f"{file} has no signature {name!r}; "
            + (f"expected one of {names}" if names else "it has none")
        )
    data = to_front(file, file.signatures[name])
    if file.signatures[name] != 0:
        data = put(data, {entry: b"" for entry in _OF_FIRST if entry in file.entries})
    return file.with_signature(name, data)


def each(file: ModelFile) -> list[ModelFile]:
    """Return the model of each signature; only the file itself if it has fewer than two."""
    if len(file.signatures) < 2:
        return [file]
    return [select(file, name) for name in file.signatures]


def changed(file: ModelFile, change: Callable[[ModelFile, str], ModelFile]) -> ModelFile:
    """Change the model of each signature, except that of the first subgraph."""
    for name, graph in file.signatures.items():
        if graph != 0:
            own = change(file.with_data(to_front(file, graph)), name)
            file = file.with_data(to_front(own, graph))
    return file


def to_front(file: ModelFile, graph: int) -> bytes:
    """Exchange this subgraph and the first one."""
    if graph == 0:
        return file.data
    data = swap_graphs(file.data, graph)
    counts = [len(each.tensors) for each in file.graphs]
    contents = {}
    offsets = get(data, OFFSETS_NAME)
    if offsets:
        contents[OFFSETS_NAME] = _swap_offsets(offsets, counts, graph)
    plans = [get(data, plan_name(each)) or b"" for each in (0, graph)]
    if any(plans):
        contents |= {RECORD_NAME: plans[1], plan_name(graph): plans[0]}
    return put(data, contents)


def _swap_offsets(offsets: bytes, counts: Sequence[int], graph: int) -> bytes:
    words = struct.unpack(f"<{len(offsets) // 4}i", offsets)
    ends = [_HEADER_WORDS + end for end in accumulate(counts, initial=0)]
    parts = [words[start:end] for start, end in pairwise(ends)]
    parts[0], parts[graph] = parts[graph], parts[0]
    swapped = (*words[:_HEADER_WORDS], *(word for part in parts for word in part))
    return struct.pack(f"<{len(swapped)}i", *swapped)
