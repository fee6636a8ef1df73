# SPDX-License-Identifier: MIT
"""Reads the bytes of a model file as the C library describes them (ethosu_describe.h).

Files are untrusted: the library bounds every read, and any failure becomes one InputError.
"""

import struct
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..base import library
from ..base.errors import InputError
from ..base.ui import visible
from .case import Case
from .graph import (
    DTYPES,
    NEWER_OPERATORS,
    NPU_OPERATOR,
    OTHER_TYPES,
    Graph,
    Method,
    NpuOperator,
    Operator,
    Tensor,
    Value,
)

# Kinds of values: the library's names, without ETHOSU_KIND_.
_KINDS = "NULL INT BOOL DOUBLE TEXT TENSOR INTS TENSORS OTHER"
_SCALARS = {"int": np.int64, "bool": np.bool_, "double": np.float64}
_NOT_STATED = 2**32 - 1
LARGEST = 2**31 - 1  # largest size of a file


class Call(NamedTuple):
    """A call of the NPU; absent: name of data in a file that was not given."""

    operator: NpuOperator
    stream: memoryview
    constants: memoryview
    absent: str


class Reader:
    """The contents of a file; parts are read on first use."""

    def __init__(self, data: bytes) -> None:
        """Open a file."""
        self._library, self._ffi = library.describing(), library.ffi()
        self._data, self._view = data, memoryview(data)
        self._file = self._ffi.new("struct ethosu_description *")
        self._error = self._ffi.new("struct ethosu_model_error *")
        self._bytes = self._ffi.from_buffer(data)
        self._base = int(self._ffi.cast("uintptr_t", self._bytes))
        status = self._library.ethosu_model_describe(
            self._bytes, len(data), self._file, self._error
        )
        library.check(status, self._error)

    @property
    def program(self) -> bytes:
        """The program of a bundle; other files are returned unchanged."""
        return bytes(self._span(self._file.program))

    @cached_property
    def entries(self) -> dict[str, memoryview]:
        """Metadata of a `.tflite`; named data of a program or a data file."""
        entries: dict[str, memoryview] = {}
        for index in range(self._file.entries):
            entry = self._get("entry", index)
            entries.setdefault(self._text(entry.name), self._span(entry.content))
        return entries

    @cached_property
    def signatures(self) -> dict[str, int]:
        """The signatures of a `.tflite`: their graphs' numbers, by name."""
        stored = [self._get("signature", index) for index in range(self._file.signatures)]
        return {self._text(each.name): each.graph for each in stored}

    @cached_property
    def graphs(self) -> list[Graph]:
        """The graphs of a `.tflite`, the main one first."""
        return [
            Graph(
                tuple(self._tensor(i) for i in range(graph.values)),
                tuple(self._operators(graph)),
                self._numbers(graph.inputs),
                self._numbers(graph.outputs),
            )
            for graph in self._each_graph()
        ]

    @cached_property
    def methods(self) -> dict[str, Method]:
        """The methods of a program."""
        methods: dict[str, Method] = {}
        for graph in self._each_graph():
            name = self._text(graph.name)
            method = Method(
                name,
                tuple(self._value(index) for index in range(graph.values)),
                tuple(self._operators(graph)),
                self._numbers(graph.inputs),
                self._numbers(graph.outputs),
                self._numbers(graph.buffers, "Q"),
                graph.quantized,
                graph.nchw,
            )
            methods.setdefault(name, method)
        return methods

    def calls(self, graph: int = 0, named: bytes | None = None) -> list[Call]:
        """Read the NPU calls of a graph; `named` is the data file of a program."""
        operators = self._get("graph", graph).operators
        return [
            self._call(index, named)
            for index in range(operators)
            if self._get("operator", index).runs_on == self._library.ETHOSU_ON_NPU
        ]

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """The cases of a bundle."""
        cases = []
        for index in range(self._file.cases):
            case = self._get("case", index)
            inputs, outputs = (
                tuple(self._array(is_output, number) for number in range(count))
                for is_output, count in ((False, case.inputs), (True, case.outputs))
            )
            cases.append(Case(self._text(case.method), inputs, outputs))
        return tuple(cases)

    def _each_graph(self) -> Iterator[Any]:
        for index in range(self._file.graphs):
            yield self._get("graph", index)

    def _get(self, what: str, *arguments: Any) -> Any:
        """Call ethosu_describe_WHAT() for one item."""
        struct = self._ffi.new(f"struct ethosu_describe_{what.removeprefix('case_')} *")
        function = getattr(self._library, f"ethosu_describe_{what}")
        library.check(function(self._file, *arguments, struct, self._error), self._error)
        return struct

    def _value(self, index: int) -> Value:
        return self._content(self._get("value", index))

    def _tensor(self, index: int) -> Tensor:
        tensor: Tensor = self._value(index).content
        return tensor

    def _content(self, value: Any) -> Value:
        kind = self._kinds[value.kind]
        contents = {
            "int": value.integer,
            "bool": bool(value.integer),
            "double": value.real,
            "string": self._text(value.data),
        }
        if kind == "tensor":
            return Value(kind, self._as_tensor(value))
        if kind in ("ints", "tensors"):
            return Value(kind, self._numbers(value.data, "q" if kind == "ints" else "i"))
        return Value(kind, contents.get(kind))

    def _as_tensor(self, value: Any) -> Tensor:
        tensor = value.tensor
        name = self._ffi.buffer(tensor.name, tensor.name_length)[:]
        return Tensor(
            name=visible(name.decode(errors="replace"), keep=""),
            shape=tuple(tensor.shape[0 : tensor.rank]),
            dtype=(DTYPES | OTHER_TYPES).get(tensor.type, f"type {tensor.type}"),
            scale=tensor.scale,
            zero_point=tensor.zero_point,
            offset=value.offset,
            variable=value.variable,
            data=self._span(value.data),
            order=tuple(tensor.order[0 : tensor.rank]),
            buffer=value.buffer,
            constant_index=value.constant,
        )

    def _operators(self, graph: Any) -> Iterator[Operator]:
        for index in range(graph.operators):
            operator = self._get("operator", index)
            names = {
                self._library.ETHOSU_ON_NPU: NPU_OPERATOR,
                self._library.ETHOSU_NOWHERE: "",
            }
            own = self._text(operator.name) or NEWER_OPERATORS.get(
                operator.code, f"operator {operator.code}"
            )
            yield Operator(
                name=visible(names.get(operator.runs_on, own), keep=""),
                code=operator.code,
                inputs=self._numbers(operator.inputs),
                outputs=self._numbers(operator.outputs),
                known=operator.known,
            )

    def _call(self, index: int, named: bytes | None) -> Call:
        data = self._ffi.NULL
        if named is not None:
            given = self._ffi.from_buffer(named)
            data = self._ffi.new("struct ethosu_describe_bytes *", (given, len(named)))
        call = self._ffi.new("struct ethosu_describe_npu_call *")
        status = self._library.ethosu_describe_npu_call(self._file, index, data, call, self._error)
        library.check(status, self._error)
        fast = call.fast_scratch_size
        return Call(
            NpuOperator(
                npu=self._ffi.string(call.npu).decode(),
                stream_bytes=call.stream.size,
                constants_at=self._place(call.constants, named),
                constant_bytes=call.constants.size,
                scratch_bytes=call.scratch_size,
                fast_scratch_bytes=None if fast == _NOT_STATED else fast,
            ),
            self._span(call.stream, named),
            self._span(call.constants, named),
            self._text(call.absent),
        )

    def _array(self, is_output: bool, number: int) -> np.ndarray:
        value = self._get("case_value", is_output, number)
        kind, content = self._content(value).kind, self._content(value).content
        if kind in _SCALARS:
            return np.array(content, _SCALARS[kind])
        stored = np.frombuffer(content.data, content.dtype).reshape(content.shape)
        return np.asarray(stored.transpose(np.argsort(content.order)), order="C")

    @cached_property
    def _kinds(self) -> dict[int, str]:
        kinds = {f"ETHOSU_KIND_{name}": name.lower() for name in _KINDS.split()}
        kinds["ETHOSU_KIND_TEXT"] = "string"  # as ExecuTorch calls it
        return {getattr(self._library, name): kind for name, kind in kinds.items()}

    def _place(self, span: Any, named: bytes | None = None) -> int:
        """Return an offset in the file, to which a data file counts as appended."""
        if span.size == 0:
            return 0
        start = int(self._ffi.cast("uintptr_t", span.data))
        if named is not None and not self._base <= start < self._base + len(self._data):
            data = int(self._ffi.cast("uintptr_t", self._ffi.from_buffer(named)))
            return start - data + len(self._data)
        return start - self._base

    def _span(self, span: Any, named: bytes | None = None) -> memoryview:
        """Return bytes of the file or of the data file, without copying."""
        if span.size == 0:
            return memoryview(b"")
        start, size = self._place(span, named), len(self._data)
        if named is not None and start >= size:
            return memoryview(named)[start - size : start - size + span.size]
        return self._view[start : start + span.size]

    def _text(self, span: Any) -> str:
        text = self._ffi.buffer(span.data, span.size)[:] if span.size else b""
        return str(text.decode(errors="replace"))

    def _numbers(self, span: Any, kind: str = "i") -> tuple[int, ...]:
        count = span.size // struct.calcsize(f"<{kind}")
        return struct.unpack(f"<{count}{kind}", self._span(span))


def read_stream(payload: bytes) -> tuple[str, bytes]:
    """Read NPU and command stream from Vela's wrapper of a command stream."""
    ffi, lib = library.ffi(), library.describing()
    call = ffi.new("struct ethosu_describe_npu_call *")
    error = ffi.new("struct ethosu_model_error *")
    data = ffi.from_buffer(payload)
    library.check(lib.ethosu_describe_payload(data, len(payload), call, error), error)
    return ffi.string(call.npu).decode(), ffi.buffer(call.stream.data, call.stream.size)[:]


def read_debug_table(table: bytes) -> list[tuple[int, int, str]] | None:
    """Read a debug table's rows: NPU call, offset of the last command, name; None if invalid."""
    ffi, lib = library.ffi(), library.describing()
    data = ffi.from_buffer(table)
    span = ffi.new("struct ethosu_describe_bytes *", (data, len(table)))[0]
    count = lib.ethosu_describe_debug_rows(span)
    if count == _NOT_STATED:
        return None
    rows = []
    row = ffi.new("struct ethosu_describe_debug_row *")
    for index in range(count):
        if not lib.ethosu_describe_debug_row(span, index, row):
            raise InputError(f"row {index} of the debug table has no name")
        name = ffi.buffer(row.name.data, row.name.size)[:]
        rows.append((row.call, row.end, visible(name.decode(errors="replace"), keep="")))
    return rows
