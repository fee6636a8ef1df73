# SPDX-License-Identifier: MIT
"""Removes unused constants and compile specs, which no board needs, from a program.

Exporters leave unused constants behind, such as the float scales of operators that the NPU now
computes. Compile specs hold the compiler's options and, sometimes, paths of the build machine. The
tables keep their positions, so that fields unknown to this reader are preserved; removed parts are
filled with zeros. Segments behind them move.
"""

import struct
from collections.abc import Iterator
from typing import Any

from flatbuffers import number_types as n
from flatbuffers.table import Table

from ..base.errors import InputError, MismatchError
from ..model import PROGRAM, Method, ModelFile, Tensor, arrays
from ..sim import simulation
from ..sim.difference import Difference

_STEPS = 2  # inferences that are compared

# Compile specs that identify a delegate's NPU.
_KEPT_SPECS = ("target", "output_format")
_NULL = 1
_SEGMENT_ALIGNMENT = 128
_CONSTANT_ALIGNMENT = 16
_EXTENDED, _EXTENDED_AT = b"eh00", 8
_HEADER_SEGMENTS_AT, _HEADER_DATA_SIZE_AT = 24, 32
_PLANS, _SEGMENTS, _CONSTANTS = 1, 4, 5
_VALUES, _DELEGATES = 2, 7
_SPECS = 2

_READS = 65_536
_READS_PER_BYTE = 4

U32, U64 = n.Uint32Flags, n.Uint64Flags
_OFFSET = n.UOffsetTFlags


class Budget:
    """The number of reads left for a file.

    A file may refer to one table any number of times, so its size does not bound the run time of a
    reader that follows each reference. A budget per byte does.
    """

    def __init__(self, size: int) -> None:
        self._left = _READS + _READS_PER_BYTE * size

    def take(self, count: int = 1) -> None:
        """Count reads; InputError if the budget is exhausted."""
        self._left -= count
        if self._left < 0:
            raise InputError("it references its tables so often that reading would take too long")


class Row:
    """A table of a FlatBuffer; fields have their schema numbers. Reads are checked and counted."""

    def __init__(self, data: bytes, position: int, budget: Budget) -> None:
        self._data, self._budget = data, budget
        if not 0 <= position <= len(data) - 4:
            raise InputError(f"a table at byte {position:,} of {len(data):,}")
        self._table = Table(data, position)

    @classmethod
    def root(cls, data: bytes) -> "Row":
        """The root table of a file."""
        return cls(data, int.from_bytes(data[:4], "little"), Budget(len(data)))

    def number(self, field: int, kind: Any, default: Any = 0) -> Any:
        """Read a scalar."""
        at = self.position(field)
        return self._get(kind, at) if at else default

    def table(self, field: int) -> "Row | None":
        """Read a referenced table, or None."""
        at = self.position(field)
        return Row(self._data, self._follow(at), self._budget) if at else None

    def tables(self, field: int) -> Iterator["Row"]:
        """Read the tables of a vector, in order."""
        start, count = self._vector(field, 4)
        for at in range(start, start + 4 * count, 4):
            yield Row(self._data, self._follow(at), self._budget)

    def numbers(self, field: int, kind: Any) -> tuple[int, ...]:
        """Read a vector of scalars."""
        start, count = self._vector(field, kind.bytewidth)
        self._budget.take(count)
        return tuple(self._get(kind, start + kind.bytewidth * i) for i in range(count))

    def position(self, field: int) -> int:
        """Return the position of a field's content; 0 if absent."""
        self._budget.take()
        vtable = self._table.Pos - self._get(n.SOffsetTFlags, self._table.Pos)
        if 4 + 2 * field >= self._get(n.VOffsetTFlags, vtable):
            return 0
        offset = self._get(n.VOffsetTFlags, vtable + 4 + 2 * field)
        return self._table.Pos + offset if offset else 0

    def positions(self, field: int, item: int) -> range:
        """Return the positions of a vector's items, given the size of an item."""
        start, count = self._vector(field, item)
        return range(start, start + count * item, item)

    def text(self, field: int) -> str:
        """Read a string."""
        start, count = self._vector(field, 1)
        return self._data[start : start + count].decode(errors="replace")

    def _follow(self, at: int) -> int:
        self._budget.take()
        return at + int(self._get(_OFFSET, at))

    def _vector(self, field: int, item: int) -> tuple[int, int]:
        at = self.position(field)
        if not at:
            return 0, 0
        start = self._follow(at)
        count = int(self._get(_OFFSET, start))
        if start + 4 + count * item > len(self._data):
            raise InputError(f"a list of {count:,} at byte {start:,} of {len(self._data):,}")
        return start + 4, count

    def _get(self, kind: Any, at: int) -> Any:
        if not 0 <= at <= len(self._data) - kind.bytewidth:
            raise InputError(f"a number at byte {at:,} of {len(self._data):,}")
        return self._table.Get(kind, at)


def strip(file: ModelFile) -> ModelFile:
    """Strip a program without changing its results; other files, and bundles, stay unchanged.

    InputError: the file is damaged, or data to be removed is shared with data that is needed.
    """
    if file.kind is not PROGRAM:
        return file
    data = file.data
    root = Row.root(data)
    methods = list(file.methods.values())
    plans = list(root.tables(_PLANS))
    if len(plans) != len(methods):
        raise InputError("it cannot be stripped: several of its methods have the same name")
    tables = bytearray(data)
    for row, method in zip(plans, methods, strict=True):
        unused = set(_unused(method))
        for number, value in enumerate(row.tables(_VALUES)):
            if number in unused:
                tables[value.position(0)] = _NULL
        for delegate in row.tables(_DELEGATES):
            _drop_specs(tables, delegate)
    result = _move_segments(data, root, methods, tables)
    if result == data:
        return file
    stripped = file.with_data(result)
    _check(file, stripped)
    return stripped


def strip_checked(file: ModelFile) -> ModelFile:
    """Strip a program; MismatchError unless the outputs on random inputs stay the same."""
    result = strip(file)
    if result is not file:
        steps = arrays.random_steps(file.description.inputs, _STEPS)
        found = simulation.outputs(result, steps)
        if Difference.of_outputs(found, simulation.outputs(file, steps)).differing:
            raise MismatchError("the stripped program computes different outputs")
    return result


def _unused(method: Method) -> Iterator[int]:
    """Find constant tensors that no instruction and no list refers to."""
    named = {*method.inputs, *method.outputs}
    for operator in method.operators:
        if not (operator.on_cpu or operator.on_npu):
            return  # control flow may refer to any value
        named.update(operator.arguments)
    for value in method.values:
        named.update(value.content if value.kind == "tensors" else ())
    for number, value in enumerate(method.values):
        if isinstance(value.content, Tensor) and value.content.buffer == 0 and number not in named:
            yield number


def _drop_specs(tables: bytearray, delegate: Row) -> None:
    """Move the specs that are kept to the front; fill the others with zeros."""
    positions = delegate.positions(_SPECS, 4)
    kept = []
    for at, spec in zip(positions, delegate.tables(_SPECS), strict=True):
        if spec.text(0) in _KEPT_SPECS:
            kept.append(at + struct.unpack_from("<I", tables, at)[0])
        else:
            for field in (0, 1):
                content = spec.positions(field, 1)
                tables[content.start : content.stop] = bytes(len(content))
    if positions:
        struct.pack_into("<I", tables, positions.start - 4, len(kept))
        for at, table in zip(positions, kept, strict=False):
            struct.pack_into("<I", tables, at, table - at)


def _move_segments(data: bytes, root: Row, methods: list[Method], tables: bytearray) -> bytes:
    """Rewrite the segments without unused constants."""
    has_header = data[_EXTENDED_AT : _EXTENDED_AT + len(_EXTENDED)] == _EXTENDED
    base = struct.unpack_from("<Q", data, _HEADER_SEGMENTS_AT)[0] if has_header else 0
    if base == 0:
        return bytes(tables)
    contents = [_segment(data, base, row) for row in root.tables(_SEGMENTS)]
    constants = root.table(_CONSTANTS)
    index = constants.number(0, U32) if constants else 0
    if constants and index < len(contents):
        offsets = constants.numbers(1, U64)
        contents[index], moved = _pack(contents[index], offsets, _sizes(methods))
        for at, offset in zip(constants.positions(1, 8), moved, strict=True):
            struct.pack_into("<Q", tables, at, offset)
    packed = b""
    for row, content in zip(root.tables(_SEGMENTS), contents, strict=True):
        packed += bytes(-len(packed) % _SEGMENT_ALIGNMENT) if content else b""
        _put(tables, row, 0, len(packed) if content else 0)
        _put(tables, row, 1, len(content))
        packed += content
    if struct.unpack_from("<I", tables, 12)[0] > _HEADER_DATA_SIZE_AT - 8:
        struct.pack_into("<Q", tables, _HEADER_DATA_SIZE_AT, len(packed))
    return bytes(tables[:base]) + packed


def _segment(data: bytes, base: int, row: Row) -> bytes:
    start = base + row.number(0, U64)
    end = start + row.number(1, U64)
    if end > len(data):
        raise InputError(f"a segment ends at byte {end:,} of {len(data):,}")
    return data[start:end]


def _put(tables: bytearray, row: Row, field: int, number: int) -> None:
    """Store a scalar, which is absent if it was 0."""
    if row.number(field, U64) == number:
        return
    if not row.position(field):
        raise InputError(
            f"it cannot be stripped: a segment has no field for its offset or size, {number:,}"
        )
    struct.pack_into("<Q", tables, row.position(field), number)


def _sizes(methods: list[Method]) -> dict[int, int]:
    """Return the size of each used constant, which two tensors may share."""
    sizes: dict[int, int] = {}
    for method in methods:
        unused = set(_unused(method))
        for number, value in enumerate(method.values):
            tensor = value.content
            if isinstance(tensor, Tensor) and tensor.buffer == 0 and number not in unused:
                index = tensor.constant_index
                sizes[index] = max(tensor.size, sizes.get(index, 0))
    return sizes


def _pack(
    segment: bytes, offsets: tuple[int, ...], sizes: dict[int, int]
) -> tuple[bytes, list[int]]:
    packed, moved = b"", []
    for index, offset in enumerate(offsets):
        size = sizes.get(index, 0)
        if offset + size > len(segment):
            raise InputError(f"constant {index} ends at byte {offset + size:,} of {len(segment):,}")
        packed += bytes(-len(packed) % _CONSTANT_ALIGNMENT) if size else b""
        moved.append(len(packed) if size else 0)
        packed += segment[offset : offset + size]
    return packed, moved


def _check(before: ModelFile, after: ModelFile) -> None:
    """Compare everything that a run reads."""
    same = list(before.methods) == list(after.methods)
    for index, name in enumerate(before.methods if same else ()):
        old, new = before.methods[name], after.methods[name]
        unused = set(_unused(old))
        same &= (old.inputs, old.outputs, old.operators, old.buffers) == (
            (new.inputs, new.outputs, new.operators, new.buffers)
        )
        same &= before.calls(index) == after.calls(index)
        for number, (value, other) in enumerate(zip(old.values, new.values, strict=True)):
            if number not in unused:
                same &= value == other and _content(value.content) == _content(other.content)
    if not same:
        raise InputError("it cannot be stripped: unused data is shared with data that is needed")


def _content(value: object) -> bytes:
    """Read the bytes of a constant."""
    return value.content if isinstance(value, Tensor) else b""
