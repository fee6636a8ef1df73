# SPDX-License-Identifier: MIT
"""Makes the board's part of an image from its board.toml, with the system's Python.

    board.py make BOARD FOLDER OUT    board.mk, mpconfigboard.h, board_table.c, memory.ld in OUT
    board.py list                     all boards, as NAME:flash+qemu; the default one first
    board.py native OUT               the native module's table of boards

boards/README.md explains the entries of board.toml. A file is written only if it changes.
"""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
from ethosu_tools import board_files  # noqa: E402

Table = dict[str, Any]

HEAD = "Made by firmware/board.py from {source}."
CACHES = {"write-back": "WRITE_BACK", "write-through": "WRITE_THROUGH", "none": "NONE"}
CPU = {"data": "DATA", "code": "CODE", "all": "ALL", "registers": "REGISTERS"}
MASTERS = {
    "all": "ETHOSU_MASTERS_ALL",
    "read": "ETHOSU_MASTERS_READ",
    "none": "0",
    "npu-reads": "ETHOSU_NPU_READS",
    "npu-writes": "ETHOSU_NPU_WRITES",
    "dma-reads": "ETHOSU_DMA_READS",
    "dma-writes": "ETHOSU_DMA_WRITES",
}
# Bytes at the end of the ROM file system's memory that are the firmware's, without a `journal`.
JOURNAL = 256
# A memory that only the emulator maps, for larger ROM file systems.
EMULATED_ROMFS = {
    "name": "emulated ROM", "masters": "read", "cache": "write-through", "cpu": "code",
}  # fmt: skip
FLAGS = "-mcpu=cortex-m55 -mfloat-abi=hard"


def one_of(choices: Mapping[str, str], row: Table, key: str, default: str) -> str:
    """The C name of a choice; a sentence if it is none."""
    value = row.get(key, default)
    if value not in choices:
        raise ValueError(f"{key} is {value!r}, expected one of {', '.join(choices)}")
    return choices[value]


def number(value: int) -> str:
    """A number as C writes it: small ones are counts, large ones addresses or sizes."""
    return f"{value}u" if 0 <= value < 4096 else f"0x{value:08X}u"


def quoted(text: str) -> str:
    """A C string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# --- C tables -----------------------------------------------------------------


def address(value: int | str) -> str:
    """A bound of a memory; a text is a symbol of the linker script."""
    return value if isinstance(value, str) else f"(const void *){number(value)}"


def memory(row: Table) -> str:
    """A row of struct ethosu_memory."""
    end = row["end"] if "end" in row else row["start"] + row["size"]
    masters = row["masters"]
    fields = {
        "name": quoted(row["name"]) if "name" in row else "",
        "start": address(row["start"]),
        "end": address(end),
        "npu_address": number(row["npu_address"]) if "npu_address" in row else "",
        "masters": " | ".join(
            one_of(MASTERS, {"masters": each}, "masters", "")
            for each in ([masters] if isinstance(masters, str) else masters)
        ),
        "port": f"ETHOSU_PORT_{row['port']}" if "port" in row else "",
        "cache": f"ETHOSU_CACHE_{one_of(CACHES, row, 'cache', 'write-back')}",
        "cpu": f"ETHOSU_CPU_{one_of(CPU, row, 'cpu', 'data')}",
    }
    return initialiser(fields)


def initialiser(fields: Mapping[str, str]) -> str:
    """{.field = value, ...} of the fields that have a value."""
    return "{" + ", ".join(f".{name} = {value}" for name, value in fields.items() if value) + "}"


def npu(row: Table, settings: str, power: str) -> str:
    """A row of struct ethosu_npu."""
    fast = row.get("fast_memory")
    return initialiser(
        {
            "base": number(row["base"]),
            "irq": str(row["irq"]),
            "secure": str(row.get("secure", True)).lower(),
            "privileged": str(row.get("privileged", True)).lower(),
            "fast_memory": f"(void *){number(fast['start'])}" if fast else "",
            "fast_memory_size": number(fast["size"]) if fast else "",
            "settings": settings,
            "power": power,
        }
    )


def settings(row: Table) -> str:
    """Initialiser of struct ethosu_npu_settings."""
    return initialiser(
        {
            name: "{" + ", ".join(map(number, value)) + "}" if isinstance(value, list)
            else number(value)
            for name, value in row.items()
        }
    )  # fmt: skip


def array(head: str, rows: Iterable[str]) -> str:
    """A constant array, a row on each line."""
    return f"{head}[] = {{\n" + "".join(f"    {row},\n" for row in rows) + "};\n"


def board_table(table: Table, source: str) -> str:
    """board_table.c: `ethosu_board`, and `dma_board` if there is a controller."""
    symbols = sorted(
        {row[key] for row in table["memories"] for key in ("start", "end")
         if isinstance(row.get(key), str)}
    )  # fmt: skip
    externs = "".join(f"extern uint32_t {name}[];\n" for name in symbols)
    rows = "".join(f"    {memory(row)},\n" for row in table["memories"])
    if "romfs" in table.get("qemu", {}):
        row = memory(EMULATED_ROMFS | table["qemu"]["romfs"])
        rows += f"#ifdef FIRMWARE_EMULATOR\n    {row},\n#endif\n"
    npus, given = [], []
    for index, row in enumerate(table["npu_registers"]):
        if "settings" in row:
            head = f"static const struct ethosu_npu_settings settings_{index}"
            given.append(f"{head} = {settings(row['settings'])};\n")
        npus.append(
            npu(
                row,
                f"&settings_{index}" if "settings" in row else "",
                "board_npu_power" if row.get("power") else "",
            )
        )
    text = (
        f"// SPDX-License-Identifier: MIT\n// {HEAD.format(source=source)}\n"
        '#include "board.h"\n#include "dma_controller.h"\n#include "ethosu_board.h"\n'
        f'#include "mpconfigboard.h"\n#include "startup.h"\n\n{externs}'
        f"static const struct ethosu_memory memories[] = {{\n{rows}}};\n" + "".join(given)
        + array("static const struct ethosu_npu npus", npus)
        + "const struct ethosu_board ethosu_board = {\n"
        "    .name = BOARD_NAME,\n    .memories = memories,\n"
        "    .memory_count = sizeof(memories) / sizeof(memories[0]),\n"
        f"    .cache_line = {table.get('cache_line', 32)},\n"
        "    .npus = npus,\n    .npu_count = sizeof(npus) / sizeof(npus[0]),\n};\n"
    )  # fmt: skip
    if "dma" in table:
        fields = {
            name: number(table["dma"][name]) if name in table["dma"] else ""
            for name in ("base", "irq", "abort_irq", "least", "least_cached")
        }
        text += f"const struct dma_board dma_board = {initialiser(fields)};\n"
    return text


# --- The linker script, the constants, the makefile ---------------------------------


def span(name: str, where: Table, more: int = 0) -> str:
    """Two symbols of the linker script."""
    end = where["start"] + where["size"] + more
    return f"_{name}_start = 0x{where['start']:08X};\n_{name}_end = 0x{end:08X};\n"


def region(name: str, row: Table) -> str:
    """A line of MEMORY."""
    code = name in ("VECTORS", "CODE") or ".text" in row.get("takes", "")
    at = f"ORIGIN = 0x{row['start']:08X}, LENGTH = 0x{row['size']:X}"
    return f"    {name:7} ({'rx' if code else 'rw'}) : {at}\n"


def taken(name: str, row: Table) -> str:
    """The output section of a region that takes input sections of its own."""
    kind = " (NOLOAD)" if row.get("noload") else ""
    align = f" ALIGN({row['align']})" if "align" in row else ""
    return f"    .{row['section']}{kind} :{align} {{\n        {row['takes']}\n    }} > {name}\n"


def linker_script(table: Table, source: str) -> str:
    """memory.ld: regions, symbols of startup.h, then sections.ld."""
    regions = table["regions"]
    own = "".join(taken(name, row) for name, row in regions.items() if "takes" in row)
    symbols = span("gc_heap", table["heap"]) + span("ramdisk", table["ramdisk"])
    symbols += span("romfs", table["romfs"], table.get("journal", JOURNAL))
    if "disk" in table:
        symbols += span("flashdisk", table["disk"])
    return (
        f"/* SPDX-License-Identifier: MIT */\n/* {HEAD.format(source=source)} */\nMEMORY {{\n"
        + "".join(region(name, row) for name, row in regions.items()) + "}\n"
        + symbols + (f"SECTIONS {{\n{own}}}\n" if own else "") + "INCLUDE sections.ld\n"
    )  # fmt: skip


def constants(table: Table, source: str, variant: str) -> str:
    """mpconfigboard.h."""
    names = table["micropython"]
    found = {
        "BOARD_NAME": quoted(names["board"].format(variant=variant)),
        "BOARD_MCU_NAME": quoted(names["mcu"]),
        "BOARD_PLATFORM": quoted(names["platform"]),
        "BOARD_CLOCK_HZ": f"{table['clock_mhz'] * 1_000_000}u",
        "BOARD_IRQ_COUNT": number(table["interrupts"]["count"]),
        "BOARD_IRQ_PRIORITY_BITS": number(table["interrupts"]["priority_bits"]),
        **{
            f"BOARD_UART_{key.upper()}": f"{value}u" if key != "base" else number(value)
            for key, value in table["uart"].items() if key != "driver"
        },
        **{
            name: value if isinstance(value, str) else number(value)
            for name, value in table.get("define", {}).items()
        },
    }  # fmt: skip
    emulated = {}
    if "qemu" in table:
        found["BOARD_EMULATOR_PAGE_BASE"] = number(table["qemu"]["page"])
        found["BOARD_EMULATOR_PAGE_IRQ"] = number(table["qemu"]["page_irq"])
        if "romfs" in table["qemu"]:
            emulated["BOARD_EMULATED_ROMFS"] = number(table["qemu"]["romfs"]["start"])
            emulated["BOARD_EMULATED_ROMFS_SIZE"] = number(table["qemu"]["romfs"]["size"])
    lines = "".join(f"#define {name} {value}\n" for name, value in found.items())
    if emulated:
        only = "".join(f"#define {name} {value}\n" for name, value in emulated.items())
        lines += f"#ifdef FIRMWARE_EMULATOR\n{only}#endif\n"
    return (
        f"// SPDX-License-Identifier: MIT\n// {HEAD.format(source=source)}\n"
        f"#ifndef MPCONFIGBOARD_H\n#define MPCONFIGBOARD_H\n{lines}#endif\n"
    )


def c_files(folder: Path) -> list[str]:
    """Names of the sources in a folder."""
    return sorted(path.name for path in folder.glob("*.c"))


def makefile(table: Table, source: str, folder: Path) -> str:
    """board.mk: the sources by name, and what firmware/Makefile asks of a board."""
    drivers = []
    if "dma" in table:
        own = [f"dma_{table['dma']['driver']}.c"] if "driver" in table["dma"] else []
        drivers += ["dma_copy.c", *own, "moddma.c"]
    if "driver" in table["uart"]:
        drivers.append(f"uart_{table['uart']['driver']}.c")
    chip = table.get("chip")
    sources = {
        "BOARD_SRC": c_files(folder),
        "BOARD_DRIVERS": drivers,
        "BOARD_CHIP": [chip] if chip else [],
        "BOARD_CHIP_SRC": c_files(ROOT / board_files.CHIPS / chip) if chip else [],
        "BOARD_CPU_FLAGS": [table.get("cpu_flags", FLAGS)],
        "BOARD_EMULATOR": ["yes" if "qemu" in table else "no"],
        "BOARD_BIN": ["yes" if table.get("bin") else "no"],
    }
    lines = "".join(f"{name} = {' '.join(values)}\n" for name, values in sources.items())
    return f"# {HEAD.format(source=source)}\n{lines}"


# --- The native module's table --------------------------------------------------


class Parts:
    """Definitions of a C file; of several with the same text there is one."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def add(self, kind: str, text: str) -> str:
        """Add a definition, in which @ stands for its name; return the name."""
        return self._names.setdefault(text, f"{kind}_{len(self._names)}")

    def text(self) -> str:
        """All definitions."""
        return "\n".join(text.replace("@", name) for text, name in self._names.items())


POWER = """\
static bool @(const struct ethosu_npu *npu, bool on)
{{
    (void)npu;
    *(volatile uint32_t *){} |= on;
    return true;
}}
"""


def native_row(parts: Parts, name: str, table: Table) -> str:
    """A row of struct known_board; what it points to goes to `parts`."""
    own = table["native"]
    rows = map(memory, own["memories"])
    memories = parts.add("memories", array("static const struct ethosu_memory @", rows))
    clock = own.get("npu_clock")
    power = parts.add("power", POWER.format(number(clock))) if clock else ""
    slots = [npu(table["npu_registers"][0], "", power)]
    npus = parts.add("npus", array("static const struct ethosu_npu @", slots))
    fields = {
        "name": quoted(name),
        "memories": memories,
        "memory_count": f"sizeof {memories} / sizeof {memories}[0]",
        "npus": npus,
        "npu_count": "1",
    }
    config = "NULL" if table.get("qemu", {}).get("any_npu") else quoted(table["npus"][0])
    return initialiser({"board": initialiser(fields), "npu": config})


def native(boards: Iterable[tuple[str, Table]]) -> str:
    """natmod's boards.c: the NPU and its memories of each board that runs other firmware, too."""
    parts = Parts()
    rows = [native_row(parts, name, table) for name, table in boards if "native" in table]
    return (
        "// SPDX-License-Identifier: MIT\n// Made by firmware/board.py from boards/*/board.toml.\n"
        f'#include "natmod/boards.h"\n\n{parts.text()}\n'
        + array("const struct known_board known_boards", rows)
        + "const size_t known_board_count = sizeof known_boards / sizeof known_boards[0];\n"
    )


# --- Commands -------------------------------------------------------------------


def write(path: Path, text: str) -> None:
    """Write a file if its content differs, so that make compiles nothing again."""
    if not path.is_file() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def make(board: str, folder: Path, out: Path) -> None:
    """Write what an image needs of a board."""
    path = folder / board_files.FILE
    source = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
    table = board_files.read(ROOT, path)
    name, _, variant = board.partition("-")
    known = board_files.variants(name, table)
    if board not in known:
        raise ValueError(f"{board} is one of several: {', '.join(known)}")
    table = board_files.choose(table, variant)
    write(out / "board.mk", makefile(table, source, folder))
    write(out / "mpconfigboard.h", constants(table, source, variant))
    write(out / "board_table.c", board_table(table, source))
    write(out / "memory.ld", linker_script(table, source))


def every() -> list[tuple[str, Table]]:
    """All boards and their tables."""
    found = []
    for path in board_files.files(ROOT):
        table = board_files.read(ROOT, path)
        for name in board_files.variants(path.parent.name, table):
            found.append((name, board_files.choose(table, name.partition("-")[2])))
    return found


def main(command: str, *arguments: str) -> None:
    """Carry out one of the commands above."""
    if command == "make":
        make(arguments[0], Path(arguments[1]).resolve(), Path(arguments[2]))
    elif command == "native":
        write(Path(arguments[0]), native(every()))
    else:
        rows = sorted(every(), key=lambda row: row[0] != board_files.DEFAULT)
        for name, table in rows:
            print(f"{name}:{'+'.join(key for key in ('flash', 'qemu') if key in table)}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KeyError as error:
        sys.exit(f"{' '.join(sys.argv[2:3])}: {board_files.FILE} has no entry {error}")
    except (OSError, TypeError, ValueError) as error:
        sys.exit(f"{' '.join(sys.argv[2:3])}: {error}")
