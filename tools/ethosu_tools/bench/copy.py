# SPDX-License-Identifier: MIT
"""`ethosu bench copy`: instructions that a copy of tensors takes, by DMA and by the CPU.

Compares the board's `arm_ethos_io_memcpy`, which lets the DMA controller work while the CPU
sleeps, with what the weak default does: the C library's memcpy.
"""

import argparse
from typing import Any

from .. import boards, coherence, vela
from ..board import Board, QemuBoard
from ..errors import MismatchError
from ..qemu import Machine
from ..ui import Ui

SIZES = tuple(16 << shift for shift in range(15))  # 16 bytes to 256 KB
REFERENCE_BYTES = 64 * 1024
# Of so many the least: the others were interrupted by the tick of the board's clock.
REPEATS = 8

_PREPARE = """\
import dma, emulator, uctypes
def _buffer(size):
    data = bytearray(size + 64)
    return memoryview(data)[-uctypes.addressof(data) % 32:]
_from, _to = _buffer({size}), _buffer({size})
for _at in range(len(_from)):
    _from[_at] = (_at * 7 + (_at >> 8)) & 255
def _measure(size, target_offset, source_offset):
    source = _from[source_offset:source_offset + size]
    target = _to[target_offset:target_offset + size]
    least, slept, equal = [0, 0], False, True
    transfers = dma.counters()["transfers"]
    for hook in (0, 1):
        costs = []
        for _ in range({repeats}):
            for at in range(0, size, 61):
                target[at] = target[at] ^ 255
            costs.append(emulator.copy_cost(target, source, hook))
            equal = equal and source == target
            slept = slept or hook and emulator.dma_slept()
        least[hook] = min(costs)
    by_dma = dma.counters()["transfers"] - transfers == {repeats}
    return least[0], least[1], by_dma, bool(slept and by_dma), equal
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    boards.add_option(parser, "the board")
    vela.add_npu_option(parser, "another NPU than the board's", default=None)
    coherence.add_bench_option(parser)


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Start a board and copy on it."""
    chosen = boards.chosen(args.board)
    machine = Machine(args.npu, board=chosen.name, repeatable=True, coherence=args.coherence)
    with QemuBoard(machine) as board, ui.progress("copying") as update:
        board.exec(_PREPARE.format(size=max(SIZES) + 64, repeats=REPEATS), timeout=60)
        rows = []
        for index, size in enumerate(SIZES):
            update(index, len(SIZES) + 1)
            rows.append(_measure(board, size))
        unaligned = _measure(board, REFERENCE_BYTES, target_offset=3, source_offset=1)
        counters = board.eval("dma.counters()")
    reference = next(row for row in rows if row["bytes"] == REFERENCE_BYTES)
    return {
        "board": f"{chosen.name} on QEMU",
        "dma_to_cpu_instruction_ratio_64k": reference["ratio"],
        "cpu_slept_64k": reference["slept"],
        "dma_to_cpu_instruction_ratio_64k_unaligned": unaligned["ratio"],
        "dma_from_bytes": next((row["bytes"] for row in rows if row["by_dma"]), None),
        "sizes": rows,
        "counters": counters,
    }


def _measure(
    board: Board, size: int, *, target_offset: int = 0, source_offset: int = 0
) -> dict[str, Any]:
    call = f"_measure({size}, {target_offset}, {source_offset})"
    cpu, hook, by_dma, slept, equal = board.eval(call, timeout=120)
    if not equal:
        raise MismatchError(f"a copy of {size} bytes differs from its source")
    return {
        "bytes": size,
        "cpu_instructions": cpu,
        "hook_instructions": hook,
        "cpu_instructions_per_kb": round(cpu * 1024 / size, 1),
        "hook_instructions_per_kb": round(hook * 1024 / size, 1),
        "ratio": round(hook / cpu, 4),
        "by_dma": by_dma,
        "slept": slept,
    }


def render(data: dict[str, Any]) -> str:
    """Lay the costs out in a table."""
    lines = [
        "Guest instructions of a copy: the CPU's memcpy(), and the board's arm_ethos_io_memcpy()",
        "",
        f"{'bytes':>9}{'CPU':>10}{'per KB':>10}{'hook':>10}{'per KB':>10}{'ratio':>9}  made by",
    ]
    for row in data["sizes"]:
        maker = "CPU" if not row["by_dma"] else f"DMA, CPU {'asleep' if row['slept'] else 'awake'}"
        lines.append(
            f"{row['bytes']:>9,}{row['cpu_instructions']:>10,}{row['cpu_instructions_per_kb']:>10,}"
            f"{row['hook_instructions']:>10,}{row['hook_instructions_per_kb']:>10,}"
            f"{row['ratio']:>9.2%}  {maker}"
        )
    lines += [
        "",
        f"64 KB by DMA: {data['dma_to_cpu_instruction_ratio_64k']:.2%} of the CPU's instructions, "
        f"{data['dma_to_cpu_instruction_ratio_64k_unaligned']:.2%} from an odd address to another",
    ]
    return "\n".join(lines)
