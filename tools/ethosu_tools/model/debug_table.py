# SPDX-License-Identifier: MIT
"""Table in a compiled model that maps NPU commands to the operators of the original model.

It is made from Vela's debug database and names the operators as they were before Vela. The
metadata "ethosu_debug" consists of little-endian 32-bit words: the mark "EDBG", the version, the
number of entries, then three words for each entry, in the order of the commands: the NPU operator
(0 for the first of the graph), the byte offset of the operator's last command in its command
stream, and the offset of its name in the metadata. The zero-terminated names follow.
"""

import csv
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

from ..base.errors import InputError
from . import Graph, read_debug_table
from .file import DEBUG_TABLE

NAME = DEBUG_TABLE
MARK = b"EDBG"
VERSION = 1
VELA_OPTION = "--enable-debug-db"
# Ethos-U85 runs these as copies by index; Vela's database does not tell where in a stream.
_BY_INDEX = ("Gather", "Scatter")
DMA_START, DMA_SRC_REGION, DMA_SRC, DMA_LEN = 0x010, 0x130, 0x4030, 0x4032
_DMA_DST_REGION, _PAYLOAD, _INDEXED = 0x131, 0x4000, 0x800
# Limit for error messages; converters generate names of several hundred characters.
LONGEST_NAME = 64


@dataclass(frozen=True)
class Entry:
    """One operator of the model: the commands after the previous entry's, up to `end`."""

    npu_operator: int
    end: int
    name: str


def make(
    database: Path,
    graph: Graph,
    streams: Sequence[bytes | memoryview] = (),
    numbers: Sequence[int] | None = None,
) -> bytes | None:
    """Make the table from Vela's database of a compilation; `graph` is that of the model.

    `streams` are the command streams of Vela's output, `numbers` the model's operators that Vela's
    input has, if some were left out. None if the database cannot be read: Vela
    writes names to this XML file unescaped, so a name with "]]>" or a control character corrupts
    it.
    """
    try:
        if numbers is not None:
            graph = replace(graph, operators=tuple(graph.operators[each] for each in numbers))
        numbers = numbers or range(len(graph.operators))
        entries: list[Entry] = []
        for npu_operator, end, name in sorted(_commands(database, graph, streams, numbers)):
            if entries and (entries[-1].npu_operator, entries[-1].name) == (npu_operator, name):
                entries.pop()
            entries.append(Entry(npu_operator, end, name))
        return pack(entries)
    except (ElementTree.ParseError, LookupError, TypeError, ValueError, csv.Error, struct.error):
        return None


def pack(entries: list[Entry]) -> bytes:
    """Encode entries as metadata."""
    words = [VERSION, len(entries)]
    texts = b""
    for entry in entries:
        words += [entry.npu_operator, entry.end, 12 + 12 * len(entries) + len(texts)]
        texts += entry.name.encode() + b"\0"
    return MARK + struct.pack(f"<{len(words)}I", *words) + texts


def parse(table: bytes | memoryview) -> list[Entry]:
    """Decode the result of `pack`."""
    if table[:4] != MARK:
        raise InputError(f"a debug table must begin with {MARK!r}, found {bytes(table[:4])!r}")
    rows = read_debug_table(bytes(table))
    if rows is None:
        version = int.from_bytes(table[4:8], "little")
        raise InputError(f"the debug table has version {version}, expected {VERSION}")
    return [Entry(*row) for row in rows]


def _names(sources: list[dict[str, str]], graph: Graph, numbers: Sequence[int]) -> dict[str, str]:
    """Label each of Vela's source operators with its number, type and output's name.

    The main graph's operators, which are complete, are followed by those of other graphs. The
    latter get no label, since an inference does not run them.
    """
    names = {}
    for position, row in enumerate(sources):
        names[row["id"]] = ""
        if int(row["ext_key"]) == position < len(graph.operators):
            operator = graph.operators[position]
            outputs = [graph.tensors[index].name for index in operator.outputs[:1]]
            names[row["id"]] = " ".join([str(numbers[position]), operator.name, *outputs])[
                :LONGEST_NAME
            ]
    return names


def commands(stream: bytes | memoryview) -> Iterator[tuple[int, int, int, int | None]]:
    """Decode each command of a stream: offset, code, parameter and second word, if any."""
    words = struct.unpack(f"<{len(stream) // 4}I", stream)
    at = 0
    while at < len(words):
        code = words[at] & 0xFFFF
        has_second = bool(code & _PAYLOAD) and at + 1 < len(words)
        yield 4 * at, code, words[at] >> 16, words[at + 1] if has_second else None
        at += 2 if has_second else 1


def _copies_by_index(stream: bytes | memoryview) -> Iterator[int]:
    """Find commands that start a copy by index: bit 11 is set in either region register."""
    regions = {DMA_SRC_REGION: 0, _DMA_DST_REGION: 0}
    for at, code, value, _ in commands(stream):
        if code in regions:
            regions[code] = value
        elif code == DMA_START and _INDEXED & (regions[DMA_SRC_REGION] | regions[_DMA_DST_REGION]):
            yield at


def _commands(
    database: Path, graph: Graph, streams: Sequence[bytes | memoryview], numbers: Sequence[int]
) -> Iterator[tuple[int, int, str]]:
    """List NPU operator, offset and operator's name of each command that starts an operation."""
    tables = {
        str(table.get("name")): list(csv.DictReader((table.text or "").strip().splitlines()))
        for table in ElementTree.parse(database).iter("table")
    }
    names = _names(tables["source"], graph, numbers)
    sources = {row["id"]: row["source_id"] for row in tables["optimised"]}
    identities = [row["id"] for row in tables["cmdstream"]]
    for row in tables["queue"]:
        name = names.get(sources.get(row["optimised_id"], ""), "an operator that Vela added")
        if name:
            yield identities.index(row["cmdstream_id"]), int(row["offset"]), name
    copies = [(n, at) for n, stream in enumerate(streams) for at in _copies_by_index(stream)]
    found = [
        names.get(row["source_id"], "")
        for row in tables.get("perf", [])
        if row["operator"] in _BY_INDEX
    ]
    if len(found) != len(copies):  # both are in the order of execution
        found = [""] * len(copies)
    for (number, at), name in zip(copies, found, strict=True):
        yield number, at, name or "an operator with indices"
