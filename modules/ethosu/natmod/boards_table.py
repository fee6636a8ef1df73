# SPDX-License-Identifier: MIT
"""Generates boards.c, the native module's table of boards: boards_table.py OUT."""

import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "firmware/make"))
from board import HEAD, array, every, initialiser, memory, npu, number, quoted, write
from ethosu_tools.boards.facts import BoardFacts, Native


class Parts:
    """Definitions of a C file, without duplicates."""

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


def native_row(parts: Parts, board: BoardFacts, own: Native) -> str:
    """A row of struct known_board; the tables that it points to are added to `parts`."""
    rows = map(memory, own.memories)
    memories = parts.add("memories", array("static const struct ethosu_memory @", rows))
    clock = own.npu_clock
    power = parts.add("power", POWER.format(number(clock))) if clock else ""
    slots = [npu(board.npu_registers[0], "", power)]
    npus = parts.add("npus", array("static const struct ethosu_npu @", slots))
    fields = {
        "name": quoted(board.name),
        "memories": memories,
        "memory_count": f"sizeof {memories} / sizeof {memories}[0]",
        "npus": npus,
        "npu_count": "1",
    }
    config = "NULL" if board.qemu and board.qemu.any_npu else quoted(board.npus[0])
    machine = quoted(own.machine)
    return initialiser({"board": initialiser(fields), "npu": config, "machine": machine})


def native(boards: Iterable[BoardFacts]) -> str:
    """natmod's boards.c: NPU and memories of each board that also runs third-party firmware."""
    parts = Parts()
    rows = [native_row(parts, board, board.native) for board in boards if board.native]
    return (
        f"// SPDX-License-Identifier: MIT\n// {HEAD.format(source='boards/*/board.toml')}\n"
        f'#include "natmod/boards.h"\n\n{parts.text()}\n'
        + array("const struct known_board known_boards", rows)
        + "const size_t known_board_count = sizeof known_boards / sizeof known_boards[0];\n"
    )


if __name__ == "__main__":
    write(Path(sys.argv[1]), native(every()))
