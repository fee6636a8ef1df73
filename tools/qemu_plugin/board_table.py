# SPDX-License-Identifier: MIT
"""Generates the C table of emulated boards (board.h) from boards/*.toml: board_table.py OUT.

A file may define several boards: entries of [boards.NAME] override those of the [parts.PART] that
it names in `parts`, a later one those of an earlier one, and all of them the top of the file.
"""

import sys
import tomllib
from functools import reduce
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from ethosu_tools.boards.files import over  # noqa: E402

Table = dict[str, Any]

# Access to a memory by kind; the CPU reads all of them.
KINDS = {
    "ram": ("CPU_WRITES", "BUS_READS", "BUS_WRITES"),
    "kept": ("CPU_WRITES", "BUS_READS", "BUS_WRITES", "KEEPS"),
    "private": ("CPU_WRITES",),
    "tcm": ("CPU_WRITES", "BUS_READS", "BUS_WRITES", "BUS_AT_ALIAS"),
    "rom": ("BUS_READS",),
    "flash": ("BUS_READS", "KEEPS"),
    "mram": ("CPU_WRITES", "BUS_READS", "KEEPS", "TAKES_LINES"),
    "mram-rev-a": ("CPU_WRITES", "BUS_READS", "KEEPS", "TAKES_LINES", "NO_FETCH"),
}
# Columns with one gate or several; `power` may also say that it is always on, or that nothing in
# the table switches it on.
GATES = ("gate", "power", "idle_clock", "xip", "protection", "master")
STATES: Table = {"on": [], "never": {"mask": 0, "value": 1}}

# A chip whose boot loader starts the first section of the image, instead of a fixed address.
FIRST_SECTION = "first section"


def value(given: Any) -> str:
    """A value in C: a number, a string, a condition, or a structure."""
    if isinstance(given, dict):
        fields = {name: gates(each) if name in GATES else each for name, each in given.items()}
        return "{" + ", ".join(f".{name} = {value(each)}" for name, each in fields.items()) + "}"
    if isinstance(given, list):
        return "{" + ", ".join(map(value, given)) + "}"
    if isinstance(given, str):
        return f'"{given}"'
    return str(given).lower() if isinstance(given, bool) else f"0x{given:X}"


def gates(given: Any) -> Table:
    """The fields of struct gates."""
    rows = STATES[given] if isinstance(given, str) else given
    return {"all": rows if isinstance(rows, list) else [rows]}


def kind(row: Table, prefix: str) -> str:
    """A row with a `kind`, which is the name of an enumerator."""
    return f"{{.kind = {prefix}_{row['kind'].upper()}, {value(without(row, 'kind'))[1:]}"


def without(row: Table, *names: str) -> Table:
    """A row without some of its entries."""
    return {name: each for name, each in row.items() if name not in names}


def memory(name: str, row: Table) -> str:
    """A row of struct board_memory."""
    blocks = row.get("block", [])
    access = " | ".join(f"BOARD_{bit}" for bit in KINDS[row["kind"]])
    fields = {"name": name, "blocks": [blocks] if isinstance(blocks, str) else blocks or None}
    fields |= without(row, "kind", "block")
    fields = {key: each for key, each in fields.items() if each not in (None, "on")}
    return f"{{.access = {access}, {value(fields)[1:]}"


def npu(name: str, row: Table) -> str:
    """A row of struct npu_slot."""
    fields = {"argument": name} | without(row, "config")
    return value(fields | ({"preset": row["config"]} if "config" in row else {}))


def start(table: Table) -> Table:
    """Where the CPU starts: at `vectors`, or at what `start` says."""
    if "start" not in table:
        return {"vectors": table["vectors"]}
    if table["start"] != FIRST_SECTION:
        raise ValueError(f"start is {table['start']!r}, expected {FIRST_SECTION!r}")
    return {"starts_first_section": True}


def chip(symbol: str, table: Table) -> str:
    """Definitions of struct board_chip and of what it points to."""
    registers = ", ".join(value({"name": name} | row) for name, row in table["registers"].items())
    after = table.get("after_reset", {}).items()
    values = value([{"address": int(address, 0), "value": each} for address, each in after])
    devices = "".join(
        f"    {name}_create({value(base)});\n" for name, base in table.get("devices", {}).items()
    )
    add = f"static void {symbol}_add_devices(void)\n{{\n{devices}}}\n" if devices else ""
    numbers = ("irqs", "clock_hz", "closed_ms", "boot", "aliases")
    fields = value({name: table[name] for name in numbers if name in table} | start(table))[1:-1]
    return (
        f"{add}static const struct board_registers {symbol}_registers[] = {{{registers}}};\n"
        f"static const struct board_value {symbol}_after_reset[{len(after) or 1}] = {values};\n"
        f"static const struct board_chip {symbol}_chip = {{{fields}, "
        f".uart = {kind(table['uart'], 'BOARD_UART')}, .registers = {symbol}_registers, "
        f".registers_count = {len(table['registers'])}, .after_reset = {symbol}_after_reset, "
        f".after_reset_count = {len(after)}"
        + (f", .add_devices = {symbol}_add_devices}};\n" if devices else "};\n")
    )


def check(name: str, table: Table) -> None:
    """Refuse columns that the emulator would ignore."""
    dma = table.get("dma", {})
    if "master" in dma and dma["kind"] != "pl081":
        raise ValueError(
            f"{name}: [dma] has `master`, expected of kind 'pl081' only, found {dma['kind']!r}"
        )
    for memory, row in table["memories"].items():
        if "kept_from" in row and "KEEPS" not in KINDS[row["kind"]]:
            kinds = ", ".join(repr(kind) for kind in KINDS if "KEEPS" in KINDS[kind])
            raise ValueError(
                f"{name}: memory {memory!r} has `kept_from`, expected with kind {kinds} only, "
                f"found {row['kind']!r}"
            )
        if "protection" in row and "xip" not in row:
            raise ValueError(
                f"{name}: memory {memory!r} has `protection`, expected with `xip` only"
            )


def board(name: str, symbol: str, table: Table) -> tuple[str, str]:
    """The definitions of a board, and its row."""
    check(name, table)
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
        fields["dma"] = kind(table["dma"], "DMA")
    if "page" in table:
        fields["page"] = value(table["page"])
    if table["machine"] == "none":
        parts += chip(symbol, table)
        fields["chip"] = f"&{symbol}_chip"
    if "security" in table:
        fields["security"] = f"BOARD_SECURITY_{table['security'].upper().replace('-', '_')}"
    return parts, "{" + ", ".join(f".{key} = {text}" for key, text in fields.items()) + "}"


def tables(folder: Path) -> list[tuple[str, Table]]:
    """All boards: the default one first."""
    files = [tomllib.loads(path.read_text()) for path in sorted(folder.glob("*.toml"))]
    boards = []
    for file in sorted(files, key=lambda table: not table.get("default")):
        for name, own in file["boards"].items():
            layers = [*(file["parts"][part] for part in own.get("parts", ())), own]
            boards.append((name, reduce(over, layers, file)))
    return boards


def source(folder: Path) -> str:
    """The C file."""
    parts, rows = "", []
    for index, (name, table) in enumerate(tables(folder)):
        definitions, row = board(name, f"board_{index}", table)
        parts += f"/* {name} */\n{definitions}"
        rows.append(row)
    return (
        "// SPDX-License-Identifier: MIT\n// Generated by board_table.py from boards/*.toml.\n"
        f'#include "board/board.h"\n#include "start/machine_none.h"\n\n{parts}'
        "const struct board boards[] = {\n" + "".join(f"    {row},\n" for row in rows) + "};\n"
        "const size_t board_count = sizeof boards / sizeof boards[0];\n"
    )  # fmt: skip


if __name__ == "__main__":
    try:
        text = source(HERE / "boards")
    except (KeyError, ValueError) as error:
        sys.exit(f"tools/qemu_plugin/boards: {type(error).__name__}: {error}")
    Path(sys.argv[1]).write_text(text)
