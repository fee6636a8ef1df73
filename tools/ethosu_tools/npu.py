# SPDX-License-Identifier: MIT
"""The functional NPU model from Python: registers, single steps, feature maps, traces.

`Npu` is the bare hardware: a register window and the memory that it sees. `Session` runs a model
that Vela compiled, programming the registers as a driver would, and keeps the state of resource
variables from step to step.
"""

from __future__ import annotations

import ctypes
import enum
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from . import paths, tflite
from .errors import InputError, ToolError

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


class NpuError(ToolError):
    """The NPU stopped with a fault; the text is the model's own log line."""

    exit_code = 5

    def __init__(self, outcome: Outcome, status: int, log: Sequence[str]) -> None:
        """Keep the outcome and the STATUS register."""
        self.outcome = outcome
        self.status = status
        reason = log[-1] if log else outcome.name.lower().replace("_", " ")
        super().__init__(f"the NPU stopped with STATUS 0x{status:08x}: {reason}")


# --- C interface ---------------------------------------------------------------------------------

_MAP = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_bool
)
_IRQ = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_bool)
_LOG = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)


class _Bus(ctypes.Structure):
    _fields_ = [("context", ctypes.c_void_p), ("map", _MAP), ("irq", _IRQ), ("log", _LOG)]


class _FeatureMap(ctypes.Structure):
    _fields_ = [
        ("used", ctypes.c_bool),
        ("is_signed", ctypes.c_bool),
        ("nhcwb16", ctypes.c_bool),
        ("bits", ctypes.c_uint8),
        ("region", ctypes.c_uint8),
        ("height", ctypes.c_uint32),
        ("width", ctypes.c_uint32),
        ("depth", ctypes.c_uint32),
        ("zero_point", ctypes.c_int32),
        ("base", ctypes.c_int64 * 4),
        ("width0", ctypes.c_uint32),
        ("height0", ctypes.c_uint32),
        ("height1", ctypes.c_uint32),
        ("stride_y", ctypes.c_int64),
        ("stride_x", ctypes.c_int64),
        ("stride_c", ctypes.c_int64),
    ]


class _Operation(ctypes.Structure):
    _fields_ = [
        ("index", ctypes.c_uint),
        ("command", ctypes.c_uint),
        ("offset", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("param", ctypes.c_uint32),
        ("ifm", _FeatureMap),
        ("ifm2", _FeatureMap),
        ("ofm", _FeatureMap),
        ("kernel_height", ctypes.c_uint32),
        ("kernel_width", ctypes.c_uint32),
        ("macs", ctypes.c_uint64),
        ("cycles", ctypes.c_uint64),
        ("read", ctypes.c_uint64 * 8),
        ("written", ctypes.c_uint64 * 8),
    ]


_OBSERVER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(_Operation))


class _CommandInfo(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("code", ctypes.c_uint16),
        ("param_mask", ctypes.c_uint16),
    ]


def _load(library: Path) -> ctypes.CDLL:
    lib = ctypes.CDLL(str(library))
    lib.npu_create.restype = ctypes.c_void_p
    lib.npu_create.argtypes = [ctypes.c_char_p, ctypes.POINTER(_Bus)]
    lib.npu_configs.restype = ctypes.POINTER(ctypes.c_char_p)
    lib.npu_read.restype = ctypes.c_uint32
    lib.npu_read.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
    lib.npu_write.restype = ctypes.c_int
    lib.npu_write.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32]
    lib.npu_execute.restype = ctypes.c_int
    lib.npu_execute.argtypes = [ctypes.c_void_p, ctypes.c_uint]
    lib.npu_cycles.restype = ctypes.c_uint64
    lib.npu_cycles.argtypes = [ctypes.c_void_p]
    lib.npu_observe.restype = None
    lib.npu_observe.argtypes = [ctypes.c_void_p, _OBSERVER, ctypes.c_void_p]
    lib.npu_command_info.restype = ctypes.c_bool
    lib.npu_command_info.argtypes = [ctypes.c_uint, ctypes.POINTER(_CommandInfo)]
    for name in ("npu_destroy", "npu_reset", "npu_abort", "npu_finish"):
        function = getattr(lib, name)
        function.restype = None
        function.argtypes = [ctypes.c_void_p]
    return lib


# --- The bare NPU --------------------------------------------------------------------------------


@dataclass(frozen=True)
class FeatureMap:
    """One feature map of an operation."""

    region: int
    base: tuple[int, ...]
    shape: tuple[int, int, int]
    dtype: str
    format: str
    zero_point: int
    tile: tuple[int, int, int]
    strides: tuple[int, int, int]

    @classmethod
    def from_c(cls, map_: _FeatureMap) -> FeatureMap | None:
        """Translate the C structure; None when the operation has no such map."""
        if not map_.used:
            return None
        return cls(
            region=map_.region,
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


def _operation(raw: _Operation) -> Operation:
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
class Npu:
    """One NPU with its memories; nothing but hardware."""

    config: str
    memories: list[Memory] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    irq: bool = False

    def __post_init__(self) -> None:
        self._lib = _load(paths.npu_library())
        # ctypes callbacks live as long as this object.
        self._bus = _Bus(None, _MAP(self._map), _IRQ(self._irq), _LOG(self._log))
        self._observer: Any = None
        self._handle = self._lib.npu_create(self.config.encode(), ctypes.byref(self._bus))
        if not self._handle:
            raise InputError(f"the NPU model knows no {self.config!r}, but {', '.join(configs())}")

    def close(self) -> None:
        """Give the model's memory back."""
        if self._handle:
            self._lib.npu_destroy(self._handle)
            self._handle = None

    def __enter__(self) -> Npu:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
            self._observer = ctypes.cast(None, _OBSERVER)
        else:
            self._observer = _OBSERVER(lambda _context, raw: observer(_operation(raw.contents)))
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
        return memory.data[places].copy().view(map_.dtype)[..., 0]


def configs() -> list[str]:
    """Accelerator configs that the model knows, in Vela's spelling."""
    names = _load(paths.npu_library()).npu_configs()
    return [name.decode() for name in _until_null(names)]


def _until_null(names: Any) -> Iterator[bytes]:
    index = 0
    while names[index]:
        yield names[index]
        index += 1


def commands() -> dict[int, tuple[str, int]]:
    """Give the model's command table: code to name and mask of meaningful parameter bits."""
    library = _load(paths.npu_library())
    table: dict[int, tuple[str, int]] = {}
    info = _CommandInfo()
    while library.npu_command_info(len(table), ctypes.byref(info)):
        table[info.code] = (info.name.decode(), info.param_mask)
    return table


# --- A compiled model ----------------------------------------------------------------------------

_ACTION_CONFIG = 1
_ACTION_STREAM = 2
_SEPARATE_IO = 2  # bit of COP2's feature flags


def command_stream(payload: bytes) -> bytes:
    """Command stream of a driver payload, "COP1" or "COP2"."""
    if payload[:4] == b"COP2":
        entry, metadata = (
            struct.unpack_from("<I", payload, 20)[0],
            struct.unpack_from("<I", payload, 24)[0],
        )
        start = 28 + metadata
        return payload[start : start + entry - 4 - metadata]
    if payload[:4] != b"COP1":
        raise InputError(f"a driver payload starts with b'COP1', found {payload[:4]!r}")
    at = 4
    while at + 4 <= len(payload):
        (word,) = struct.unpack_from("<I", payload, at)
        at += 4
        if word & 0xFF == _ACTION_STREAM:
            length = 4 * (word >> 16 | (word >> 8 & 0xFF) << 16)
            return payload[at : at + length]
        at += 8 if word & 0xFF == _ACTION_CONFIG else 0
    raise InputError("a driver payload holds no command stream")


def _has_separate_io(payload: bytes) -> bool:
    """COP2 says whether inputs and outputs are regions of their own."""
    return payload[:4] == b"COP2" and bool(struct.unpack_from("<I", payload, 48)[0] & _SEPARATE_IO)


@dataclass(frozen=True)
class _Tensor:
    name: str
    shape: tuple[int, ...]
    dtype: str
    zero_point: int
    content: bytes
    offset: int
    variable: bool

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class _Operator:
    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    shared_name: bytes = b""
    subgraph: int = 0


@dataclass(frozen=True)
class _Graph:
    tensors: tuple[_Tensor, ...]
    operators: tuple[_Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def _parse(data: bytes) -> list[_Graph]:
    from ethosu.vela.tflite.Model import Model

    model = Model.GetRootAs(data, 0)
    offsets = _arena_offsets(model)
    graphs = []
    for index in range(model.SubgraphsLength()):
        graph = model.Subgraphs(index)
        tensors = tuple(
            _tensor(model, graph.Tensors(i), next(offsets, -1))
            for i in range(graph.TensorsLength())
        )
        operators = tuple(
            _operator(model, graph.Operators(i)) for i in range(graph.OperatorsLength())
        )
        inputs = tuple(int(i) for i in _array(graph.InputsAsNumpy()))
        outputs = tuple(int(i) for i in _array(graph.OutputsAsNumpy()))
        graphs.append(_Graph(tensors, operators, inputs, outputs))
    return graphs


def _array(value: Any) -> Any:
    """Flatbuffers give 0 for an absent vector."""
    return [] if isinstance(value, int) else value


def _arena_offsets(model: Any) -> Iterator[int]:
    for index in range(model.MetadataLength()):
        metadata = model.Metadata(index)
        if metadata.Name() == b"OfflineMemoryAllocation":
            words = model.Buffers(metadata.Buffer()).DataAsNumpy().view(np.int32)
            return iter([int(word) for word in words[3:]])
    return iter([])


def _tensor(model: Any, tensor: Any, offset: int) -> _Tensor:
    buffer = model.Buffers(tensor.Buffer())
    quantization = tensor.Quantization()
    zero = quantization is not None and quantization.ZeroPointLength() > 0
    return _Tensor(
        name=(tensor.Name() or b"").decode(errors="replace"),
        shape=tuple(int(size) for size in _array(tensor.ShapeAsNumpy())),
        dtype=tflite.DTYPES.get(tensor.Type(), "uint8"),
        zero_point=int(quantization.ZeroPoint(0)) if zero else 0,
        content=buffer.DataAsNumpy().tobytes() if buffer.DataLength() else b"",
        offset=offset,
        variable=bool(tensor.IsVariable()),
    )


def _operator(model: Any, operator: Any) -> _Operator:
    from ethosu.vela.tflite.BuiltinOperator import BuiltinOperator
    from ethosu.vela.tflite.CallOnceOptions import CallOnceOptions
    from ethosu.vela.tflite.VarHandleOptions import VarHandleOptions

    code = model.OperatorCodes(operator.OpcodeIndex())
    number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
    names = {value: name for name, value in vars(BuiltinOperator).items() if name.isupper()}
    name = code.CustomCode().decode() if code.CustomCode() else names[number]
    shared, subgraph = b"", 0
    table = operator.BuiltinOptions()
    if table is not None and name == "VAR_HANDLE":
        handle = VarHandleOptions()
        handle.Init(table.Bytes, table.Pos)
        shared = (handle.Container() or b"") + b"/" + (handle.SharedName() or b"")
    if table is not None and name == "CALL_ONCE":
        once = CallOnceOptions()
        once.Init(table.Bytes, table.Pos)
        subgraph = once.InitSubgraphIndex()
    return _Operator(
        name,
        tuple(int(i) for i in _array(operator.InputsAsNumpy())),
        tuple(int(i) for i in _array(operator.OutputsAsNumpy())),
        shared,
        subgraph,
    )


class Session:
    """A compiled model on the functional NPU; resource variables keep their state."""

    def __init__(
        self, model: Path | bytes, config: str | None = None, arena_fill: int = 0xA5
    ) -> None:
        data = model if isinstance(model, bytes) else tflite.read(model)
        self._graphs = _parse(data)
        self._main = self._graphs[0]
        self.npu = Npu(config or self._compiled_for())
        self._variables: dict[bytes, np.ndarray] = {}
        self._handles: dict[tuple[int, int], bytes] = {}
        self._constants: dict[tuple[int, int], Memory] = {}
        self._observers: list[Callable[[Operation], None]] = []
        self.bases: list[int] = []
        self._arena = self.npu.add(self._arena_size())
        self._arena.data[:] = arena_fill
        self._places: dict[int, tuple[Memory, int]] = {}
        self._place_tensors()
        self._initialise_variables()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.npu.close()

    @property
    def inputs(self) -> list[tuple[tuple[int, ...], str]]:
        """Shape and type of every input."""
        return [
            (self._main.tensors[i].shape, self._main.tensors[i].dtype) for i in self._main.inputs
        ]

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """One inference: raw quantised inputs in the model's order, raw quantised outputs."""
        if len(inputs) != len(self._main.inputs):
            raise InputError(f"the model has {len(self._main.inputs)} inputs, {len(inputs)} came")
        for index, array in zip(self._main.inputs, inputs, strict=True):
            tensor = self._main.tensors[index]
            if array.shape != tensor.shape or array.dtype != tensor.dtype:
                raise InputError(
                    f"input {tensor.name} must be {tensor.dtype} {tensor.shape}, "
                    f"found {array.dtype} {array.shape}"
                )
            self._view(index)[:] = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
        for operator in self._main.operators:
            self._run_operator(0, operator)
        return [self._value(index) for index in self._main.outputs]

    def trace(self, inputs: Sequence[np.ndarray]) -> list[Operation]:
        """One inference; returns the operations that it took."""
        seen: list[Operation] = []
        self.npu.observe(seen.append)
        try:
            self.run(inputs)
        finally:
            self.npu.observe(None)
        return seen

    # Placement

    def _compiled_for(self) -> str:
        payload = next(
            (
                self._main.tensors[operator.inputs[0]].content
                for operator in self._main.operators
                if operator.name == "ethos-u"
            ),
            None,
        )
        if payload is None:
            raise InputError("the model was never compiled for an NPU")
        if payload[:4] == b"COP2":
            (metadata,) = struct.unpack_from("<I", payload, 24)
            (word,) = struct.unpack_from("<I", payload, 40)
            return tflite.npu_name(word) if metadata else "ethos-u55-128"
        return tflite.npu_name(struct.unpack_from("<I", payload, 8)[0])

    def _arena_size(self) -> int:
        ends = [t.offset + max(t.size, 1) for t in self._main.tensors if t.offset >= 0]
        return -(-max(ends, default=1) // _ALIGNMENT) * _ALIGNMENT

    def _place_tensors(self) -> None:
        for operator in self._main.operators:
            if operator.name == "ethos-u":
                self._place_apart(operator)
        for index, tensor in enumerate(self._main.tensors):
            if index in self._places:
                continue
            if tensor.content:
                self._places[index] = (self.npu.add(tensor.content, writable=False), 0)
            elif tensor.offset < 0 and tensor.size:
                self._places[index] = (self.npu.add(tensor.size), 0)
            else:
                self._places[index] = (self._arena, max(tensor.offset, 0))
            if tensor.variable:
                self._view(index).view(tensor.dtype)[:] = tensor.zero_point

    def _place_apart(self, operator: _Operator) -> None:
        """Place what Vela plans from 0 on, without regard to the arena.

        That is a fast scratch of its own (Dedicated_Sram), and separate inputs and outputs.
        """
        payload, _, scratch, fast, *inputs = operator.inputs
        if fast != scratch:
            self._place_together([fast])
        if _has_separate_io(self._main.tensors[payload].content):
            self._place_together(inputs)
            self._place_together(operator.outputs)

    def _place_together(self, indices: Sequence[int]) -> None:
        tensors = [self._main.tensors[index] for index in indices]
        memory = self.npu.add(max(tensor.offset + tensor.size for tensor in tensors))
        self._places.update({i: (memory, t.offset) for i, t in zip(indices, tensors, strict=True)})

    def _view(self, index: int) -> np.ndarray:
        memory, offset = self._places[index]
        return memory.data[offset : offset + self._main.tensors[index].size]

    def _address(self, index: int) -> int:
        memory, offset = self._places[index]
        return memory.address + offset

    def _bases(self, operator: _Operator) -> list[int]:
        """Region base pointers: the operator's tensors after the command stream, in order."""
        payload, *others = operator.inputs
        if not _has_separate_io(self._main.tensors[payload].content):
            return [self._address(index) for index in (*others, *operator.outputs)][:8]
        read_only, scratch, fast, *inputs = others
        ends = [self._places[inputs[0]][0], self._places[operator.outputs[0]][0]]
        own = [self._address(index) for index in (read_only, scratch, fast)]
        return own + [memory.address for memory in ends]

    def _value(self, index: int) -> np.ndarray:
        tensor = self._main.tensors[index]
        return self._view(index).copy().view(tensor.dtype).reshape(tensor.shape)

    # Operators

    def _initialise_variables(self) -> None:
        """Run the graphs of CALL_ONCE before anything reads a variable."""
        for operator in self._main.operators:
            if operator.name == "CALL_ONCE":
                for inner in self._graphs[operator.subgraph].operators:
                    self._run_operator(operator.subgraph, inner)

    def _run_operator(self, graph: int, operator: _Operator) -> None:
        match operator.name:
            case "ethos-u":
                self._run_npu(operator)
            case "VAR_HANDLE":
                self._handles[graph, operator.outputs[0]] = operator.shared_name
            case "READ_VARIABLE":
                name = self._handles[graph, operator.inputs[0]]
                self._read_variable(name, operator.outputs[0])
            case "ASSIGN_VARIABLE":
                handle, value = operator.inputs
                self._variables[self._handles[graph, handle]] = self._bytes(graph, value)
            case "RESHAPE":
                self._view(operator.outputs[0])[:] = self._bytes(graph, operator.inputs[0])
            case "CALL_ONCE":
                pass
            case other:
                raise InputError(f"operator {other} stays on the CPU, which is not simulated here")

    def _read_variable(self, name: bytes, output: int) -> None:
        if name not in self._variables:
            tensor = self._main.tensors[output]
            fill = np.full(tensor.shape, tensor.zero_point, tensor.dtype)
            self._variables[name] = np.frombuffer(fill.tobytes(), np.uint8)
        self._view(output)[:] = self._variables[name]

    def _bytes(self, graph: int, index: int) -> np.ndarray:
        if graph == 0:
            return self._view(index).copy()
        return np.frombuffer(self._graphs[graph].tensors[index].content, np.uint8)

    def _run_npu(self, operator: _Operator) -> None:
        stream = self._stream(operator.inputs[0])
        self.bases = self._bases(operator)
        self.npu.log.clear()
        self.npu.start(stream, self.bases)
        outcome = self.npu.execute()
        status = self.npu.acknowledge()
        if outcome is not Outcome.STOPPED or not status & STATUS_END:
            self.npu.write(Register.RESET, 0)
            raise NpuError(outcome, status, self.npu.log)

    def _stream(self, index: int) -> Memory:
        key = (0, index)
        if key not in self._constants:
            content = command_stream(self._main.tensors[index].content)
            self._constants[key] = self.npu.add(content, writable=False)
        return self._constants[key]
