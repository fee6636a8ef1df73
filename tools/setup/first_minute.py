# SPDX-License-Identifier: MIT
"""What happens on a board from its reset to the prompt, step by step, each with its source.

Steps of the chip are data, `[start]` in board.toml and chip.toml; those of the firmware are the
same on each board, with the board's addresses.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ethosu_tools import boards
from ethosu_tools.base.ui import markdown

# Lists of [start]: before the image, in board_init(), in board_uart_prepare().
BOOT, INIT, CONSOLE = "boot", "init", "console"
_ACCESS = {"data": "data", "code": "code", "all": "data and code", "registers": "registers"}


@dataclass(frozen=True)
class Step:
    """A step of the start; the source is a document, a file of this project, or "guess: why"."""

    does: str
    source: str


def steps(name: str) -> Iterator[Step]:
    """The steps of a board in their order; InputError if it does not exist."""
    table = boards.table(name)
    yield from _of_chip(table, BOOT)
    regions = table["regions"]
    yield Step(
        f"The reset handler, in the vector table's word 1 at {regions['VECTORS']['start']:#010x}, "
        "switches interrupts and MPU off, sets VTOR to the table, and both stacks to "
        f"{_memory(table, regions['DATA']['start'])}.",
        "firmware/startup.c",
    )
    yield Step(
        "FPU and MVE on; caches written back and off; SysTick and all "
        f"{table['interrupts']['count']} interrupts off, none left to the non-secure "
        "state; deep sleep off; variables copied and cleared.",
        "firmware/startup.c",
    )
    yield Step(
        f"MPU on; all but these addresses fault: {', '.join(map(_span, table['memories']))}.",
        "firmware/mpu.c",
    )
    yield from _of_chip(table, INIT)
    yield from _of_chip(table, CONSOLE)
    uart = table["uart"]
    yield Step(
        f"The console's UART at {uart['base']:#010x}, interrupt {uart['irq']}, "
        f"{uart['baud']} baud.",
        "firmware/console.c",
    )
    if "heap" in table:
        heap = table["heap"]
        yield Step(
            f"Python's heap of {heap['size'] // 1024:,} KB in {_memory(table, heap['start'])}; "
            f"/rom is looked for at {table['romfs']['start']:#010x}.",
            "firmware/main.c",
        )
    npus = " and ".join(
        f"{config} at {row['base']:#010x}, interrupt {row['irq']}"
        for config, row in zip(table["npus"], table["npu_registers"], strict=False)
    )
    yield Step(f"The banner and >>>. The first import of ethosu resets {npus}.", "firmware/main.c")


def _of_chip(table: Mapping[str, Any], phase: str) -> Iterator[Step]:
    """The steps of a list in the data."""
    for row in table.get("start", {}).get(phase, ()):
        yield Step(row["does"], row["source"])


def _memory(table: Mapping[str, Any], address: int) -> str:
    """The name of the memory with this address, and the address."""
    for row in table["memories"]:
        span = _bounds(row)
        if span and span[0] <= address < span[1]:
            return f"{row['name']} ({address:#010x})"
    return f"{address:#010x}"


def _bounds(row: Mapping[str, Any]) -> tuple[int, int] | None:
    """Start and end; None if a symbol of the linker script is one of them."""
    end = row["end"] if "end" in row else row["start"] + row["size"]
    return None if isinstance(row["start"], str) or isinstance(end, str) else (row["start"], end)


def _span(row: Mapping[str, Any]) -> str:
    span = _bounds(row)
    where = f" {span[0]:#010x} to {span[1] - 1:#010x}" if span else ""
    return f"{row['name']}{where} ({_ACCESS[row.get('cpu', 'data')]})"


def section(names: Iterable[str]) -> str:
    """The steps of a board in Markdown, for each of its cores."""
    parts = [
        "## From reset to prompt",
        "As the chip executes it. A source is a document of the chip's, another program for it, a "
        "file of this project, or a guess. No image has run on a chip.",
    ]
    for name in names:
        rows = [(i, step.does, step.source) for i, step in enumerate(steps(name), 1)]
        parts += [f"### {name}", "\n".join(markdown(("", "step", "source"), rows))]
    return "\n\n".join(parts) + "\n"
