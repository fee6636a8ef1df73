# SPDX-License-Identifier: MIT
"""Models in this process: the runtime in C, on an NPU that is simulated or Linux's.

The library is plain C; the structures below are those of ethosu_model.h.
"""

import ctypes as c
import errno
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import models, verification
from .arrays import Array, Feed
from .closeable import Closeable
from .errors import BoardError, InputError, SetupError
from .tflite import Tensor

# Memory of a board is not zero at the start either.
_ARENA_FILL = 0xA5

OK, PENDING = 0, 1


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


class Info(c.Structure):
    """struct ethosu_model_info."""

    _fields_ = (
        *(
            (name, c.c_uint32)
            for name in (
                *("inputs", "outputs", "tensors", "values", "npu_calls", "npu_init_calls"),
                *("cpu_steps", "cpu_steps_overlapped", "arena_size", "object_size"),
                *("scratch_size", "fast_scratch_size"),
            )
        ),
        ("keeps_state", c.c_bool),
        ("copied_bytes", c.c_uint32),
        ("npu", c.c_char * 20),
    )


# Result and arguments of each function used; without them ctypes would cut pointers to int.
Functions = Mapping[str, tuple[Any, ...]]
_FUNCTIONS: Functions = {
    "ethosu_ext_last_error": (c.c_void_p, c.c_void_p),
    "ethosu_ext_describe": (c.c_size_t, c.c_void_p, c.c_char_p, c.c_size_t),
    "ethosu_ext_errno": (c.c_int, c.c_int),
    "ethosu_ext_set_timeout": (None, c.c_void_p, c.c_uint64),
    "ethosu_ext_cancel": (c.c_int, c.c_void_p),
    "ethosu_model_measure": (c.c_int, c.POINTER(Source), c.POINTER(Memory), c.POINTER(Error)),
    "ethosu_model_load": (
        c.c_int,
        c.POINTER(Source),
        c.POINTER(Memory),
        c.POINTER(c.c_void_p),
        c.POINTER(Error),
    ),
    "ethosu_model_get_info": (None, c.c_void_p, c.POINTER(Info)),
    "ethosu_model_inputs": (c.POINTER(_Buffer), c.c_void_p),
    "ethosu_model_outputs": (c.POINTER(_Buffer), c.c_void_p),
    "ethosu_model_reset": (None, c.c_void_p),
    "ethosu_model_invoke": (c.c_int, c.c_void_p, c.c_void_p),
    "ethosu_model_start": (c.c_int, c.c_void_p, c.c_void_p),
    "ethosu_model_resume": (c.c_int, c.c_void_p, c.c_bool),
    "ethosu_model_forget": (None, c.c_void_p),
}


def load_library(path: Path, target: str, functions: Functions) -> c.CDLL:
    """Load a library that `make target` builds, and declare what is used of it."""
    try:
        library = c.CDLL(str(path))
        for name, (result, *arguments) in {**_FUNCTIONS, **functions}.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        raise SetupError(
            f"{path} does not fit these tools ({error}); run: make {target}"
        ) from error
    return library


class NativeModel(Closeable):
    """A loaded model on an NPU, which a subclass opens and gives back."""

    def __init__(
        self,
        library: c.CDLL,
        model: Path | bytes,
        npu: str | None = None,
        *,
        verify: bool | None = None,
        data: bytes | None = None,
    ) -> None:
        """Load a compiled model, a file or its contents; `data`: a .ptd that a program names.

        With `verify` False the NPU gets the command streams as they are, right or wrong, where it
        is simulated; None: as verification.py says.
        """
        try:
            description = models.describe_compiled(model, named=data)
        except InputError:  # if only the data file is damaged, the runtime says so
            description = models.describe_compiled(model)
        self.npu = npu or description.npu or models.ANY_NPU
        self.inputs: Sequence[Tensor] = description.inputs
        self.outputs: Sequence[Tensor] = description.outputs
        self._library = library
        self._finalizer = weakref.finalize(self, self._end())
        try:
            self._driver = self._open_npu()
            self._model = self._load(model, verification.chosen(verify), data)
            # A loaded model's buffers stay where they are.
            self._input_places = self._places("ethosu_model_inputs", self.inputs)
            self._output_places = self._places("ethosu_model_outputs", self.outputs)
            self._output_types = [np.dtype(tensor.dtype) for tensor in self.outputs]
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def _end(self) -> Callable[[], None]:
        """Return what gives the NPU and all memory back; it must not know this object."""

    @abstractmethod
    def _open_npu(self) -> int:
        """Return the driver's handle."""

    @abstractmethod
    def _alloc(self, size: int) -> int:
        """Return memory for what the CPU works with."""

    def _alloc_arena(self, size: int) -> int:
        """Return memory for what CPU and NPU work with."""
        return self._alloc(size)

    def run(self, feed: Feed) -> Iterator[list[Array]]:
        """Invoke the model step by step, keeping its state; yields the outputs of each step."""
        for index in range(feed.steps):
            yield self.step(feed.step(index))

    def step(self, inputs: Sequence[Array]) -> list[Array]:
        """Invoke the model once; a failure of the NPU is a BoardError."""
        self.write(inputs)
        try:
            self.invoke()
        except OSError as error:
            raise BoardError(f"the inference failed: {error.strerror}") from error
        return self.read()

    def invoke(self) -> None:
        """Run once; the tensors stay where they are. OSError when the NPU fails or is late."""
        self._check(self._library.ethosu_model_invoke(self._model, self._driver))

    def start(self) -> bool:
        """Begin an inference; False: it has ended already."""
        return self._goes_on(self._library.ethosu_model_start(self._model, self._driver))

    def resume(self) -> bool:
        """Go on with it, without waiting for the NPU; False: it has ended."""
        return self._goes_on(self._library.ethosu_model_resume(self._model, False))

    def expire(self) -> None:
        """Wait no longer for the NPU: OSError ETIMEDOUT, unless it has just ended its run."""
        self._library.ethosu_ext_set_timeout(self._driver, 1)
        try:
            self._goes_on(self._library.ethosu_model_resume(self._model, True))
        finally:
            self.set_timeout(self.timeout_ms)

    def cancel(self) -> None:
        """Stop the inference under way, if there is one."""
        self._library.ethosu_ext_cancel(self._driver)
        self._library.ethosu_model_forget(self._model)

    def fence(self) -> int | None:
        """Return a descriptor that is readable when the NPU has ended its run; None: it has."""
        return None

    def set_timeout(self, milliseconds: int) -> None:
        """Of each inference from now on."""
        self.timeout_ms = milliseconds
        self._library.ethosu_ext_set_timeout(self._driver, milliseconds)

    def view(self, tensor: Tensor) -> NDArray[Any]:
        """Memory of an input or output; valid until the model is closed."""
        places = dict(
            zip(
                map(id, (*self.inputs, *self.outputs)),
                (*self._input_places, *self._output_places),
                strict=True,
            )
        )
        place, size = places[id(tensor)]
        memory: Any = (c.c_uint8 * size).from_address(place)
        return np.frombuffer(memory, tensor.dtype).reshape(tensor.shape)

    def write(self, inputs: Sequence[Array]) -> None:
        """Put raw values into the model's inputs."""
        if len(inputs) != len(self.inputs):
            raise InputError(f"the model has {len(self.inputs)} inputs, found {len(inputs)}")
        for index, (array, (place, size)) in enumerate(
            zip(inputs, self._input_places, strict=True)
        ):
            data = array.tobytes()
            if len(data) != size:
                raise InputError(f"input {index} takes {size} bytes, found {len(data)}")
            c.memmove(place, data, size)

    def read(self) -> list[Array]:
        """Copy the model's outputs."""
        return [
            np.frombuffer(c.string_at(place, size), dtype).reshape(tensor.shape).copy()
            for (place, size), dtype, tensor in zip(
                self._output_places, self._output_types, self.outputs, strict=True
            )
        ]

    def reset(self) -> None:
        """Put the model's state back to the beginning."""
        self._library.ethosu_model_reset(self._model)

    def info(self) -> dict[str, Any]:
        """What the runtime says of the loaded model: sizes in bytes, steps of an inference."""
        info = Info()
        self._library.ethosu_model_get_info(self._model, c.byref(info))
        return {field[0]: getattr(info, field[0]) for field in Info._fields_ if field[0] != "npu"}

    def close(self) -> None:
        """Release NPU and memory; may be called again."""
        self._finalizer()

    def _goes_on(self, status: int) -> bool:
        if status != PENDING:
            self._check(status)
        return status == PENDING

    def _check(self, status: int) -> None:
        if status != OK:
            number, _ = self._fault()
            raise OSError(number or errno.EIO, self._reason() or f"status {status}")

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
        if status == OK:
            memory.object = self._alloc(memory.object_size)
            memory.arena = self._alloc_arena(memory.arena_size)
            c.memset(memory.arena, _ARENA_FILL, memory.arena_size)
            status = library.ethosu_model_load(
                c.byref(source), c.byref(memory), c.byref(loaded), c.byref(error)
            )
        if status != OK:
            raise InputError(f"{models.name_of(model)}: {self._refused(error)}")
        return loaded

    def _refused(self, error: Error) -> str:
        """Why the runtime does not load the model."""
        return bytes(error.text).decode(errors="replace")

    def _places(self, function: str, tensors: Sequence[Tensor]) -> list[tuple[int, int]]:
        """Address and size of each of the model's buffers."""
        buffers = getattr(self._library, function)(self._model)
        return [(buffers[i].data, buffers[i].size) for i in range(len(tensors))]

    def _fault(self) -> tuple[int, str]:
        """Errno and sentence of what the driver refused last; 0 and nothing if it did not."""
        text = c.create_string_buffer(256)
        fault = self._library.ethosu_ext_last_error(self._driver)
        self._library.ethosu_ext_describe(fault, text, len(text))
        code = c.cast(fault, c.POINTER(c.c_int))[0]
        return self._library.ethosu_ext_errno(code), text.value.decode(errors="replace")

    def _reason(self) -> str:
        return self._fault()[1]
