# SPDX-License-Identifier: MIT
"""Runs compiled models in this process: driver and runtime on the NPU simulator."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..base import library, verification
from ..base.errors import BoardError, InputError, SetupError
from ..base.library import ffi
from ..boards.coherence import chosen
from ..model import ModelFile
from ..model.arrays import Array
from .native import NativeModel
from .trace import MEMORIES, FeatureMap, Operation

NPU_COUNT = 2
_TIMEOUT_MS = 10_000


def outputs(model: ModelFile, steps: Sequence[Sequence[Array]]) -> list[list[Array]]:
    """Run a compiled model on the inputs of each step."""
    with Simulation(model) as simulation:
        return [simulation.step(step) for step in steps]


class Simulation(NativeModel):
    """One model on one simulated NPU."""

    _in_use: ClassVar[set[int]] = set()

    def __init__(
        self,
        model: Path | bytes | ModelFile,
        npu: str | None = None,
        *,
        verify: bool | None = None,
        coherence: str | None = None,
        data: bytes | None = None,
    ) -> None:
        """Load a compiled model, a file or its contents; `data`: the data file of a program.

        The NPU is the one that it was compiled for, unless overridden by `npu`. `verify` False
        passes command streams to the simulator unchecked; None: see verification.py. `coherence` is
        the mode of the data cache, see coherence.py.
        """
        mode = chosen(coherence)
        simulator = library.load_sim()
        simulator.sim_host_coherence(mode.encode())
        self._memory: list[Any] = []
        self._observer = ffi().NULL
        self._observer_errors: list[BaseException] = []
        super().__init__(simulator, model, npu, verify=verify, data=data)

    def observe(self, observer: Callable[[Operation], None] | None) -> None:
        """Call `observer` after each operation of the NPU, which waits meanwhile; None removes it.

        Within the call, `feature_map` returns what the operation has written.
        """

        def call(_context: Any, operation: Any) -> None:
            try:
                if observer and not self._observer_errors:
                    observer(Operation.from_c(operation))
            except BaseException as error:  # C cannot propagate it; step() raises it
                self._observer_errors.append(error)

        signature = "void(void *, const struct npu_operation *)"
        self._observer = ffi().callback(signature, call) if observer else ffi().NULL
        self._library.sim_host_observe(self._index, self._observer, ffi().NULL)

    def assume(self, memories: Sequence[Mapping[str, int]]) -> None:
        """Set memory parameters for the cycle estimate; by default memory has no latency.

        Each memory has the fields of struct npu_memory of npu_sim.h.
        """
        table = ffi().new("struct npu_memory[]", [dict(each) for each in memories])
        if not self._library.sim_host_memories(self._index, table, len(memories)):
            raise InputError(f"at most {MEMORIES} memories, each with a speed and a burst")

    def feature_map(self, map_: FeatureMap) -> Array:
        """Copy a feature map out of memory: raw values, [height, width, depth]."""
        offsets = map_.offsets()
        low = int(offsets.min())
        size = int(offsets.max()) - low + map_.item_size
        address = self._library.sim_host_region(self._index, map_.region, low, size)
        if not address:
            raise InputError(f"the NPU cannot see memory at {low:,} of region {map_.region}")
        memory = np.frombuffer(ffi().buffer(address, size)[:], np.uint8)
        each = (offsets - low)[..., None] + np.arange(map_.item_size)
        values: Array = memory[each].view(map_.dtype)[..., 0]
        return values

    @property
    def cycles(self) -> int:
        """Return the estimated NPU cycles of the last inference."""
        return int(self._library.sim_host_cycles(self._index))

    @classmethod
    def _take_index(cls) -> int:
        free = set(range(NPU_COUNT)) - cls._in_use
        if not free:
            raise SetupError(f"a process simulates at most {NPU_COUNT} NPUs at a time")
        index = min(free)
        cls._in_use.add(index)
        return index

    @classmethod
    def _release(cls, library: Any, index: int, memory: Sequence[Any]) -> None:
        library.sim_host_close(index)
        for block in memory:
            library.sim_host_free(block)
        cls._in_use.discard(index)

    def _end(self) -> Callable[[], None]:
        self._index = self._take_index()
        return partial(self._release, self._library, self._index, self._memory)

    def _open_npu(self) -> Any:
        driver = self._library.sim_host_open(self._index, self.npu.encode())
        if not driver:
            raise InputError(f"the simulator cannot simulate {self.npu}: {self._log()}")
        if self._library.ethosu_ext_reserve_this(driver, _TIMEOUT_MS) != 0:
            raise BoardError(f"the simulated NPU cannot be reserved: {self._log()}")
        return driver

    def _alloc(self, size: int) -> Any:
        memory = self._library.sim_host_alloc(max(size, 1))
        if not memory:
            raise InputError(f"the simulated NPU's memory has no room for {size:,} more bytes")
        self._memory.append(memory)
        return memory

    def _check(self, status: int) -> None:
        if self._observer_errors:
            raise self._observer_errors.pop()
        super()._check(status)

    def _rejection(self, error: Any) -> str:
        return verification.with_hint(super()._rejection(error))

    def _reason(self) -> str:
        return "; ".join(part for part in (super()._reason(), self._log()) if part)

    def _log(self) -> str:
        return " ".join(ffi().string(self._library.sim_host_log()).decode(errors="replace").split())
