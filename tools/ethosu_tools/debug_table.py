# SPDX-License-Identifier: MIT
"""Which operator of the model a command of the NPU belongs to: a table that a model carries along.

It comes from Vela's debug database and names the operators of the model as it was before Vela. The
metadata "ethosu_debug" is a row of little-endian 32-bit words: the mark "EDBG", the version, the
number of entries, then three words for each entry, in the order of the commands: the NPU operator
(0 for the first of the graph), the offset in bytes of the operator's last command in its command
stream, and where in the metadata its name begins. The names, ended by a zero, follow.
"""

import csv
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from .errors import InputError
from .model import Graph, read_debug_table
from .tflite import parse as parse_model

NAME = "ethosu_debug"
MARK = b"EDBG"
VERSION = 1
VELA_OPTION = "--enable-debug-db"
# So that an error sentence holds it; converters make names of several hundred characters.
LONGEST_NAME = 64


@dataclass(frozen=True)
class Entry:
    """One operator of the model: all commands up to `end` that no entry before it has."""

    npu_operator: int
    end: int
    name: str


def make(database: Path, model: bytes) -> bytes | None:
    """Turn Vela's database of a compilation into the table; `model` is what Vela was given.

    None: it can't be read. Vela writes names into this XML file as they are, so a name with "]]>"
    or a control character damages it.
    """
    try:
        return _make(_commands(database, model))
    except (ElementTree.ParseError, LookupError, TypeError, ValueError, csv.Error, struct.error):
        return None


def _make(commands: Iterator[tuple[int, int, str]]) -> bytes:
    entries: list[Entry] = []
    for npu_operator, end, name in sorted(commands):
        if entries and (entries[-1].npu_operator, entries[-1].name) == (npu_operator, name):
            entries.pop()
        entries.append(Entry(npu_operator, end, name))
    return pack(entries)


def pack(entries: list[Entry]) -> bytes:
    """Lay entries out as the metadata has them."""
    words = [VERSION, len(entries)]
    texts = b""
    for entry in entries:
        words += [entry.npu_operator, entry.end, 12 + 12 * len(entries) + len(texts)]
        texts += entry.name.encode() + b"\0"
    return MARK + struct.pack(f"<{len(words)}I", *words) + texts


def parse(table: bytes | memoryview) -> list[Entry]:
    """Read what `pack` laid out."""
    if table[:4] != MARK:
        raise InputError(f"a debug table begins with {MARK!r}, found {bytes(table[:4])!r}")
    rows = read_debug_table(bytes(table))
    if rows is None:
        version = int.from_bytes(table[4:8], "little")
        raise InputError(f"the debug table has version {version}, {VERSION} is known")
    return [Entry(*row) for row in rows]


def _names(sources: list[dict[str, str]], graph: Graph) -> dict[str, str]:
    """Name of each of Vela's source operators: its number, what it does, its output's name.

    Behind the main graph's operators, which are all there, come those of other graphs: without a
    name, for they are not run by an inference.
    """
    names = {}
    for position, row in enumerate(sources):
        names[row["id"]] = ""
        if int(row["ext_key"]) == position < len(graph.operators):
            operator = graph.operators[position]
            outputs = [graph.tensors[index].name for index in operator.outputs[:1]]
            names[row["id"]] = " ".join([str(position), operator.name, *outputs])[:LONGEST_NAME]
    return names


def _commands(database: Path, model: bytes) -> Iterator[tuple[int, int, str]]:
    """NPU operator, offset and operator's name of each command that starts an operation."""
    tables = {
        str(table.get("name")): list(csv.DictReader((table.text or "").strip().splitlines()))
        for table in ElementTree.parse(database).iter("table")
    }
    names = _names(tables["source"], parse_model(model)[0])
    sources = {row["id"]: row["source_id"] for row in tables["optimised"]}
    streams = [row["id"] for row in tables["cmdstream"]]
    for row in tables["queue"]:
        name = names.get(sources.get(row["optimised_id"], ""), "an operator that Vela added")
        if name:
            yield streams.index(row["cmdstream_id"]), int(row["offset"]), name
