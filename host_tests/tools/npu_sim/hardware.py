# SPDX-License-Identifier: MIT
"""Wraps the bare simulator (tools/npu_sim/npu_sim.h): register window and NPU memory."""

from __future__ import annotations

import enum
import itertools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from cffi import FFI
from ethosu_tools.base import paths
from ethosu_tools.base.closeable import Closeable
from ethosu_tools.base.library import ffi
from ethosu_tools.sim.trace import Operation

from host_tests.kit import sharing

STATUS_RUNNING = 1 << 0
STATUS_IRQ = 1 << 1
STATUS_BUS_ERROR = 1 << 2
STATUS_PARSE_ERROR = 1 << 4
STATUS_END = 1 << 5
STATUS_WEIGHT_FAULT = 1 << 7

_ALIGNMENT = 16
_GUARD = 4096
_FIRST_ADDRESS = 0x6000_0000


class Register(enum.IntEnum):
    """Byte offsets of the registers needed to drive the NPU."""

    ID = 0x000
    STATUS = 0x004
    CMD = 0x008
    RESET = 0x00C
    QBASE = 0x010
    QREAD = 0x018
    QCONFIG = 0x01C
    QSIZE = 0x020
    PROT = 0x024
    CONFIG = 0x028
    LOCK = 0x02C
    REGIONCFG = 0x03C
    BASEP = 0x080
    PMCR = 0x180
    PMCNTENSET = 0x184
    PMCCNTR = 0x1A0
    PMEVCNTR = 0x300
    PMEVTYPER = 0x380


class Outcome(enum.IntEnum):
    """The reason why the execution of a command stream returned."""

    STOPPED = 0
    IRQ = 1
    STEPPED = 2
    BUS_ERROR = 3
    PARSE_ERROR = 4
    ABORTED = 5
    WEIGHT_FAULT = 6
    BRANCH_FAULT = 7


def library_path() -> Path:
    """Return the path of the simulator's library: ETHOSU_NPU_LIBRARY, if set."""
    default = paths.root() / "build/npu_sim/libnpu_sim.so"
    return Path(os.environ.get("ETHOSU_NPU_LIBRARY", default))


@cache
def _declared(header: str) -> Any:
    """Convert one of the simulator's own headers for cffi."""
    binding = sharing.script(paths.root() / "tools/setup/library_binding.py")
    declarations = FFI()
    # cffi reads no constant of a library, only variables.
    declarations.cdef(binding.declarations([header]).replace("extern const", "extern"))
    return declarations


@cache
def _opened(declarations: Any, path: Path) -> Any:
    return declarations.dlopen(str(path))


def internal(header: str, path: Path | None = None) -> tuple[Any, Any]:
    """Load the declarations of one of the simulator's headers, and a library's functions."""
    return _declared(header), _opened(_declared(header), path or library_path())


def _load() -> Any:
    """Load the simulator's library, with the functions of npu_sim.h."""
    return _opened(ffi(), library_path())


@dataclass
class Memory:
    """Bytes at an NPU address."""

    address: int
    data: np.ndarray
    writable: bool = True

    def covers(self, address: int, length: int, write: bool) -> bool:
        """Whether the memory has [address, address + length), and allows this access."""
        inside = self.address <= address and address + length <= self.address + len(self.data)
        return inside and (self.writable or not write)


@dataclass
class Hardware(Closeable):
    """One NPU with its memories, without a driver."""

    config: str
    memories: list[Memory] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    irq: bool = False
    accesses: int = 0
    """Requests on the bus, including those for commands."""

    def __post_init__(self) -> None:
        self._lib = _load()
        self._errors: list[BaseException] = []
        # Keep the callbacks alive as long as this object.
        self._bus = {
            "map": self._callback("uint8_t *(void *, const struct npu_access *)", self._mapped),
            "irq": self._callback("void(void *, bool)", self._irq),
            "log": self._callback("void(void *, const char *)", self._log),
        }
        self._observer: Any = ffi().NULL
        bus = ffi().new("struct npu_bus *", self._bus)
        self._handle = self._lib.npu_create(self.config.encode(), bus)
        if not self._handle:
            raise ValueError(f"the NPU simulator knows no {self.config!r}")

    def _callback(self, kind: str, function: Callable[..., Any]) -> Any:
        """Make a function for C; execute() raises its exceptions."""
        return ffi().callback(
            kind, function, onerror=lambda _, error, __: self._errors.append(error)
        )

    @property
    def handle(self) -> int:
        """The simulator's npu_t pointer, for C functions that this class does not wrap."""
        return int(ffi().cast("uintptr_t", self._handle))

    def close(self) -> None:
        """Free the memory of the simulator."""
        if self._handle:
            self._lib.npu_destroy(self._handle)
            self._handle = None

    def _mapped(self, _context: Any, access: Any) -> Any:
        return ffi().cast("uint8_t *", self._map(access) or 0)

    def _map(self, access: Any) -> int | None:
        self.accesses += 1
        for memory in self.memories:
            if memory.covers(access.address, access.length, access.write):
                return int(memory.data.ctypes.data) + int(access.address) - memory.address
        return None

    def _irq(self, _context: Any, level: bool) -> None:
        self.irq = level

    def _log(self, _context: Any, message: Any) -> None:
        self.log.append(ffi().string(message).decode())

    def add(self, content: bytes | int, writable: bool = True) -> Memory:
        """Add bytes (or this many zeros) after the existing memory, with a gap between."""
        end = max((m.address + len(m.data) for m in self.memories), default=_FIRST_ADDRESS)
        size = content if isinstance(content, int) else len(content)
        room = np.zeros(size + _ALIGNMENT, np.uint8)
        skip = -room.ctypes.data % _ALIGNMENT
        data = room[skip : skip + size]
        if not isinstance(content, int):
            data[:] = np.frombuffer(content, np.uint8)
        memory = Memory(-(-(end + _GUARD) // _GUARD) * _GUARD, data, writable)
        self.memories.append(memory)
        return memory

    def read(self, offset: int) -> int:
        """Read a register."""
        return int(self._lib.npu_read(self._handle, offset))

    def write(self, offset: int, value: int) -> int:
        """Write a register; returns the action requested of the host (0: none)."""
        return int(self._lib.npu_write(self._handle, offset, value))

    def execute(self, operations: int = 0) -> Outcome:
        """Execute the command stream, or this many operations of it; then publish the outcome."""
        outcome = Outcome(self._lib.npu_execute(self._handle, operations))
        self._lib.npu_finish(self._handle)
        if self._errors:
            raise self._errors[0]
        return outcome

    def reset(self) -> None:
        """Reset the hardware; nothing may be running."""
        self._lib.npu_reset(self._handle)

    def abort(self) -> None:
        """Make a running execution return soon."""
        self._lib.npu_abort(self._handle)

    def set_memories(self, memories: Sequence[dict[str, int]]) -> bool:
        """Set memory parameters of the cycle estimate; False if rejected."""
        table = ffi().new("struct npu_memory[]", memories)
        return bool(self._lib.npu_set_memories(self._handle, table, len(memories)))

    def set_adapter(self, port: int, millibytes: int, read: int = 0, write: int = 0) -> None:
        """Put an adapter with a bandwidth and latencies in front of a port's AXI interfaces."""
        fields = {"millibytes": millibytes, "read_latency": read, "write_latency": write}
        adapter = ffi().new("struct npu_adapter *", fields)
        self._lib.npu_set_adapter(self._handle, port, adapter)

    @property
    def cycles(self) -> int:
        """Return the estimated cycles of the last execution."""
        return int(self._lib.npu_cycles(self._handle))

    def observe(self, observer: Callable[[Operation], None] | None) -> None:
        """Call `observer` after every operation."""
        self._observer = ffi().NULL
        if observer is not None:
            self._observer = self._callback(
                "npu_observer_t", lambda _context, raw: observer(Operation.from_c(raw))
            )
        self._lib.npu_observe(self._handle, self._observer, ffi().NULL)

    def start(self, stream: Memory, bases: Sequence[int], regions: int = 0x5555) -> None:
        """Program queue and base pointers as a driver does, and set the NPU running."""
        self.write(Register.QBASE, stream.address & 0xFFFFFFFF)
        self.write(Register.QBASE + 4, stream.address >> 32)
        self.write(Register.QSIZE, len(stream.data))
        self.write(Register.QCONFIG, 2)
        self.write(Register.REGIONCFG, regions)
        for index, base in enumerate(bases):
            self.write(Register.BASEP + 8 * index, base & 0xFFFFFFFF)
            self.write(Register.BASEP + 8 * index + 4, base >> 32)
        self.write(Register.CMD, 0xD)

    def acknowledge(self) -> int:
        """Clear the interrupt, as a driver's handler does; returns STATUS."""
        self.write(Register.CMD, 0xE)
        return self.read(Register.STATUS)


def configs() -> list[str]:
    """Return the accelerator configs that the simulator knows, in Vela's spelling."""
    names = _load().npu_configs()
    each = (names[index] for index in itertools.count())
    return [ffi().string(name).decode() for name in itertools.takewhile(bool, each)]


def commands(config: str = "ethos-u65-512") -> dict[int, tuple[str, int]]:
    """Return a config's command table: code to name and mask of meaningful parameter bits."""
    table: dict[int, tuple[str, int]] = {}
    info = ffi().new("struct npu_command_info *")
    while _load().npu_command_info(config.encode(), len(table), info):
        table[info.code] = (ffi().string(info.name).decode(), info.param_mask)
    return table
