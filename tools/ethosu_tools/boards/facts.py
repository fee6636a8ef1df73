# SPDX-License-Identifier: MIT
"""The entries of a board.toml and their types; boards/README.md explains each.

firmware/make/board.py and the tools both read boards with this module. The emulator has numbers of
its own, from the chips' manuals: tools/qemu_plugin/boards.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..base.errors import InputError
from . import files
from .fill import NO_ENTRY, fill

# Values of `proof`: where the image has been shown to work.
SILICON, EMULATED, NOWHERE = "silicon", "emulated", "never ran"

Access = Literal["npu-reads", "npu-writes", "dma-reads", "dma-writes"]
Masters = Literal["all", "read", "none", "npu-reads", "npu-writes", "dma-reads", "dma-writes"]
# Vela's OPTIONS.md, section "System Config".
_VELA_SOURCE = "Vela's [System_Config...]"
_VELA_ENTRY = re.compile(
    "core_clock|axi[01]_port|(Sram|Dram|On|Off)(ChipFlash)?_(clock_scale|burst_length|ports_used|"
    "(read|write)_latency|max_(reads|writes))"
)


@dataclass(frozen=True)
class Span:
    """A part of the address space; `start` is the CPU's address, `size` in bytes."""

    start: int
    size: int

    @property
    def end(self) -> int:
        """The first address after it."""
        return self.start + self.size

    def holds(self, address: int, size: int) -> bool:
        """Whether `size` bytes from `address` on are inside."""
        return self.start <= address <= address + size <= self.end


@dataclass(frozen=True)
class Memory:
    """A part of the memory map: who may use it, and how. Bounds are addresses or symbols."""

    start: int | str
    masters: Masters | tuple[Access, ...]
    name: str = ""
    end: int | str | None = None
    size: int | None = None
    npu_address: int | None = None
    dma_address: int | None = None
    port: int | None = None
    cache: Literal["write-back", "write-through", "none"] = "write-back"
    cpu: Literal["data", "code", "all", "registers"] = "data"

    def __post_init__(self) -> None:
        """Check what the entries mean together."""
        if (self.end is None) == (self.size is None):
            raise ValueError("expected `end` or `size`")
        if self.size is not None and isinstance(self.start, str):
            raise ValueError("`size` is expected with an address as `start`")
        address = self.dma_address
        if address is None:
            return
        if not 0 < address < 1 << 32 or address % 32:
            expected = "a multiple of 32 from 0x20 to 0xffffffe0"
            raise ValueError(
                f"dma_address of memory {self.name!r} is {address:#x}, expected {expected}"
            )
        if not {"all", "read", "dma-reads", "dma-writes"} & set(self.access):
            raise ValueError(
                f"memory {self.name!r} has a dma_address, expected only with DMA in `masters`"
            )

    @property
    def access(self) -> tuple[str, ...]:
        """`masters` as a list."""
        return (self.masters,) if isinstance(self.masters, str) else self.masters

    @property
    def until(self) -> int | str:
        """The first address after it, or a symbol."""
        if self.end is not None:
            return self.end
        assert isinstance(self.start, int) and self.size is not None
        return self.start + self.size


@dataclass(frozen=True)
class NpuRegisters:
    """An NPU's registers; `settings`: of struct ethosu_npu_settings."""

    base: int
    irq: int
    secure: bool = True
    privileged: bool = True
    power: bool = False
    fast_memory: Span | None = None
    settings: Mapping[str, int | tuple[int, ...]] | None = None


@dataclass(frozen=True)
class Region:
    """A region of the linker script."""

    start: int
    size: int
    section: str = ""
    takes: str = ""
    noload: bool = False
    align: int | None = None
    initial: str = ""


@dataclass(frozen=True)
class Dma:
    """A DMA controller that copies."""

    base: int
    irq: int
    least: int
    least_cached: int | None = None
    abort_irq: int | None = None
    driver: str = ""


@dataclass(frozen=True)
class Uart:
    """The console's UART."""

    base: int
    irq: int
    baud: int
    clock_hz: int | None = None
    driver: str = ""


@dataclass(frozen=True)
class Interrupts:
    """The interrupt controller."""

    count: int
    priority_bits: int


@dataclass(frozen=True)
class Names:
    """Names of the board that MicroPython reports."""

    board: str
    mcu: str
    platform: str


@dataclass(frozen=True)
class Emulation:
    """How QEMU with the plugin emulates this board.

    With `any_npu`, the board has the NPU that a model was compiled for instead of a fixed one.
    `memories` are shared with the PC, by their names in the plugin's table: one holds the ROM file
    system, and one the `window` through which tensors are exchanged. `page` has the
    emulator registers. `romfs`, if any, is a memory that only the emulator maps, for ROM file
    systems that are too large for the board's own memory.
    """

    machine: str
    page: int
    page_irq: int
    window: Span
    memories: Mapping[str, Span]
    any_npu: bool = False
    romfs: Span | None = None


@dataclass(frozen=True)
class Vela:
    """Vela's settings: a section of its own file, or the entries of such a section."""

    system_config: str
    memory_mode: str
    system: Mapping[str, int | float | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the names, because Vela replaces an unknown one by a default without an error."""
        unknown = [name for name in self.system if not _VELA_ENTRY.fullmatch(name)]
        if unknown:
            raise ValueError(f"unknown entry {unknown[0]!r}, expected names of {_VELA_SOURCE}")


@dataclass(frozen=True)
class Estimate:
    """Memories for the latency estimate: `weights` has a system_config for each."""

    tensors: str
    weights: Mapping[str, str]
    external: tuple[str, ...] = ()
    checked: bool = False


@dataclass(frozen=True)
class Native:
    """What the NPU can access in firmware other than this project's."""

    machine: str
    memories: tuple[Memory, ...]
    npu_clock: int | None = None


@dataclass(frozen=True)
class Step:
    """A step that a chip takes at start-up; its source is a document, a file, or "guess: why"."""

    does: str
    source: str


@dataclass(frozen=True)
class Start:
    """Steps before the image, in board_init(), and in board_uart_prepare()."""

    boot: tuple[Step, ...] = ()
    init: tuple[Step, ...] = ()
    console: tuple[Step, ...] = ()


@dataclass(frozen=True)
class BlindPoint:
    """A measurement of the board's chip, found after the rules of the estimate had been chosen.

    `low_ms` and `estimated_ms` are the estimate for the same model, with the weights in `weights`.
    """

    model: str
    npu: str
    weights: str
    measured_ms: float
    measured_uj: float
    low_ms: float
    estimated_ms: float
    source: str

    @property
    def text(self) -> str:
        """The point in one line."""
        return (
            f"{self.model}, weights in {self.weights}, took {self.measured_ms:g} ms and "
            f"{self.measured_uj:g} uJ on this chip; the estimate for it is at least "
            f"{self.low_ms:.3g} ms (docs/latency.md)"
        )


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A machine.toml: an emulated machine for third-party firmware only."""

    title: str
    core: str
    clock_mhz: int
    npus: tuple[str, ...]
    machine: str


@dataclass(frozen=True, kw_only=True)
class BoardFacts:
    """One board.toml with one of its variants; the first of the NPUs is the default.

    `name` has the variant. `vela` and `estimate` are for one NPU. `flash` has a table of settings
    for each flashing method (link/flash), the usual one first. `silicon` and `emulated`: the image
    has been shown to run on the chip, or in QEMU. `missing` lists features that a user would expect
    and the board lacks. `needs`: what else must be on the chip, or made by a vendor's tool.
    """

    name: str = field(default="", metadata={NO_ENTRY: True})
    title: str
    core: str
    clock_mhz: int
    npus: tuple[str, ...]
    npu_registers: tuple[NpuRegisters, ...]
    interrupts: Interrupts
    micropython: Names
    memories: tuple[Memory, ...]
    romfs: Span
    regions: Mapping[str, Region]
    uart: Uart
    # None for a machine that has no firmware of this project.
    heap: Span | None = None
    ramdisk: Span | None = None
    # Bytes after `romfs` that the firmware uses.
    journal: int = 256
    disk: Span | None = None
    cache_line: int = 32
    dma: Dma | None = None
    define: Mapping[str, int | str] = field(default_factory=dict)
    chip: str = ""
    cpu_flags: str = ""
    bin: bool = False
    silicon: bool = False
    emulated: bool = False
    missing: tuple[str, ...] = ()
    needs: str = ""
    qemu: Emulation | None = None
    vela: Vela | None = None
    estimate: Estimate | None = None
    flash: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    native: Native | None = None
    start: Start = field(default_factory=Start)
    blind_point: BlindPoint | None = None

    def __post_init__(self) -> None:
        """Check what the entries mean together."""
        if self.dma is None and any(row.dma_address is not None for row in self.memories):
            raise ValueError("a memory has a dma_address, expected only with [dma]")

    @property
    def emulation(self) -> Emulation:
        """How QEMU emulates the board; InputError if it does not."""
        if self.qemu is None:
            raise InputError(f"{self.name} is not emulated: its {files.FILE} has no [qemu]")
        return self.qemu

    @property
    def fast_memories(self) -> dict[str, int]:
        """Bytes of memory for fast scratch alone, by the NPU that has it.

        The emulator may have more rows of registers than the board has NPUs.
        """
        rows = zip(self.npus, self.npu_registers, strict=False)
        return {npu: row.fast_memory.size for npu, row in rows if row.fast_memory}

    @property
    def proof(self) -> str:
        """Where the board's image has been shown to work."""
        if self.silicon:
            return SILICON
        return EMULATED if self.emulated else NOWHERE


def of_table(name: str, table: Mapping[str, Any], npu: str | None = None) -> BoardFacts:
    """Read the facts in a board's table without variants; ValueError names a wrong entry.

    Entries for one of several NPUs are those of `npu`, if it is the board's, else of the first.
    """
    where = f"{files.FILE} of {name}"
    fill(Mapping[str, Mapping[str, Any]], table.get("by_npu", {}), f"{where}: by_npu")
    tables = files.of_npu(table)
    found = {own: fill(BoardFacts, entries, where) for own, entries in tables.items()}
    facts: BoardFacts = found[npu if npu in found else next(iter(found))]
    return replace(facts, name=name)


def of_machine(name: str, table: Mapping[str, Any]) -> BoardFacts:
    """Read an emulated machine as a board without firmware; ValueError names a wrong entry."""
    own: Machine = fill(Machine, table, f"{files.MACHINE_FILE} of {name}")
    nothing = Span(0, 0)
    return BoardFacts(
        name=name,
        title=own.title,
        core=own.core,
        clock_mhz=own.clock_mhz,
        npus=own.npus,
        npu_registers=(),
        interrupts=Interrupts(0, 0),
        micropython=Names("", "", ""),
        memories=(),
        romfs=nothing,
        regions={},
        uart=Uart(0, 0, 0),
        qemu=Emulation(own.machine, 0, 0, nothing, {}, any_npu=True),
        missing=("firmware of this project",),
    )
