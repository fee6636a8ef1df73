# SPDX-License-Identifier: MIT
"""Models in this process: the C runtime on a simulated NPU or one with the Linux driver.

The library is plain C: see ethosu_model.h and library.py.
"""

import errno
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base import library, verification
from ..base.errors import BoardError, InputError
from ..base.library import OK, PENDING, ffi
from ..model import ModelFile, Tensor
from ..model.arrays import Array, Feed
from .runner import Runner

# NPU on which a model without NPU operators is loaded.
_ANY_NPU = "ethos-u55-128"
# Memory starts with this byte, because a board's memory is not zeroed either.
_ARENA_FILL = b"\xa5"


class NativeModel(Runner):
    """A loaded model on an NPU, which a subclass opens and releases."""

    def __init__(
        self,
        library: Any,
        model: Path | bytes | ModelFile,
        npu: str | None = None,
        *,
        verify: bool | None = None,
        data: bytes | None = None,
    ) -> None:
        """Load a compiled model, a file or its contents; `data`: the data file of a program.

        `verify` False passes command streams to a simulated NPU unchecked; None: see
        verification.py.
        """
        file = ModelFile.of(model, data)
        description = file.compiled
        self.npu = npu or description.npu or _ANY_NPU
        self.inputs, self.outputs = description.inputs, description.outputs
        self._library = library
        self._finalizer = weakref.finalize(self, self._end())
        try:
            self._driver = self._open_npu()
            self._model = self._load(file, verification.chosen(verify))
            # A loaded model's buffers must not move.
            self._input_views = self._views("ethosu_model_inputs", self.inputs)
            self._output_views = self._views("ethosu_model_outputs", self.outputs)
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def _end(self) -> Callable[[], None]:
        """Return a function that releases NPU and memory; it must not refer to this object."""

    @abstractmethod
    def _open_npu(self) -> Any:
        """Return the driver's handle."""

    @abstractmethod
    def _alloc(self, size: int) -> Any:
        """Return memory for use by the CPU only."""

    def _alloc_arena(self, size: int) -> Any:
        """Return memory shared by CPU and NPU."""
        return self._alloc(size)

    def run(self, feed: Feed) -> Iterator[list[Array]]:
        """Invoke the model step by step."""
        for index in range(feed.steps):
            yield self.step(feed.step(index))

    def step(self, inputs: Sequence[Array]) -> list[Array]:
        """Invoke the model once; an NPU failure is a BoardError."""
        self.write(inputs)
        try:
            self.invoke()
        except OSError as error:
            raise BoardError(f"the inference failed: {error.strerror}") from error
        return self.read()

    def invoke(self) -> None:
        """Run once with tensors in place; OSError if the NPU fails or times out."""
        self._check(self._library.ethosu_model_invoke(self._model, self._driver))

    def start(self) -> bool:
        """Begin an inference; False if it has already ended."""
        return self._is_pending(self._library.ethosu_model_start(self._model, self._driver))

    def resume(self) -> bool:
        """Continue the inference without waiting for the NPU; False if it has ended."""
        return self._is_pending(self._library.ethosu_model_resume(self._model, False))

    def expire(self) -> None:
        """Stop waiting for the NPU: OSError ETIMEDOUT, unless its run has just ended."""
        self._library.ethosu_ext_set_timeout(self._driver, 1)
        try:
            self._is_pending(self._library.ethosu_model_resume(self._model, True))
        finally:
            self.set_timeout(self.timeout_ms)

    def cancel(self) -> None:
        """Stop the current inference, if any."""
        self._library.ethosu_ext_cancel(self._driver)
        self._library.ethosu_model_forget(self._model)

    def fence(self) -> int | None:
        """Return a descriptor that is readable when the NPU's run ends; None after its end."""
        return None

    def set_timeout(self, milliseconds: int) -> None:
        """Set the time-out of each following inference."""
        self.timeout_ms = milliseconds
        self._library.ethosu_ext_set_timeout(self._driver, milliseconds)

    def view(self, tensor: Tensor) -> NDArray[Any]:
        """Return the memory of an input or output; valid until the model is closed."""
        views = zip(
            (*self.inputs, *self.outputs), (*self._input_views, *self._output_views), strict=True
        )
        return next(view for each, view in views if each is tensor)

    def write(self, inputs: Sequence[Array]) -> None:
        """Copy raw values to the model's inputs."""
        if len(inputs) != len(self.inputs):
            raise InputError(f"the model has {len(self.inputs)} inputs, found {len(inputs)}")
        for index, (array, view) in enumerate(zip(inputs, self._input_views, strict=True)):
            if array.dtype == view.dtype and array.shape == view.shape:
                view[...] = array
                continue
            data = array.tobytes()
            if len(data) != view.nbytes:
                raise InputError(f"input {index} must have {view.nbytes} bytes, found {len(data)}")
            view[...] = np.frombuffer(data, view.dtype).reshape(view.shape)

    def read(self) -> list[Array]:
        """Copy the model's outputs."""
        return [view.copy() for view in self._output_views]

    def reset(self) -> None:
        """Reset the model's state."""
        self._library.ethosu_model_reset(self._model)

    def info(self) -> dict[str, Any]:
        """Return the runtime's figures for the model: sizes in bytes, steps of an inference."""
        info = ffi().new("struct ethosu_model_info *")
        self._library.ethosu_model_get_info(self._model, info)
        return {name: getattr(info, name) for name in dir(info) if name != "npu"}

    def close(self) -> None:
        """Release NPU and memory; may be called repeatedly."""
        self._finalizer()

    def _is_pending(self, status: int) -> bool:
        if status != PENDING:
            self._check(status)
        return status == PENDING

    def _check(self, status: int) -> None:
        if status != OK:
            number, _ = self._fault()
            raise OSError(number or errno.EIO, self._reason() or f"status {status}")

    def _load(self, file: ModelFile, verify: bool) -> Any:
        new, library = ffi().new, self._library
        source = new("struct ethosu_model_source *")
        memory, error = new("struct ethosu_model_memory *"), new("struct ethosu_model_error *")
        loaded = new("struct ethosu_model **")
        source.file, source.file_size = self._copy(file.whole), len(file.whole)
        if file.signature is not None:
            source.method = self._copy(file.signature.encode() + b"\0")
        source.driver, source.skip_verify = self._driver, not verify
        if file.named is not None:
            source.data, source.data_size = self._copy(file.named), len(file.named)
        status = library.ethosu_model_measure(source, memory, error)
        if status == OK:
            memory.object = self._alloc(memory.object_size)
            memory.arena = self._alloc_arena(memory.arena_size)
            ffi().memmove(memory.arena, _ARENA_FILL * memory.arena_size, memory.arena_size)
            status = library.ethosu_model_load(source, memory, loaded, error)
        if status != OK:
            raise InputError(f"{file}: {self._rejection(error)}")
        return loaded[0]

    def _copy(self, data: bytes) -> Any:
        """Copy these contents to CPU memory."""
        memory = self._alloc(len(data))
        ffi().memmove(memory, data, len(data))
        return memory

    def _rejection(self, error: Any) -> str:
        """Return the reason why the runtime cannot load the model."""
        return library.text_of(error)

    def _views(self, function: str, tensors: Sequence[Tensor]) -> list[NDArray[Any]]:
        """Return the memory of each of the model's inputs or outputs."""
        buffers = getattr(self._library, function)(self._model)
        return [
            np.frombuffer(
                ffi().buffer(buffers[index].data, buffers[index].size), tensor.dtype
            ).reshape(tensor.shape)
            for index, tensor in enumerate(tensors)
        ]

    def _fault(self) -> tuple[int, str]:
        """Return errno and message of the driver's last error; 0 and "" if there was none."""
        text = ffi().new("char[256]")
        fault = self._library.ethosu_ext_last_error(self._driver)
        self._library.ethosu_ext_describe(fault, text, len(text))
        number = self._library.ethosu_ext_errno(fault.code)
        return number, ffi().string(text).decode(errors="replace")

    def _reason(self) -> str:
        return self._fault()[1]
