# SPDX-License-Identifier: MIT
"""Reads a firmware's board data, the tables of ethosu_board.h, from its ELF file.

Tests get addresses, interrupts and the heap size from here, so that they run on every
board. The emulator's tables have other sources, so wrong numbers here cause failures there.
"""

import enum
import hashlib
import struct
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from elftools.elf.elffile import ELFFile
from ethosu_tools import boards
from ethosu_tools.answers.timeline import elf
from ethosu_tools.base import paths

from . import sharing

# struct ethosu_board, ethosu_memory and ethosu_npu of a 32-bit CPU, as far as they are used.
_BOARD = struct.Struct("<6I")
_MEMORY = struct.Struct("<3I4xQ4BI")
_NPU = struct.Struct("<2I2s18x")
# enum ethosu_masters
_NPU_READS, _NPU_WRITES, _DMA_READS, _DMA_WRITES = 1, 2, 4, 8
_ENABLE, _DISABLE = 0xE000E100, 0xE000E180  # NVIC: 32 interrupts per word


def digest(image: Path) -> str:
    """Return the checksum of an image, as in the SHA256SUMS of a release."""
    return hashlib.sha256(image.read_bytes()).hexdigest()


class Cpu(enum.IntEnum):
    """CPU access to a memory: enum ethosu_cpu_access."""

    DATA, CODE, ALL, REGISTERS = range(4)


@dataclass(frozen=True)
class Memory:
    """A row of the board's memory table."""

    name: str
    start: int
    end: int
    npu_address: int
    masters: int
    port: int
    cache: int
    cpu: Cpu
    dma_address: int

    @property
    def npu_reads(self) -> bool:
        """Whether the NPU can read the memory."""
        return bool(self.masters & _NPU_READS)

    @property
    def npu(self) -> bool:
        """Whether the NPU can access the memory at all."""
        return bool(self.masters & (_NPU_READS | _NPU_WRITES))

    @property
    def dma_reads(self) -> bool:
        """Whether the copy hook's DMA controller can read the memory."""
        return bool(self.masters & _DMA_READS)

    @property
    def dma_writes(self) -> bool:
        """Whether the DMA controller can write the memory."""
        return bool(self.masters & _DMA_WRITES)


@dataclass(frozen=True)
class Image:
    """The tables of one firmware, or of another ELF file with tables at a given address."""

    path: Path
    board: int | None = None  # address of struct ethosu_board; None: the symbol's
    slot: int = 0  # the NPU, by its place in the board's table

    @cached_property
    def memories(self) -> tuple[Memory, ...]:
        """All memories, in the table's order."""
        _, at, count, *_ = self._board
        rows = (
            _MEMORY.unpack(self._read(at + index * _MEMORY.size, _MEMORY.size))
            for index in range(count)
        )
        return tuple(
            Memory(self.text(name), start, end, npu, masters, port, cache, Cpu(cpu), dma)
            for name, start, end, npu, masters, port, cache, cpu, dma in rows
        )

    @property
    def name(self) -> str:
        """The board's name."""
        return self.text(self._board[0])

    @property
    def npu_base(self) -> int:
        """Address of the NPU's registers."""
        return self._npu[0]

    @property
    def npu_irq(self) -> int:
        """Number of the NPU's interrupt."""
        return self._npu[1]

    @property
    def npu_security(self) -> bytes:
        """Whether the NPU runs secure and privileged, one byte each."""
        return self._npu[2]

    @property
    def heap_bytes(self) -> int:
        """Size of Python's heap."""
        return self.symbol("_gc_heap_end") - self.symbol("_gc_heap_start")

    @property
    def writes_rom(self) -> bool:
        """Whether the board can write its ROM file system: struct board_nvm has a write()."""
        return self.word(self.symbol("board_nvm") + 8) != 0

    @property
    def stack(self) -> Memory:
        """The memory with the stacks; unused from `_stack_top` on."""
        top = self.symbol("_stack_top")
        return next(row for row in self.memories if row.start < top < row.end)

    def unseen(self, size: int) -> int:
        """Return an address of bytes that no NPU can access, in a memory, else of registers."""
        for row in sorted(self.memories, key=lambda row: row.cpu is Cpu.REGISTERS):
            if not row.npu and row.end - row.start >= 2 * size:
                return (row.start + row.end) // 2 - size // 2 & ~31
        raise LookupError(f"the NPU sees all memories of {self.path.parent.name}")

    def symbol(self, name: str) -> int:
        """Return the address of a symbol."""
        return self._symbols[name]

    def word(self, address: int) -> int:
        """Return the 32-bit word at an address."""
        return int.from_bytes(self._read(address, 4), "little")

    @cached_property
    def _symbols(self) -> dict[str, int]:
        return elf.symbols(self.path)

    @cached_property
    def _segments(self) -> list[tuple[int, bytes]]:
        with self.path.open("rb") as file:
            parts = ELFFile(file).iter_segments("PT_LOAD")
            return [(part["p_vaddr"], part.data()) for part in parts]

    @property
    def _board(self) -> tuple[int, ...]:
        at = self.symbol("ethosu_board") if self.board is None else self.board
        return _BOARD.unpack(self._read(at, _BOARD.size))

    @property
    def _npu(self) -> tuple[int, int, bytes]:
        return _NPU.unpack(self._read(self._board[4] + self.slot * _NPU.size, _NPU.size))

    def _read(self, address: int, size: int) -> bytes:
        return self._from(address, size)[:size]

    def _from(self, address: int, size: int = 1) -> bytes:
        """Return all bytes from an address to its segment's end, at least this many."""
        for start, data in self._segments:
            if start <= address and address + size <= start + len(data):
                return data[address - start :]
        raise LookupError(f"{self.path} has nothing at {address:#x}")

    def text(self, address: int) -> str:
        """Return the string at an address, "" at 0."""
        return self._from(address).partition(b"\0")[0].decode() if address else ""


_chosen: list[str] = []  # the NPU of `--ethosu-npu`, if there is one


def choose_npu(npu: str | None) -> None:
    """Choose the NPU under test, which need not be the board's first."""
    _chosen[:] = [npu] if npu else []


def of(board: str | None = None) -> Image:
    """Return a board's firmware, by default that under test, with the NPU under test."""
    facts = boards.chosen(board)
    slot = facts.npus.index(_chosen[0]) if _chosen and _chosen[0] in facts.npus else 0
    image = paths.firmware(facts.name)
    return _read(image, slot, sharing.stamp(image))


@cache
def _read(path: Path, slot: int, stamp: tuple[int, ...]) -> Image:
    image = Image(path, slot=slot)
    # Read all tables now, while the file has this stamp.
    assert image._symbols and image._segments and stamp
    return image


def mask() -> str:
    """Return a statement that masks the NPU's interrupt, so that inferences do not end."""
    return _write(_DISABLE)


def unmask() -> str:
    """Return a statement that unmasks the interrupt."""
    return _write(_ENABLE)


_EMULATOR = """
class Emulator:
    def __getattr__(self, name): return getattr(__import__('emulator'), name)
    def fault(self, name, *rest):
        return __import__('emulator').fault(name if '.' in name else '{npu}.' + name, *rest)
emulator = Emulator()
"""


def emulator() -> str:
    """Return code that defines `emulator` with faults of the NPU under test, not the first.

    The module is imported at the first use.
    """
    return _EMULATOR.format(npu=f"npu{of().slot or ''}")


def places() -> str:
    """Return code that defines NPU registers, inaccessible and unused memory, and mask()."""
    return (
        "import machine\n"
        f"NPU, UNSEEN, FREE = {of().npu_base}, {of().unseen(100_000)}, "
        f"{boards.chosen().qemu.window.start}\n"
        f"def mask(): {mask()}\n"
        f"def unmask(): {unmask()}\n"
    )


def _write(registers: int) -> str:
    number = of().npu_irq
    return f"machine.mem32[{registers + number // 32 * 4:#x}] = 1 << {number % 32}"
