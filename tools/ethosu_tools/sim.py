# SPDX-License-Identifier: MIT
"""Runs compiled models in this process: our driver and runtime on the NPU simulator."""

import ctypes as c
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from . import native, paths, verification
from .arrays import Array
from .coherence import chosen
from .errors import BoardError, InputError, SetupError
from .native import Error, NativeModel, Source
from .trace import MEMORIES, FeatureMap, ObserverFunction, Operation

NPU_COUNT = 2
_TIMEOUT_MS = 10_000


class MemoryStruct(c.Structure):
    """struct npu_memory of npu_sim.h."""

    _fields_ = (
        ("start", c.c_uint64),
        ("size", c.c_uint64),
        ("millibytes", c.c_uint32),
        ("read_latency", c.c_uint16),
        ("write_latency", c.c_uint16),
        ("burst", c.c_uint16),
        ("regions", c.c_uint8),
    )


# Of sim_host.h and ethosu_model.h.
_FUNCTIONS: native.Functions = {
    "sim_host_open": (c.c_void_p, c.c_uint, c.c_char_p),
    "sim_host_close": (None, c.c_uint),
    "sim_host_alloc": (c.c_void_p, c.c_size_t),
    "sim_host_free": (None, c.c_void_p),
    "sim_host_coherence": (c.c_bool, c.c_char_p),
    "sim_host_cycles": (c.c_uint64, c.c_uint),
    "sim_host_memories": (c.c_bool, c.c_uint, c.POINTER(MemoryStruct), c.c_uint),
    "sim_host_observe": (None, c.c_uint, ObserverFunction, c.c_void_p),
    "sim_host_region": (c.c_void_p, c.c_uint, c.c_uint, c.c_uint64, c.c_uint64),
    "sim_host_log": (c.c_char_p,),
    "ethosu_ext_reserve_this": (c.c_int, c.c_void_p, c.c_uint64),
    "ethosu_model_kernels": (
        c.c_int,
        c.POINTER(Source),
        c.c_void_p,
        c.POINTER(c.c_uint32),
        c.POINTER(Error),
    ),
}


def load_library(path: Path | None = None) -> c.CDLL:
    """Load the host library and declare what is used of it."""
    return native.load_library(path or paths.host_library(), "sim-host", _FUNCTIONS)


class Simulation(NativeModel):
    """One model on one simulated NPU."""

    _in_use: ClassVar[set[int]] = set()

    def __init__(
        self,
        model: Path | bytes,
        npu: str | None = None,
        *,
        verify: bool | None = None,
        coherence: str | None = None,
        data: bytes | None = None,
    ) -> None:
        """Load a compiled model, a file or its contents; `data`: a .ptd that a program names.

        The NPU is the one that it was compiled for, unless `npu` names another. With `verify`
        False the simulator gets the command streams as they are, right or wrong; None: as
        verification.py says. `coherence` is the mode of the data cache, see coherence.py.
        """
        mode = chosen(coherence)
        library = load_library()
        library.sim_host_coherence(mode.encode())
        self._memory: list[int] = []
        self._observer = ObserverFunction()
        self._observer_errors: list[BaseException] = []
        super().__init__(library, model, npu, verify=verify, data=data)

    def observe(self, observer: Callable[[Operation], None] | None) -> None:
        """Call `observer` after each operation of the NPU, which waits meanwhile; None ends it.

        `feature_map` shows then what the operation has written.
        """

        def call(_context: int, operation: Any) -> None:
            try:
                if observer and not self._observer_errors:
                    observer(Operation.from_c(operation.contents))
            except BaseException as error:  # C can't pass it on; step() raises it
                self._observer_errors.append(error)

        self._observer = ObserverFunction(call) if observer else ObserverFunction()
        self._library.sim_host_observe(self._index, self._observer, None)

    def assume(self, memories: Sequence[MemoryStruct]) -> None:
        """Say what memory is like, for the estimate of cycles; without it, it is always ready."""
        table = (MemoryStruct * max(len(memories), 1))(*memories)
        if not self._library.sim_host_memories(self._index, table, len(memories)):
            raise InputError(f"at most {MEMORIES} memories, each with a speed and a burst")

    def feature_map(self, map_: FeatureMap) -> Array:
        """Copy a feature map out of memory: raw values, [height, width, depth]."""
        offsets = map_.offsets()
        low = int(offsets.min())
        size = int(offsets.max()) - low + map_.item_size
        place = self._library.sim_host_region(self._index, map_.region, low, size)
        if not place:
            raise InputError(f"the NPU sees no memory at {low:,} of region {map_.region}")
        memory = np.frombuffer(c.string_at(place, size), np.uint8)
        each = (offsets - low)[..., None] + np.arange(map_.item_size)
        values: Array = memory[each].view(map_.dtype)[..., 0]
        return values

    @property
    def cycles(self) -> int:
        """Estimated NPU cycles of the last inference."""
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
    def _release(cls, library: c.CDLL, index: int, memory: Sequence[int]) -> None:
        library.sim_host_close(index)
        for block in memory:
            library.sim_host_free(block)
        cls._in_use.discard(index)

    def _end(self) -> Callable[[], None]:
        self._index = self._take_index()
        return partial(self._release, self._library, self._index, self._memory)

    def _open_npu(self) -> int:
        driver = self._library.sim_host_open(self._index, self.npu.encode())
        if not driver:
            raise InputError(f"there is no simulated {self.npu}: {self._log()}")
        if self._library.ethosu_ext_reserve_this(driver, _TIMEOUT_MS) != 0:
            raise BoardError(f"the simulated NPU cannot be reserved: {self._log()}")
        return int(driver)

    def _alloc(self, size: int) -> int:
        memory = self._library.sim_host_alloc(max(size, 1))
        if not memory:
            raise InputError(f"the simulated NPU sees too little memory for {size:,} bytes more")
        self._memory.append(memory)
        return int(memory)

    def _check(self, status: int) -> None:
        if self._observer_errors:
            raise self._observer_errors.pop()
        super()._check(status)

    def _refused(self, error: native.Error) -> str:
        return verification.with_way_out(super()._refused(error))

    def _reason(self) -> str:
        return "; ".join(part for part in (super()._reason(), self._log()) if part)

    def _log(self) -> str:
        return " ".join(self._library.sim_host_log().decode(errors="replace").split())
