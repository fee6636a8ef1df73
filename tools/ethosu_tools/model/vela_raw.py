# SPDX-License-Identifier: MIT
"""Reads Vela's raw output: the driver's arguments for one command stream."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Io:
    """An input or output in NPU memory; a dimension of 0 counts as 1."""

    shape: tuple[int, ...]
    element_size: int
    offset: int
    region: int

    @property
    def size(self) -> int:
        """Bytes."""
        return math.prod(dimension or 1 for dimension in self.shape) * self.element_size


@dataclass(frozen=True)
class VelaRaw:
    """The driver's arguments."""

    commands: bytes
    weights: bytes
    scratch_size: int
    inputs: tuple[Io, ...]
    outputs: tuple[Io, ...]
    fast_scratch_size: int = 0


def read(npz: Path) -> VelaRaw:
    """Description of the one command stream in the file."""
    with np.load(npz, allow_pickle=True) as file:  # Vela made it in this run

        def ios(end: str) -> tuple[Io, ...]:
            rows = zip(
                *(file[f"{end}_{name}"] for name in ("shape", "elem_size", "offset", "region")),
                strict=True,
            )
            return tuple(
                Io(tuple(int(size) for size in shape), int(element), int(offset), int(region))
                for shape, element, offset, region in rows
            )

        return VelaRaw(
            commands=file["cmd_data"].tobytes(),
            weights=file["weight_data"].tobytes(),
            scratch_size=int(file["scratch_size"]),
            inputs=ios("input"),
            outputs=ios("output"),
            fast_scratch_size=int(file["scratch_fast_size"]),
        )
