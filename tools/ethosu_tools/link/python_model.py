# SPDX-License-Identifier: MIT
"""A compiled model for Python programs: on an NPU under Linux, the simulator, or a board.

The interface is MicroPython's `ethosu.Model` (modules/ethosu/ethosu.pyi), with NumPy arrays:

    from ethosu_tools import Model

    with Model("kws_vela.tflite", on="/dev/ttyACM0") as model:
        (scores,) = model.predict([features])
"""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base import verification
from ..base.closeable import Closeable
from ..base.errors import InputError
from ..model import arrays
from ..model.arrays import Array, advice, is_same_layout, quantise
from ..model.graph import Tensor
from ..sim.native import NativeModel
from ..sim.simulation import Simulation
from .open import native, open_runner

if TYPE_CHECKING:
    from .board import Board

_TIMEOUT_MS = 10_000


class Model(Closeable):
    """A loaded model. Errors are those of errors.py, except time-outs and failures of the NPU.

    Those are OSError with ETIMEDOUT or EIO, as on a board. A model remains usable after errors.
    """

    def __init__(
        self,
        source: str | Path | bytes,
        *,
        on: "str | Board" = "sim",
        timeout_ms: int = _TIMEOUT_MS,
        real: bool = False,
        verify: bool | None = None,
    ) -> None:
        """Load a model from a path or bytes: output of `ethosu compile`, or a program.

        `on`: "sim", the simulator; the place of an add-on; or a board:
        an open one, which stays open, its port, or "qemu". A model on a board has predict(),
        run_into() and reset(); the other methods are for models in this process.
        `timeout_ms`: per inference. `real`: predict() returns real values. `verify`: check the
        command streams before they reach the NPU; None: unless ETHOSU_VERIFY is 0. The Linux driver
        always checks.
        """
        model = source if isinstance(source, bytes) else Path(source)
        self._native: NativeModel | _OnBoard
        if on == "sim":
            self._native = Simulation(model, verify=verify)
        elif isinstance(on, str) and (maker := native(on)):
            self._native = maker(model, on)
        else:
            self._native = _OnBoard(model, on, verify)
        self._native.set_timeout(timeout_ms)
        self._real = real
        self._lock = asyncio.Lock()

    @property
    def npu(self) -> str:
        """Configuration of the NPU, such as "ethos-u65-256"."""
        return self._native.npu

    @property
    def inputs(self) -> Sequence[Tensor]:
        """The input tensors: shape, dtype, scale, zero_point."""
        return self._native.inputs

    @property
    def outputs(self) -> Sequence[Tensor]:
        """The output tensors."""
        return self._native.outputs

    def predict(self, inputs: Sequence[ArrayLike], *, real: bool | None = None) -> list[Array]:
        """Run once; returns a new array for each output.

        An input is an array of raw values of the tensor's dtype, or of real values (floats), which
        are quantised. It has the tensor's shape, may lack axes of size 1, or has a single axis.
        """
        self.run_into(inputs)
        return self._results(real)

    def run_into(
        self,
        inputs: Sequence[ArrayLike] | None = None,
        outputs: Sequence[NDArray[Any]] | None = None,
    ) -> None:
        """Run once; None means that a tensor is used in place, see `data()`."""
        self._write(inputs)
        self._native.invoke()
        self._fetch(outputs)

    async def run(
        self,
        inputs: Sequence[ArrayLike] | None = None,
        outputs: Sequence[NDArray[Any]] | None = None,
    ) -> list[Array] | None:
        """Run once while other tasks run; calls of one model are serialised.

        Without `outputs`, returns a list of new arrays. A cancelled task ends when the NPU's run
        has ended, because Linux cannot stop it.
        """
        async with self._lock:
            self._write(inputs)
            pending = self._native.start()
            try:
                while pending:
                    await self._ended()
                    pending = self._native.resume()
            except BaseException:
                self.cancel()
                raise
            self._fetch(outputs)
            return self._results(None) if outputs is None else None

    def cancel(self) -> None:
        """Abandon the current inference; on Linux this waits until the NPU has finished it."""
        self._native.cancel()

    def reset(self) -> None:
        """Set variables (the state of a streaming model) to their initial values."""
        self._native.reset()

    def data(self, tensor: Tensor) -> NDArray[Any]:
        """Return the memory of an input or output as an array, valid until the model is closed.

        On Linux this memory is uncached, so copy it once instead of working in it.
        """
        return self._native.view(tensor)

    def close(self) -> None:
        """Release the NPU and all memory; may be called repeatedly."""
        self._native.close()

    def _write(self, inputs: Sequence[ArrayLike] | None) -> None:
        if inputs is not None:
            if len(inputs) != len(self.inputs):
                raise InputError(f"the model has {len(self.inputs)} inputs, found {len(inputs)}")
            self._native.write(list(map(_raw, range(len(inputs)), self.inputs, inputs)))

    def _fetch(self, outputs: Sequence[NDArray[Any]] | None) -> None:
        if outputs is not None:
            if len(outputs) != len(self.outputs):
                raise InputError(f"the model has {len(self.outputs)} outputs, found {len(outputs)}")
            for index, (target, value) in enumerate(zip(outputs, self._native.read(), strict=True)):
                if not is_same_layout(target.shape, value.shape):
                    raise InputError(
                        f"output {index} has shape {list(value.shape)}, found an array of "
                        f"{list(target.shape)}"
                    )
                target[...] = value.reshape(target.shape)

    def _results(self, real: bool | None) -> list[Array]:
        raw = self._native.read()
        if not (self._real if real is None else real):
            return raw
        return [
            cast(Array, (array.astype(np.float32) - tensor.zero_point) * tensor.scale)
            if tensor.scale
            else array
            for array, tensor in zip(raw, self.outputs, strict=True)
        ]

    async def _ended(self) -> None:
        """Sleep until the NPU's run has ended or timed out."""
        file = self._native.fence()
        if file is None:  # the simulator finished before it returned
            await asyncio.sleep(0)
            return
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(file, ended.set)
        try:
            await asyncio.wait_for(ended.wait(), self._native.timeout_ms / 1000)
        except TimeoutError:
            self._native.expire()
        finally:
            loop.remove_reader(file)
            os.close(file)


class _OnBoard(Closeable):
    """A model on a board, as far as `Model` needs it."""

    def __init__(self, model: Path | bytes, where: "str | Board", verify: bool | None) -> None:
        if isinstance(model, bytes):
            raise InputError("a model on a board must be given as a path, found bytes")
        with verification.applied(verify):
            self._runner = open_runner(model, where)
        self.npu = self._runner.npu
        self.inputs, self.outputs = self._runner.inputs, self._runner.outputs
        self._inputs: Sequence[Array] | None = None

    def __getattr__(self, name: str) -> Any:
        raise InputError(
            "a model on a board has predict(), run_into() and reset(); run(), data() and cancel() "
            "are for models in this process"
        )

    def close(self) -> None:
        self._runner.close()

    def reset(self) -> None:
        self._runner.reset()

    def set_timeout(self, milliseconds: int) -> None:
        if milliseconds != _TIMEOUT_MS:
            self.close()
            raise InputError(
                f"timeout_ms={milliseconds}: a model on a board has the time-out of its firmware, "
                f"{_TIMEOUT_MS} ms"
            )

    def write(self, inputs: Sequence[Array]) -> None:
        self._inputs = inputs

    def invoke(self) -> None:
        if self._inputs is None:
            raise InputError("a model on a board needs inputs for each run, found none")
        feed = arrays.check({str(i): array for i, array in enumerate(self._inputs)}, self.inputs)
        (self._outputs,) = self._runner.run(feed)

    def read(self) -> list[Array]:
        return self._outputs


def _raw(index: int, tensor: Tensor, given: ArrayLike) -> Array:
    """Convert an input to raw values."""
    array = np.asarray(given)
    if not is_same_layout(array.shape, tensor.shape):
        raise InputError(
            f"input {index} must have shape {list(tensor.shape)}, found {list(array.shape)}"
            f"{advice(array.shape, tensor.shape)}"
        )
    array = quantise(f"input {index}", array, tensor)
    if array.dtype != np.dtype(tensor.dtype):
        raise InputError(f"input {index} must be {tensor.dtype}, found {array.dtype}")
    return array.reshape(tensor.shape)
