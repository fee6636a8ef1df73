# SPDX-License-Identifier: MIT
"""Runs compiled models in this process: our driver and runtime on the NPU simulator.

The library is plain C; the structures below are those of sim_host.h and ethosu_model.h.
"""

import ctypes as c
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from . import models, paths
from .arrays import Array, Feed
from .closeable import Closeable
from .coherence import chosen
from .errors import BoardError, InputError, SetupError
from .tflite import Tensor
from .trace import FeatureMap, ObserverFunction, Operation

NPU_COUNT = 2
_TIMEOUT_MS = 10_000
# Memory of a board is not zero at the start either.
_ARENA_FILL = 0xA5


class Error(c.Structure):
    """struct ethosu_model_error."""

    _fields_ = (("text", c.c_char * 192),)


class Source(c.Structure):
    """struct ethosu_model_source."""

    _fields_ = (
        ("file", c.c_void_p),
        ("file_size", c.c_size_t),
        ("driver", c.c_void_p),
        ("skip_verify", c.c_bool),
        ("npu_reads_object", c.c_bool),
        ("file_may_change", c.c_bool),
        ("stop", c.c_void_p),
        ("argument", c.c_void_p),
        ("method", c.c_char_p),
        ("data", c.c_void_p),
        ("data_size", c.c_size_t),
    )


class Memory(c.Structure):
    """struct ethosu_model_memory."""

    _fields_ = (
        ("object", c.c_void_p),
        ("object_size", c.c_size_t),
        ("arena", c.c_void_p),
        ("arena_size", c.c_size_t),
        ("keeps_data", c.c_bool),
    )


class _Buffer(c.Structure):
    _fields_ = (
        ("data", c.c_void_p),
        ("size", c.c_uint32),
        ("tensor", c.c_uint16),
        ("type", c.c_uint16),
    )


# Result and arguments of each function used; without them ctypes would cut pointers to int.
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "sim_host_open": (c.c_void_p, c.c_uint, c.c_char_p),
    "sim_host_close": (None, c.c_uint),
    "sim_host_alloc": (c.c_void_p, c.c_size_t),
    "sim_host_free": (None, c.c_void_p),
    "sim_host_coherence": (c.c_bool, c.c_char_p),
    "sim_host_cycles": (c.c_uint64, c.c_uint),
    "sim_host_observe": (None, c.c_uint, ObserverFunction, c.c_void_p),
    "sim_host_region": (c.c_void_p, c.c_uint, c.c_uint, c.c_uint64, c.c_uint64),
    "sim_host_log": (c.c_char_p,),
    "ethosu_ext_reserve_this": (c.c_int, c.c_void_p, c.c_uint64),
    "ethosu_ext_last_error": (c.c_void_p, c.c_void_p),
    "ethosu_ext_describe": (c.c_size_t, c.c_void_p, c.c_char_p, c.c_size_t),
    "ethosu_release_driver": (None, c.c_void_p),
    "ethosu_model_measure": (c.c_int, c.POINTER(Source), c.POINTER(Memory), c.POINTER(Error)),
    "ethosu_model_load": (
        c.c_int,
        c.POINTER(Source),
        c.POINTER(Memory),
        c.POINTER(c.c_void_p),
        c.POINTER(Error),
    ),
    "ethosu_model_kernels": (
        c.c_int,
        c.POINTER(Source),
        c.c_void_p,
        c.POINTER(c.c_uint32),
        c.POINTER(Error),
    ),
    "ethosu_model_inputs": (c.POINTER(_Buffer), c.c_void_p),
    "ethosu_model_outputs": (c.POINTER(_Buffer), c.c_void_p),
    "ethosu_model_reset": (None, c.c_void_p),
    "ethosu_model_invoke": (c.c_int, c.c_void_p, c.c_void_p),
}


def load_library(path: Path | None = None) -> c.CDLL:
    """Load the host library and declare what is used of it."""
    path = path or paths.host_library()
    try:
        library = c.CDLL(str(path))
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        raise SetupError(
            f"{path} does not fit these tools ({error}); run: make sim-host"
        ) from error
    return library


class Simulation(Closeable):
    """One model on one simulated NPU."""

    _in_use: ClassVar[set[int]] = set()

    def __init__(
        self,
        model: Path | bytes,
        npu: str | None = None,
        *,
        verify: bool = True,
        coherence: str | None = None,
        data: bytes | None = None,
    ) -> None:
        """Load a compiled model, a file or its contents; `data`: a .ptd that a program names.

        The NPU is the one that it was compiled for, unless `npu` names another. Without `verify`
        the simulator gets the command streams as they are, right or wrong. `coherence` is the mode
        of the data cache, see coherence.py.
        """
        mode = chosen(coherence)
        description = models.describe_compiled(model)
        self.npu = npu or str(description.npu)
        self.inputs: Sequence[Tensor] = description.inputs
        self.outputs: Sequence[Tensor] = description.outputs
        self._library = load_library()
        self._library.sim_host_coherence(mode.encode())
        self._index = self._take_index()
        self._memory: list[int] = []
        self._observer = ObserverFunction()
        self._observer_errors: list[BaseException] = []
        self._finalizer = weakref.finalize(
            self, self._release, self._library, self._index, self._memory
        )
        try:
            self._driver = self._open_npu()
            self._model = self._load(model, verify, data)
            # A loaded model's buffers stay where they are.
            self._input_places = self._places("ethosu_model_inputs", self.inputs)
            self._output_places = self._places("ethosu_model_outputs", self.outputs)
            self._output_types = [np.dtype(tensor.dtype) for tensor in self.outputs]
        except BaseException:
            self.close()
            raise

    def run(self, feed: Feed) -> Iterator[list[Array]]:
        """Invoke the model step by step, keeping its state; yields the outputs of each step."""
        for index in range(feed.steps):
            yield self.step(feed.step(index))

    def step(self, inputs: Sequence[Array]) -> list[Array]:
        """Invoke the model once."""
        if len(inputs) != len(self.inputs):
            raise InputError(f"the model has {len(self.inputs)} inputs, found {len(inputs)}")
        for index, (array, (place, size)) in enumerate(
            zip(inputs, self._input_places, strict=True)
        ):
            data = array.tobytes()
            if len(data) != size:
                raise InputError(f"input {index} takes {size} bytes, found {len(data)}")
            c.memmove(place, data, size)
        status = self._library.ethosu_model_invoke(self._model, self._driver)
        if self._observer_errors:
            raise self._observer_errors.pop()
        if status != 0:
            raise BoardError(f"the inference failed: {self._reason()}")
        return self._outputs()

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

    def reset(self) -> None:
        """Put the model's state back to the beginning."""
        self._library.ethosu_model_reset(self._model)

    @property
    def cycles(self) -> int:
        """Estimated NPU cycles of the last inference."""
        return int(self._library.sim_host_cycles(self._index))

    def close(self) -> None:
        """Release NPU and memory; may be called again."""
        self._finalizer()

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

    def _open_npu(self) -> int:
        driver = self._library.sim_host_open(self._index, self.npu.encode())
        if not driver:
            raise InputError(f"there is no simulated {self.npu}: {self._log()}")
        if self._library.ethosu_ext_reserve_this(driver, _TIMEOUT_MS) != 0:
            raise BoardError(f"the simulated NPU cannot be reserved: {self._log()}")
        return int(driver)

    def _load(self, model: Path | bytes, verify: bool, named: bytes | None) -> c.c_void_p:
        data = models.read(model)
        source = Source(self._alloc(len(data)), len(data), self._driver, not verify)
        c.memmove(source.file, data, len(data))
        if named is not None:
            source.data, source.data_size = self._alloc(len(named)), len(named)
            c.memmove(source.data, named, len(named))
        memory, error, loaded = Memory(), Error(), c.c_void_p()
        library = self._library
        status = library.ethosu_model_measure(c.byref(source), c.byref(memory), c.byref(error))
        if status == 0:
            memory.object = self._alloc(memory.object_size)
            memory.arena = self._alloc(memory.arena_size)
            c.memset(memory.arena, _ARENA_FILL, memory.arena_size)
            status = library.ethosu_model_load(
                c.byref(source), c.byref(memory), c.byref(loaded), c.byref(error)
            )
        if status != 0:
            raise InputError(f"{models.name_of(model)}: {error.text.decode(errors='replace')}")
        return loaded

    def _alloc(self, size: int) -> int:
        memory = self._library.sim_host_alloc(max(size, 1))
        if not memory:
            raise InputError(f"the simulated NPU sees too little memory for {size:,} bytes more")
        self._memory.append(memory)
        return int(memory)

    def _places(self, function: str, tensors: Sequence[Tensor]) -> list[tuple[int, int]]:
        """Address and size of each of the model's buffers."""
        buffers = getattr(self._library, function)(self._model)
        return [(buffers[i].data, buffers[i].size) for i in range(len(tensors))]

    def _outputs(self) -> list[Array]:
        return [
            np.frombuffer(c.string_at(place, size), dtype).reshape(tensor.shape).copy()
            for (place, size), dtype, tensor in zip(
                self._output_places, self._output_types, self.outputs, strict=True
            )
        ]

    def _reason(self) -> str:
        text = c.create_string_buffer(256)
        fault = self._library.ethosu_ext_last_error(self._driver)
        self._library.ethosu_ext_describe(fault, text, len(text))
        return "; ".join(
            part for part in (text.value.decode(errors="replace"), self._log()) if part
        )

    def _log(self) -> str:
        return " ".join(self._library.sim_host_log().decode(errors="replace").split())
