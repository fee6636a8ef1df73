# SPDX-License-Identifier: MIT
"""NPU operations of an inference, their feature maps and memory traffic.

`Simulation.observe` (simulation.py) passes the operations to its observer one at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..base.errors import InputError
from ..base.library import ffi

_POOL = ("MAX", "AVERAGE", "REDUCE_SUM", "SUM", "NONE", "MIN", "ARGMAX_X", "ARGMAX_Y")
_SIMPLE = ("MUL", "ADD", "SUB", "MIN", "MAX", "LRELU", "ABS", "CLZ", "SHR", "SHL", "LSR", "DIV")
_COMPARE = {16: "CMP_EQ", 17: "CMP_NE", 18: "CMP_GE", 19: "CMP_GT"}
_BITS = {33: "AND", 34: "OR", 35: "XOR", 36: "NOT", 42: "AND_NOT"}

MEMORIES = 4  # NPU_MEMORIES of npu_sim.h

# Names of operation modes by the command's parameter, for commands that have modes.
MODES: dict[str, dict[int, str]] = {
    "NPU_OP_CONV": {1: "MATMUL"},
    "NPU_OP_POOL": dict(enumerate(_POOL)),
    "NPU_OP_RESIZE": {0: "BILINEAR", 1: "REPLICATE", 2: "NEAREST"},
    "NPU_OP_ELEMENTWISE": dict(enumerate(_SIMPLE)) | _COMPARE | _BITS,
}


def _values(raw: Any) -> dict[str, Any]:
    """Return the fields of a C structure by name; arrays as tuples."""
    c, values = ffi(), {name: getattr(raw, name) for name in dir(raw)}
    arrays = {
        name
        for name, each in values.items()
        if isinstance(each, c.CData) and c.typeof(each).kind == "array"
    }
    return {name: tuple(each) if name in arrays else each for name, each in values.items()}


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
    def from_c(cls, map_: Any) -> FeatureMap | None:
        """Convert the C structure; None if the operation has no such map."""
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

    @property
    def item_size(self) -> int:
        """Size of one value in bytes."""
        return np.dtype(self.dtype).itemsize

    def offsets(self) -> np.ndarray:
        """Return the byte offset of each value in the region, [height, width, depth]."""
        if self.chained:
            raise InputError("a chained feature map never leaves the NPU")
        height, width, depth = self.shape
        row = np.arange(height)[:, None, None]
        column = np.arange(width)[None, :, None]
        channel = np.arange(depth)[None, None, :]
        height0, height1, width0 = self.tile
        right = column >= width0
        tile_height = np.where(right, height1, height0)
        lower = row >= tile_height
        row = row - np.where(lower, tile_height, 0)
        column = column - np.where(right, width0, 0)
        stride_y, stride_x, stride_c = self.strides
        offset: np.ndarray = np.array(self.base)[2 * lower + right]
        offset = offset + row * stride_y + column * stride_x
        if self.format == "NHCWB16":
            return offset + channel // 16 * stride_c + channel % 16 * self.item_size
        return offset + channel * self.item_size


@dataclass(frozen=True)
class Costs:
    """Busy cycles of each unit for an operation; units work in parallel."""

    mac: int
    output: int
    issue: int
    start: int
    copy: int
    port: tuple[int, ...]
    memory: tuple[int, ...]

    @classmethod
    def from_c(cls, raw: Any) -> Costs:
        """Convert the C structure."""
        return cls(**_values(raw))


@dataclass(frozen=True)
class Operation:
    """One executed operation; offset: of its command in the stream.

    cycles: estimated contribution to the inference; 0 if hidden by others. begin and end: cycles
    since the start of its stream; kernels overlap by a little. commands: bytes of the commands
    since the previous operation. read and written are bytes per region.
    """

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
    begin: int
    end: int
    costs: Costs
    commands: int
    read: tuple[int, ...]
    written: tuple[int, ...]

    @classmethod
    def from_c(cls, raw: Any) -> Operation:
        """Convert the C structure."""
        fields = _values(raw)
        kernel = fields.pop("kernel_height"), fields.pop("kernel_width")
        maps = {name: FeatureMap.from_c(fields[name]) for name in ("ifm", "ifm2", "ofm")}
        name, costs = ffi().string(raw.name).decode(), Costs.from_c(raw.costs)
        return cls(**fields | maps | {"name": name, "costs": costs, "kernel": kernel})

    @property
    def mode(self) -> str | None:
        """Name of the operation's mode; None if it has none."""
        return MODES.get(self.name, {}).get(self.param)

    @property
    def kind(self) -> str:
        """Name and mode of the command: "CONV", "ELEMENTWISE ADD"."""
        return f"{self.name.removeprefix('NPU_OP_')} {self.mode or ''}".strip()

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON; reads and writes by region."""
        data = {**asdict(self), "mode": self.mode}
        for kind in ("read", "written"):
            data[kind] = {str(region): count for region, count in enumerate(data[kind]) if count}
        return data


def traffic(operations: Sequence[Operation]) -> dict[int, dict[str, int]]:
    """Bytes read and written in each region used by the operations."""
    regions: dict[int, dict[str, int]] = {}
    for operation in operations:
        for kind, amounts in (("read", operation.read), ("written", operation.written)):
            for region, count in enumerate(amounts):
                if count:
                    regions.setdefault(region, {"read": 0, "written": 0})[kind] += count
    return dict(sorted(regions.items()))
