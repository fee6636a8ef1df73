# SPDX-License-Identifier: MIT
"""Writes the data of an Ethos-U delegate, in ExecuTorch's format vela_bin_stream.

Blocks of name, size and content, each padded to 16 bytes. Source: backends/arm/arm_vela.py of
pytorch/executorch 1.5.
"""

import struct
from collections.abc import Sequence

from ethosu_tools.model.vela_raw import Io, VelaRaw

FIRST, LAST = "vela_bin_stream", "vela_end_stream"
BLOCKS = ("cmd_data", "weight_data", "scratch_size", "inputs", "outputs")
_HEADER = struct.Struct("<16sIB11x")
_IO = struct.Struct("<9i")
_ALIGNMENT = 16


class VelaBinary(VelaRaw):
    """The driver's arguments for one delegate; the format has no size of the fast scratch."""

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
    """Encode a block: header, content, padding."""
    padding = bytes(-len(content) % _ALIGNMENT)
    return _HEADER.pack(name.encode(), len(content), external) + content + padding


def _encode_ios(ios: Sequence[Io]) -> bytes:
    rows = (_IO.pack(*io.shape, io.element_size, io.offset, io.region) for io in ios)
    return struct.pack("<i", len(ios)) + b"".join(rows)
