# SPDX-License-Identifier: MIT
"""Measures the instructions for copying tensors by DMA and by the CPU.

The board's `arm_ethos_io_memcpy`, which sleeps while the DMA controller copies, is compared
with the weak default, the C library's memcpy.
"""

from ethosu_tools.answers import views
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

SIZES = tuple(16 << shift for shift in range(13))  # 16 bytes to 64 KB
REFERENCE_BYTES = 64 * 1024
# Repetitions; the minimum counts, because the board's clock tick interrupts some of them.
REPEATS = 8

_PREPARE = """\
import dma, emulator, uctypes
def _buffer(size):
    data = bytearray(size + 64)
    return memoryview(data)[-uctypes.addressof(data) % 32:]
_from, _to = _buffer({size}), _buffer({size})
_row = bytes(at * 7 & 255 for at in range(256)) * 2
for _at in range(0, len(_from), 256):
    _shift = (_at >> 8) * 183 & 255
    _from[_at:_at + 256] = _row[_shift:_shift + min(256, len(_from) - _at)]
def _measure(size, target_offset, source_offset):
    source = _from[source_offset:source_offset + size]
    target = _to[target_offset:target_offset + size]
    least, slept, equal = [0, 0], False, True
    transfers = dma.counters()["transfers"]
    for hook in (0, 1):
        costs = []
        for _ in range({repeats}):
            for at in range(0, size, 61 + size // 64):
                target[at] = target[at] ^ 255
            costs.append(emulator.copy_cost(target, source, hook))
            equal = equal and source == target
            slept = slept or hook and emulator.dma_slept()
        least[hook] = min(costs)
    by_dma = dma.counters()["transfers"] - transfers == {repeats}
    return least[0], least[1], by_dma, bool(slept and by_dma), equal
"""
_HEAD = ("bytes", "CPU", "hook", "ratio", "by")


def measure(board: str, coherence: str = "off") -> dict:
    """Measure copies of each size on an emulated board, and from an odd address."""
    machine = Machine(emulated(board, coherence=coherence), repeatable=True)
    with QemuBoard(machine) as running:
        running.exec(_PREPARE.format(size=max(SIZES) + 64, repeats=REPEATS), timeout=60)
        rows = [_copy(running, size) for size in SIZES]
        unaligned = _copy(running, REFERENCE_BYTES, 3, 1)
        counters = running.eval("dma.counters()")
    reference = next(row for row in rows if row["bytes"] == REFERENCE_BYTES)
    shown = [
        (
            f"{row['bytes']:,}",
            f"{row['cpu']:,}",
            f"{row['hook']:,}",
            f"{row['ratio']:.2%}",
            "DMA" if row["by_dma"] else "CPU",
        )
        for row in [*rows, unaligned]
    ]
    print(f"\n{board}, cache {coherence}: instructions; the last from an odd address to another")
    print(views.text(_HEAD, shown, *_HEAD[:4]))
    return {"sizes": rows, "reference": reference, "unaligned": unaligned, "counters": counters}


def _copy(board: QemuBoard, size: int, target_offset: int = 0, source_offset: int = 0) -> dict:
    call = f"_measure({size}, {target_offset}, {source_offset})"
    cpu, hook, by_dma, slept, equal = board.eval(call, timeout=120)
    assert equal, f"a copy of {size} bytes differs from its source"
    return {
        "bytes": size,
        "cpu": cpu,
        "hook": hook,
        "ratio": hook / cpu,
        "by_dma": by_dma,
        "slept": slept,
    }
