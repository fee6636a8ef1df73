# SPDX-License-Identifier: MIT
"""The data of an Ethos-U delegate, which ExecuTorch calls vela_bin_stream.

Blocks of a name, a size and content, each padded to 16 bytes. Source: backends/arm/arm_vela.py of
pytorch/executorch 1.5.
"""

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..errors import InputError

FIRST, LAST = "vela_bin_stream", "vela_end_stream"
BLOCKS = ("cmd_data", "weight_data", "scratch_size", "inputs", "outputs")
_HEADER = struct.Struct("<16sIB11x")
_IO = struct.Struct("<9i")
_ALIGNMENT = 16

# Finds the data of an external block by its key.
Find = Callable[[str], bytes]


@dataclass(frozen=True)
class Io:
    """An input or output in memory of the NPU; a dimension of 0 counts as 1."""

    shape: tuple[int, ...]
    element_size: int
    offset: int
    region: int

    @property
    def size(self) -> int:
        """Bytes."""
        return math.prod(dimension or 1 for dimension in self.shape) * self.element_size


@dataclass(frozen=True)
class VelaBinary:
    """What the driver needs to run one delegate."""

    commands: bytes
    weights: bytes
    scratch_size: int
    inputs: tuple[Io, ...]
    outputs: tuple[Io, ...]

    @classmethod
    def parse(cls, data: bytes, find: Find | None = None) -> "VelaBinary":
        """Read a delegate's data; `find` gives what lies outside of it."""
        blocks = _blocks(data)
        for name in ("cmd_data", "weight_data"):
            content, external = blocks[name]
            if external:
                key = content.decode(errors="replace")
                if find is None:
                    raise InputError(f"block {name}: its data is in another file, key {key}")
                blocks[name] = (find(key), False)
        scratch = blocks["scratch_size"][0]
        if len(scratch) != 4:
            raise InputError(f"block scratch_size: {len(scratch)} bytes, expected 4")
        return cls(
            commands=blocks["cmd_data"][0],
            weights=blocks["weight_data"][0],
            scratch_size=int.from_bytes(scratch, "little"),
            inputs=_ios("inputs", blocks["inputs"][0]),
            outputs=_ios("outputs", blocks["outputs"][0]),
        )

    def encode(self) -> bytes:
        """Make the data of a delegate."""
        contents = (
            self.commands,
            self.weights,
            struct.pack("<I", self.scratch_size),
            _encode_ios(self.inputs),
            _encode_ios(self.outputs),
        )
        middle = b"".join(
            block(name, content) for name, content in zip(BLOCKS, contents, strict=True)
        )
        return block(FIRST) + middle + block(LAST)


def block(name: str, content: bytes = b"", *, external: bool = False) -> bytes:
    """One block: header, content, padding."""
    padding = bytes(-len(content) % _ALIGNMENT)
    return _HEADER.pack(name.encode(), len(content), external) + content + padding


def _blocks(data: bytes) -> dict[str, tuple[bytes, bool]]:
    """Content of each block, and whether it is external."""
    blocks: dict[str, tuple[bytes, bool]] = {}
    names: list[str] = []
    at = 0
    while at < len(data):
        if len(data) - at < _HEADER.size:
            raise InputError(f"block {len(names)}: {len(data) - at} bytes, expected a header of 32")
        raw, size, external = _HEADER.unpack_from(data, at)
        name = raw.rstrip(b"\0").decode(errors="replace")
        at += _HEADER.size
        padded = size + -size % _ALIGNMENT
        if padded > len(data) - at:
            raise InputError(f"block {name}: {size:,} bytes, {len(data) - at:,} are left")
        if name in names:
            raise InputError(f"block {name} is there twice")
        names.append(name)
        blocks[name] = (bytes(data[at : at + size]), bool(external))
        at += padded
    if names[:1] != [FIRST] or names[-1:] != [LAST] or set(names[1:-1]) != set(BLOCKS):
        raise InputError(
            f"blocks {', '.join(names)}: expected {FIRST}, {', '.join(BLOCKS)}, {LAST}"
        )
    return blocks


def _ios(name: str, content: bytes) -> tuple[Io, ...]:
    count = int.from_bytes(content[:4], "little")
    if len(content) < 4 or len(content) != 4 + count * _IO.size:
        raise InputError(f"block {name}: {len(content)} bytes for {count:,} tensors")
    return tuple(
        Io(row[:6], row[6], row[7], row[8])
        for row in (_IO.unpack_from(content, 4 + i * _IO.size) for i in range(count))
    )


def _encode_ios(ios: Sequence[Io]) -> bytes:
    rows = (_IO.pack(*io.shape, io.element_size, io.offset, io.region) for io in ios)
    return struct.pack("<i", len(ios)) + b"".join(rows)
