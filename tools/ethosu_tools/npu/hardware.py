# SPDX-License-Identifier: MIT
"""The bare NPU: a register window and the memory that it sees."""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import paths
from ..closing import Closing
from ..errors import InputError, ToolError
from . import library

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
    """Byte offsets of the registers that driving the NPU takes."""

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
    """Why the execution of a command stream returned."""

    STOPPED = 0
    IRQ = 1
    STEPPED = 2
    BUS_ERROR = 3
    PARSE_ERROR = 4
    ABORTED = 5
    WEIGHT_FAULT = 6
    BRANCH_FAULT = 7


class NpuError(ToolError):
    """The NPU stopped with a fault; the text is the model's own log line."""

    exit_code = 5

    def __init__(self, outcome: Outcome, status: int, log: Sequence[str]) -> None:
        """Keep the outcome and the STATUS register."""
        self.outcome = outcome
        self.status = status
        reason = log[-1] if log else outcome.name.lower().replace("_", " ")
        super().__init__(f"the NPU stopped with STATUS 0x{status:08x}: {reason}")


@dataclass(frozen=True)
class FeatureMap:
    """One feature map of an operation; chained: in chaining buffer `region` inside the NPU."""

    region: int
    chained: bool
    base: tuple[int, ...]
    shape: tuple[int, int, int]
    dtype: str
    format: str
    zero_point: int
    tile: tuple[int, int, int]
    strides: tuple[int, int, int]

    @classmethod
    def from_c(cls, map_: library.FeatureMapStruct) -> FeatureMap | None:
        """Translate the C structure; None when the operation has no such map."""
        if not map_.used:
            return None
        return cls(
            region=map_.region,
            chained=map_.chained,
            base=tuple(map_.base),
            shape=(map_.height, map_.width, map_.depth),
            dtype=f"{'int' if map_.is_signed else 'uint'}{map_.bits}",
            format="NHCWB16" if map_.nhcwb16 else "NHWC",
            zero_point=map_.zero_point,
            tile=(map_.height0, map_.height1, map_.width0),
            strides=(map_.stride_y, map_.stride_x, map_.stride_c),
        )


@dataclass(frozen=True)
class Operation:
    """One executed operation: what it was and what it moved."""

    index: int
    command: int
    offset: int
    name: str
    param: int
    ifm: FeatureMap | None
    ifm2: FeatureMap | None
    ofm: FeatureMap | None
    kernel: tuple[int, int]
    macs: int
    cycles: int
    read: tuple[int, ...]
    written: tuple[int, ...]


def _operation(raw: library.OperationStruct) -> Operation:
    return Operation(
        index=raw.index,
        command=raw.command,
        offset=raw.offset,
        name=raw.name.decode(),
        param=raw.param,
        ifm=FeatureMap.from_c(raw.ifm),
        ifm2=FeatureMap.from_c(raw.ifm2),
        ofm=FeatureMap.from_c(raw.ofm),
        kernel=(raw.kernel_height, raw.kernel_width),
        macs=raw.macs,
        cycles=raw.cycles,
        read=tuple(raw.read),
        written=tuple(raw.written),
    )


@dataclass
class Memory:
    """Bytes that the NPU sees at an address."""

    address: int
    data: np.ndarray
    writable: bool = True

    def covers(self, address: int, length: int, write: bool) -> bool:
        """All of [address, address + length) lies here, and may be accessed so."""
        inside = self.address <= address and address + length <= self.address + len(self.data)
        return inside and (self.writable or not write)


@dataclass
class Npu(Closing):
    """One NPU with its memories; nothing but hardware."""

    config: str
    memories: list[Memory] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    irq: bool = False

    def __post_init__(self) -> None:
        self._lib = library.load(paths.npu_library())
        # ctypes callbacks live as long as this object.
        self._bus = library.BusStruct(
            None,
            library.MapFunction(self._map),
            library.IrqFunction(self._irq),
            library.LogFunction(self._log),
        )
        self._observer: Any = None
        self._handle = self._lib.npu_create(self.config.encode(), ctypes.byref(self._bus))
        if not self._handle:
            raise InputError(
                f"the NPU simulator knows no {self.config!r}, but {', '.join(configs())}"
            )

    def close(self) -> None:
        """Give the model's memory back."""
        if self._handle:
            self._lib.npu_destroy(self._handle)
            self._handle = None

    def _map(self, _context: int, address: int, length: int, write: bool) -> int | None:
        for memory in self.memories:
            if memory.covers(address, length, write):
                return int(memory.data.ctypes.data) + address - memory.address
        return None

    def _irq(self, _context: int, level: bool) -> None:
        self.irq = level

    def _log(self, _context: int, _level: int, message: bytes) -> None:
        self.log.append(message.decode())

    def add(self, content: bytes | int, writable: bool = True) -> Memory:
        """Put bytes (or so many zeros) behind the memory that is there, with a gap between."""
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
        """Write a register; returns the action that it asks of its host (0: none)."""
        return int(self._lib.npu_write(self._handle, offset, value))

    def execute(self, operations: int = 0) -> Outcome:
        """Execute the command stream, or so many operations of it; then publish the outcome."""
        outcome = Outcome(self._lib.npu_execute(self._handle, operations))
        self._lib.npu_finish(self._handle)
        return outcome

    def reset(self) -> None:
        """Hardware reset; nothing may be running."""
        self._lib.npu_reset(self._handle)

    def abort(self) -> None:
        """Make a running execution return soon."""
        self._lib.npu_abort(self._handle)

    @property
    def cycles(self) -> int:
        """Estimated cycles of the last execution."""
        return int(self._lib.npu_cycles(self._handle))

    def observe(self, observer: Callable[[Operation], None] | None) -> None:
        """Call `observer` after every operation."""
        if observer is None:
            self._observer = library.ObserverFunction()
        else:
            self._observer = library.ObserverFunction(
                lambda _context, raw: observer(_operation(raw.contents))
            )
        self._lib.npu_observe(self._handle, self._observer, None)

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

    def feature_map(self, map_: FeatureMap, bases: Sequence[int]) -> np.ndarray:
        """Copy a feature map out of memory, as an array [height, width, depth]."""
        if map_.chained:
            raise InputError("a chained feature map never leaves the NPU")
        item = np.dtype(map_.dtype).itemsize
        height, width, depth = map_.shape
        row = np.arange(height)[:, None, None]
        column = np.arange(width)[None, :, None]
        channel = np.arange(depth)[None, None, :]
        height0, height1, width0 = map_.tile
        right = column >= width0
        lower = row >= np.where(right, height1, height0)
        base = np.array(map_.base)[2 * lower + right]
        row = row - np.where(lower, np.where(right, height1, height0), 0)
        column = column - np.where(right, width0, 0)
        stride_y, stride_x, stride_c = map_.strides
        offset = base + row * stride_y + column * stride_x
        if map_.format == "NHCWB16":
            offset = offset + channel // 16 * stride_c + channel % 16 * item
        else:
            offset = offset + channel * item
        offset += bases[map_.region]
        low = int(offset.min())
        memory = next(
            m for m in self.memories if m.covers(low, int(offset.max()) - low + item, False)
        )
        places = (offset - memory.address)[..., None] + np.arange(item)
        values: np.ndarray = memory.data[places].copy().view(map_.dtype)[..., 0]
        return values


def configs() -> list[str]:
    """Accelerator configs that the model knows, in Vela's spelling."""
    names = library.load(paths.npu_library()).npu_configs()
    return [name.decode() for name in _until_null(names)]


def _until_null(names: Any) -> Iterator[bytes]:
    index = 0
    while names[index]:
        yield names[index]
        index += 1


def commands(config: str = "ethos-u65-512") -> dict[int, tuple[str, int]]:
    """Give a config's command table: code to name and mask of meaningful parameter bits."""
    lib = library.load(paths.npu_library())
    table: dict[int, tuple[str, int]] = {}
    info = library.CommandInfoStruct()
    while lib.npu_command_info(config.encode(), len(table), ctypes.byref(info)):
        table[info.code] = (info.name.decode(), info.param_mask)
    return table
