# SPDX-License-Identifier: MIT
"""Generates the C table of emulated boards (board.h) from boards/*.toml: board_table.py OUT.

A file may define several boards. An entry of [boards.NAME] overrides those of the [parts.PART] that
the board names in `parts`; later parts override earlier ones, and all override the file's top.
"""

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from ethosu_tools.boards.files import over  # noqa: E402

Table = dict[str, Any]


class Kind(NamedTuple):
    """A row of devices.def."""

    symbol: str
    keys: frozenset[str] = frozenset()
    """Columns of this kind alone."""
    access: tuple[str, ...] = ()
    """Bits of a memory."""


def kinds(text: str, sort: str) -> dict[str, Kind]:
    """Kinds of devices of a sort, such as UART, by their names in a board's file."""
    found = {}
    for row in re.findall(rf"^{sort}\((.*)\)$", text, re.MULTILINE):
        symbol, keys, access, *_ = [*row.split(", "), "", ""]
        kind = Kind(symbol, frozenset(keys.strip('"').split()), tuple(access.split(" | ")))
        found[symbol.replace("_", "-") if sort == "MEMORY" else symbol] = kind
    return found


DEVICES = (HERE / "board/devices.def").read_text()
UARTS, DMAS, CHIPS, MEMORIES = (
    kinds(DEVICES, sort) for sort in ("UART", "DMA", "DEVICE", "MEMORY")
)

# Columns with one or more gates; `power` may also state that the row is always on, or that nothing
# in the table switches it on.
GATES = ("gate", "power", "idle_clock", "xip", "protection", "master")
STATES: Table = {"on": [], "never": {"mask": 0, "value": 1}}

# This chip's boot loader starts the first section of the image, instead of a fixed address.
FIRST_SECTION = "first section"


def value(given: Any) -> str:
    """Format a value in C: a number, a string, a condition, or a structure."""
    if isinstance(given, dict):
        fields = {name: gates(each) if name in GATES else each for name, each in given.items()}
        return "{" + ", ".join(f".{name} = {value(each)}" for name, each in fields.items()) + "}"
    if isinstance(given, list):
        return "{" + ", ".join(map(value, given)) + "}"
    if isinstance(given, str):
        return f'"{given}"'
    return str(given).lower() if isinstance(given, bool) else f"0x{given:X}"


def gates(given: Any) -> Table:
    """Format the fields of struct gates."""
    rows = STATES[given] if isinstance(given, str) else given
    return {"all": rows if isinstance(rows, list) else [rows]}


def kind(row: Table, known: dict[str, Kind], prefix: str) -> str:
    """Format a row with a `kind`, which is the name of an enumerator."""
    symbol = known[row["kind"]].symbol
    return f"{{.kind = {prefix}_{symbol}, {value(without(row, 'kind'))[1:]}"


def without(row: Table, *names: str) -> Table:
    """Return a row without some of its entries."""
    return {name: each for name, each in row.items() if name not in names}


def memory(name: str, row: Table) -> str:
    """Format a row of struct board_memory."""
    blocks = row.get("block", [])
    access = " | ".join(f"BOARD_{bit}" for bit in MEMORIES[row["kind"]].access)
    fields = {"name": name, "blocks": [blocks] if isinstance(blocks, str) else blocks or None}
    fields = {"kind": row["kind"]} | fields | without(row, "kind", "block")
    fields = {key: each for key, each in fields.items() if each not in (None, "on")}
    return f"{{.access = {access}, {kind(fields, MEMORIES, 'BOARD_MEMORY')[1:]}"


def npu(name: str, row: Table) -> str:
    """Format a row of struct npu_slot."""
    fields = {"argument": name} | without(row, "config")
    return value(fields | ({"preset": row["config"]} if "config" in row else {}))


def start(table: Table) -> Table:
    """Format where the CPU starts: at `vectors`, or at the place that `start` names."""
    return {"starts_first_section": True} if "start" in table else {"vectors": table["vectors"]}


def chip(symbol: str, table: Table) -> str:
    """Define a struct board_chip and the tables that it points to."""
    registers = ", ".join(value({"name": name} | row) for name, row in table["registers"].items())
    after = table.get("after_reset", {}).items()
    values = value([{"address": int(address, 0), "value": each} for address, each in after])
    devices = ", ".join(
        kind({"kind": name, "base": base}, CHIPS, "BOARD_DEVICE")
        for name, base in table.get("devices", {}).items()
    )
    numbers = ("irqs", "clock_hz", "closed_ms", "boot", "aliases")
    fields = value({name: table[name] for name in numbers if name in table} | start(table))[1:-1]
    return (
        f"static const struct board_registers {symbol}_registers[] = {{{registers}}};\n"
        f"static const struct board_value {symbol}_after_reset[{len(after) or 1}] = {values};\n"
        f"static const struct board_chip {symbol}_chip = {{{fields}, "
        f".uart = {kind(table['uart'], UARTS, 'BOARD_UART')}, .registers = {symbol}_registers, "
        f".registers_count = {len(table['registers'])}, .after_reset = {symbol}_after_reset, "
        f".after_reset_count = {len(after)}, .devices = {{{devices}}}}};\n"
    )


# --- What a board's file may have ---------------------------------------------------------

# Columns of a row by its place, where `*` is a name or an item; those before the bar must be there.
# A kind has more (devices.def).
COLUMNS = {
    "": "machine memories npus | page dma security",
    "page": "base irq |",
    "memories.*": "kind base | block alias size starts_with power powered_from xip protection",
    "npus.*": "base irq | config gate protection master m0 m1 adapters",
    "npus.*.m0": "| first last",
    "npus.*.m1": "| first last",
    "dma": "kind base irq | gate protection",
    "uart": "kind base irq |",
    "registers.*": "base size |",
    "devices": "| " + " ".join(CHIPS),
    "aliases.*": "base of size |",
    "boot": "stage | stack leaves",
    "boot.leaves.*": "address value |",
}
# At the top for machine "none", which alone has registers that open gates.
CHIP = "irqs clock_hz registers uart | vectors start closed_ms devices aliases boot after_reset"
IN_FILE = ("default", "parts", "boards")
KINDS = {"memories.*": MEMORIES, "dma": DMAS, "uart": UARTS}
GATE = ("address", "mask", "value")
SINGLE = ("pins", "reset")
# Columns that nothing reads without another one.
NEEDS = {"protection": "xip", "powered_from": "power"}
SECURITY = ("secure", "non-secure", "any")


def columns(text: str) -> tuple[set[str], set[str]]:
    """Those that must be there, and all."""
    needed, more = (set(part.split()) for part in text.split("|"))
    return needed, needed | more


def refuse(where: str, row: Any, known: Iterable[str], of: str = "") -> None:
    """Refuse columns that nothing would read."""
    for key in row:
        if key not in known:
            names = ", ".join(f"`{name}`" for name in sorted(known))
            raise ValueError(f"{where} has `{key}`; known{of}: {names}")


def choose(where: str, row: Table, name: str, known: Iterable[str]) -> None:
    """Refuse a value that is none of those known."""
    if name in row and row[name] not in known:
        values = ", ".join(map(repr, known))
        raise ValueError(f"{where}: `{name}` is {row[name]!r}; known: {values}")


def rows(given: Any, place: str) -> Iterator[tuple[str, Any]]:
    """The rows at a place, with their names below it; none if there is no such place."""
    if not place:
        yield "", given
        return
    first, _, rest = place.partition(".")
    keys = dict(enumerate(given)) if isinstance(given, list) else given
    for key in keys if first == "*" else keys.keys() & {first}:
        for below, row in rows(keys[key], rest):
            yield f"{key}.{below}".rstrip("."), row


def check_gates(where: str, row: Table, is_chip: bool) -> None:
    """The gates among the columns of a row."""
    for name in row.keys() & {*GATES, *SINGLE}:
        if not is_chip:
            raise ValueError(f"{where} has `{name}`, expected with machine 'none' only")
        if isinstance(row[name], str):
            choose(where, row, name, STATES)
            continue
        for gate in row[name] if isinstance(row[name], list) else [row[name]]:
            refuse(f"{where}: `{name}`", gate, GATE)


def check_row(where: str, place: str, row: Any, is_chip: bool) -> None:
    """A row of a board's file."""
    if not isinstance(row, dict):
        raise ValueError(f"{where} is {row!r}, expected a table")
    (needed, known), of = columns(COLUMNS[place]), ""
    if not place:
        of = f" with machine {row.get('machine')!r}"
        for own, more in zip((needed, known), columns(CHIP if is_chip else "|"), strict=True):
            own |= more
    if "kind" in row and place in KINDS:
        choose(where, row, "kind", KINDS[place])
        known, of = known | KINDS[place][row["kind"]].keys, f" of kind {row['kind']!r}"
    refuse(where, row, known, of)
    for key in sorted(needed - row.keys()):
        raise ValueError(f"{where} has no `{key}`")
    for key, other in NEEDS.items():
        if place == "memories.*" and key in row and other not in row:
            raise ValueError(f"{where} has `{key}`, expected with `{other}` only")
    check_gates(where, row, is_chip)


def check(where: str, table: Table) -> None:
    """Refuse what the emulator would ignore."""
    table = without(table, *IN_FILE)
    is_chip = table.get("machine") == "none"
    for place in COLUMNS:
        for name, row in rows(table, place):
            check_row(f"{where}: {name}" if name else where, place, row, is_chip)
    choose(where, table, "security", SECURITY)
    choose(where, table, "start", (FIRST_SECTION,))
    if is_chip and ("start" in table) == ("vectors" in table):
        raise ValueError(f"{where}: expected either `vectors` or `start`")


def board(name: str, symbol: str, table: Table) -> tuple[str, str]:
    """Return the definitions of a board, and its row."""
    memories = ",\n    ".join(memory(*each) for each in table["memories"].items())
    parts = f"static const struct board_memory {symbol}_memories[] = {{\n    {memories}}};\n"
    fields = {
        "name": value(name),
        "machine": value(table["machine"]),
        "memories": f"{symbol}_memories",
        "memory_count": str(len(table["memories"])),
        "npus": "{" + ", ".join(npu(*each) for each in table["npus"].items()) + "}",
    }
    if "dma" in table:
        fields["dma"] = kind(table["dma"], DMAS, "DMA")
    if "page" in table:
        fields["page"] = value(table["page"])
    if table["machine"] == "none":
        parts += chip(symbol, table)
        fields["chip"] = f"&{symbol}_chip"
    if "security" in table:
        fields["security"] = f"BOARD_SECURITY_{table['security'].upper().replace('-', '_')}"
    return parts, "{" + ", ".join(f".{key} = {text}" for key, text in fields.items()) + "}"


def merged(path: Path, file: Table) -> list[tuple[str, Table]]:
    """The boards of a file, each with its parts and the top of the file."""
    if not file.get("boards"):
        raise ValueError(f"{path.name} has no [boards]")
    parts = file.get("parts", {})
    used = {part for own in file["boards"].values() for part in own.get("parts", ())}
    refuse(f"{path.name}: [parts]", parts, used, ", what a board names")
    refuse(f"{path.name}: a board", dict.fromkeys(used), parts, " in [parts]")
    top = columns(COLUMNS[""])[1] | columns(CHIP)[1]
    for place, known in (("parts.*", top), ("boards.*", top | {"parts"})):
        for name, row in rows(file, place):
            refuse(f"{path.name}: {name}", row, known)
    found = []
    for name, own in file["boards"].items():
        layers = [*(parts[part] for part in own.get("parts", ())), own]
        found.append((name, reduce(over, layers, file)))
        check(f"{path.name}: {name}", found[-1][1])
    return found


def read(path: Path) -> Table:
    """A board's file."""
    try:
        return tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path.name}: {error}") from error


def tables(folder: Path) -> list[tuple[str, Table]]:
    """Return all boards, the default one first."""
    files = [(path, read(path)) for path in sorted(folder.glob("*.toml"))]
    files.sort(key=lambda file: not file[1].get("default"))
    return [board for file in files for board in merged(*file)]


def source(folder: Path) -> str:
    """Return the C file."""
    parts, rows = "", []
    for index, (name, table) in enumerate(tables(folder)):
        definitions, row = board(name, f"board_{index}", table)
        parts += f"/* {name} */\n{definitions}"
        rows.append(row)
    return (
        "// SPDX-License-Identifier: MIT\n// Generated by board_table.py from boards/*.toml.\n"
        f'#include "board/board.h"\n\n{parts}'
        "const struct board boards[] = {\n" + "".join(f"    {row},\n" for row in rows) + "};\n"
        "const size_t board_count = sizeof boards / sizeof boards[0];\n"
    )  # fmt: skip


if __name__ == "__main__":
    try:
        text = source(HERE / "boards")
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        sys.exit(f"tools/qemu_plugin/boards/{error}")
    Path(sys.argv[1]).write_text(text)
