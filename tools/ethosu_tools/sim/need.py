# SPDX-License-Identifier: MIT
"""The memory that a compiled model needs, as the runtime measures it when loading the file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..model import Model, ModelFile, romfs
from .simulation import Simulation


@dataclass(frozen=True)
class Need:
    """Needs of a compiled model, in bytes; npu: None if the CPU computes everything.

    tables: the runtime's data outside the arena. fast: the part of the heap that may be in fast
    memory. image: the file in a file system of /rom. constants: the part of the file that the NPU
    reads as weights and other constants.
    """

    npu: str | None
    arena: int
    tables: int
    fast: int
    file: int
    image: int
    constants: int

    def __post_init__(self) -> None:
        """Check what holds for each file."""
        assert 0 <= self.fast <= self.heap
        assert 0 <= self.constants <= self.file <= self.image

    @classmethod
    def of(cls, model: Model) -> Need:
        """Measure a file; raises InputError if it is not compiled or cannot be loaded."""
        file = ModelFile.of(model)
        description = file.compiled
        with Simulation(file) as simulation:
            info = simulation.info()
        files = file.named_files("model")
        return cls(
            npu=description.npu,
            arena=info["arena_size"],
            tables=info["object_size"],
            fast=info["fast_scratch_size"],
            file=sum(map(len, files.values())),
            image=len(romfs.build(files)),
            constants=description.constant_bytes,
        )

    @property
    def heap(self) -> int:
        """Bytes that the model takes of the heap."""
        return self.arena + self.tables

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self) | {"heap": self.heap}
