# SPDX-License-Identifier: MIT
"""The planner's record in a `.tflite`, in the format of modules/ethosu/runtime/file/plan.h."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import astuple, dataclass

from ...base.errors import InputError
from ...model.description import RECORD_NAME

MARK = 0x4E4C5045  # "EPLN"
VERSION = 1
# Incremented whenever the planner's output changes.
PLANNER_VERSION = 3

HEADER_WORDS = 5
ENTRY_WORDS = 5


@dataclass(frozen=True)
class Entry:
    """One CPU operator: its number and code, its kernel's version, its scratch."""

    operator: int
    code: int
    kernel: int
    offset: int
    size: int


def encode(arena: int, entries: Sequence[Entry]) -> bytes:
    """Encode a record."""
    words = [MARK, VERSION, PLANNER_VERSION, arena, len(entries)]
    for entry in entries:
        words += astuple(entry)
    return struct.pack(f"<{len(words)}I", *words)


def decode(record: bytes) -> tuple[int, list[Entry]]:
    """Decode arena size and entries of a record."""
    words = struct.unpack(f"<{len(record) // 4}I", record[: len(record) // 4 * 4])
    if len(words) < HEADER_WORDS or words[:2] != (MARK, VERSION):
        raise InputError(
            f"{RECORD_NAME} must be a plan of version 1, found {record[:8].hex()} at its start"
        )
    arena, count = words[3:HEADER_WORDS]
    rows = words[HEADER_WORDS:]
    if len(rows) != count * ENTRY_WORDS:
        raise InputError(f"{RECORD_NAME} has {len(rows)} words for {count} entries")
    starts = range(0, len(rows), ENTRY_WORDS)
    return arena, [Entry(*rows[start : start + ENTRY_WORDS]) for start in starts]


def encode_offsets(offsets: Sequence[int], before: bytes | None = None) -> bytes:
    """Encode TFLite's OfflineMemoryAllocation: version, subgraphs, tensors, an offset for each.

    `offsets` are the main graph's, -1 means none; other graphs keep their offsets from `before`.
    """
    version, graphs, rest = 0, 1, ()
    if before is not None:
        version, graphs, _, *old = struct.unpack(f"<{len(before) // 4}i", before)
        rest = tuple(old[len(offsets) :])
    words = (*offsets, *rest)
    return struct.pack(f"<{3 + len(words)}i", version, graphs, len(words), *words)
