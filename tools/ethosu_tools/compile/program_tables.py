# SPDX-License-Identifier: MIT
"""Finds the tables of a FlatBuffer, for strip.py; each read is checked and counted.

A file may refer to one table any number of times, so its size does not bound the run time of a
reader that follows each reference. A budget per byte does.
"""

from collections.abc import Iterator
from typing import Any

from flatbuffers import number_types as n
from flatbuffers.table import Table

from ..base.errors import InputError

_READS = 65_536
_READS_PER_BYTE = 4

U32, U64 = n.Uint32Flags, n.Uint64Flags
_OFFSET = n.UOffsetTFlags


class Budget:
    """The number of reads left for a file."""

    def __init__(self, size: int) -> None:
        self._left = _READS + _READS_PER_BYTE * size

    def take(self, count: int = 1) -> None:
        """Count reads; InputError if the budget is exhausted."""
        self._left -= count
        if self._left < 0:
            raise InputError("it references its tables so often that reading would take too long")


class Row:
    """A table; fields have their schema numbers."""

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
        """A scalar."""
        at = self.position(field)
        return self._get(kind, at) if at else default

    def table(self, field: int) -> "Row | None":
        """A referenced table, or None."""
        at = self.position(field)
        return Row(self._data, self._follow(at), self._budget) if at else None

    def tables(self, field: int) -> Iterator["Row"]:
        """The tables of a vector, in order."""
        start, count = self._vector(field, 4)
        for at in range(start, start + 4 * count, 4):
            yield Row(self._data, self._follow(at), self._budget)

    def numbers(self, field: int, kind: Any) -> tuple[int, ...]:
        """A vector of scalars."""
        start, count = self._vector(field, kind.bytewidth)
        self._budget.take(count)
        return tuple(self._get(kind, start + kind.bytewidth * i) for i in range(count))

    def position(self, field: int) -> int:
        """Position of a field's content; 0 if absent."""
        self._budget.take()
        vtable = self._table.Pos - self._get(n.SOffsetTFlags, self._table.Pos)
        if 4 + 2 * field >= self._get(n.VOffsetTFlags, vtable):
            return 0
        offset = self._get(n.VOffsetTFlags, vtable + 4 + 2 * field)
        return self._table.Pos + offset if offset else 0

    def positions(self, field: int, item: int) -> range:
        """Positions of a vector's items, given the size of an item."""
        start, count = self._vector(field, item)
        return range(start, start + count * item, item)

    def text(self, field: int) -> str:
        """A string."""
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
