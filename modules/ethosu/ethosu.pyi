# SPDX-License-Identifier: MIT
"""Models and NPUs: MicroPython's way to an Arm Ethos-U.

A buffer is any object with the buffer protocol: bytes, bytearray, array, memoryview, an open file
of a ROM file system, a ulab array. Raw values are what the model computes with, mostly int8; real
values are what they stand for: real = (raw - zero_point) * scale.
"""

from array import array
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

_Buffer = Any
_Numbers = Any  # a buffer or a list or tuple of numbers
_Fill = Callable[[memoryview, tuple[int, ...], str], object]
_Post = Callable[[Model, Sequence[Any], list[array[Any]]], Any]

__version__: str
"""Version of the module: "0.2.0"."""

PMU_CYCLE: int
"""Clock cycles."""
PMU_NPU_IDLE: int
"""Cycles in which the NPU did nothing."""
PMU_NPU_ACTIVE: int
"""Cycles in which the NPU worked."""
PMU_MAC_ACTIVE: int
"""Cycles in which the MAC unit worked."""
PMU_MAC_STALLED_BY_ACC: int
"""Cycles in which the MAC unit waited for the accumulators."""
PMU_MAC_STALLED_BY_IB: int
"""Cycles in which the MAC unit waited for the input buffer."""
PMU_AO_ACTIVE: int
"""Cycles in which the output unit worked."""
PMU_AO_STALLED_BY_OB: int
"""Cycles in which the output unit waited for the output buffer."""
PMU_WD_ACTIVE: int
"""Cycles in which the weight decoder worked."""
PMU_WD_STALLED: int
"""Cycles in which the weight decoder waited."""
PMU_AXI0_RD_DATA_BEAT_RECEIVED: int
"""Beats read through port 0: mostly tensors."""
PMU_AXI0_WR_DATA_BEAT_WRITTEN: int
"""Beats written through port 0."""
PMU_AXI1_RD_DATA_BEAT_RECEIVED: int
"""Beats read through port 1: mostly weights and commands."""

def buffer(size: int, /) -> memoryview:
    """Zeroed memory for base pointers or an arena: aligned, on cache lines of its own."""

def npus() -> list[str]:
    """Configs of the board's NPUs, such as "ethos-u55-128"; a position here is an index."""

def reserve(*, timeout_ms: int = -1, npu: int | str | None = None, powered: bool = False) -> NPU:
    """Take an NPU for yourself, by index or config; waits until it is free.

    `timeout_ms`: -1 waits for ever, 0 not at all (OSError EBUSY), else ETIMEDOUT. `powered` keeps
    clock and power on until release(), which saves time between inferences and costs energy.
    """

class Model:
    """A model that `ethosu compile` made, loaded and ready."""

    input_shape: tuple[tuple[int, ...], ...]
    """One entry per input, as in all attributes of this kind."""
    input_dtype: tuple[str, ...]
    """Typecodes of `array`: "b" is int8."""
    input_scale: tuple[float, ...]
    """Quantisation step; 0.0: not quantised."""
    input_zero_point: tuple[int, ...]
    """The raw value of 0."""
    output_shape: tuple[tuple[int, ...], ...]
    """One entry per output."""
    output_dtype: tuple[str, ...]
    """Typecodes of `array`."""
    output_scale: tuple[float, ...]
    """Quantisation step; 0.0: not quantised."""
    output_zero_point: tuple[int, ...]
    """The raw value of 0."""
    inputs: tuple[Tensor, ...]
    """The input tensors, made once; `inputs[0].data` is the memory that the NPU reads."""
    outputs: tuple[Tensor, ...]
    """The output tensors, made once."""
    tensors: tuple[Tensor, ...]
    """All tensors of the graph, made anew at each look."""
    len: int
    """Bytes of the file."""
    ram: int
    """Bytes of RAM: arena and plan."""
    npu: int
    """Index of the NPU that it runs on."""
    postprocess: _Post | None
    """What predict() hands its outputs to; may be assigned."""

    def __init__(
        self,
        source: str | _Buffer,
        *,
        npu: int | str | NPU | None = None,
        arena: _Buffer | None = None,
        verify: bool = True,
        timeout_ms: int = 10000,
        postprocess: _Post | None = None,
        real: bool = False,
    ) -> None:
        """Load a model from a path or a buffer.

        `npu`: an index, a config, or a handle of reserve() to run on; None: the one that the model
        was compiled for. `arena`: memory to use instead of the heap's; like the model's buffer it
        must not be resized. `verify=False` trusts the command stream. `timeout_ms` of each
        inference, -1 for none. `real`: predict() answers real values.
        """

    def __enter__(self) -> Self:
        """Use it with `with`."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """deinit()"""

    def predict(
        self,
        inputs: Sequence[_Numbers | _Fill],
        callback: _Post | None = None,
        *,
        real: bool | None = None,
    ) -> Any:
        """Run once; returns a list with a new array for each output.

        An input is a buffer of raw values (typecode of the tensor, or plain bytes), or real
        values (an array of floats, a list), or a callable(memory, shape, dtype) that writes the
        raw values itself. With a callback or postprocess: what (model, inputs, outputs) gives.
        """

    def run_into(
        self,
        inputs: Sequence[_Numbers | _Fill] | None = None,
        outputs: Sequence[_Buffer] | None = None,
    ) -> None:
        """Run once without allocating; None leaves the tensors in the arena, where they are."""

    async def run(
        self,
        inputs: Sequence[_Numbers | _Fill] | None = None,
        outputs: Sequence[_Buffer] | None = None,
    ) -> list[array[Any]] | None:
        """Run once while other tasks work; models queue for their NPU in the order of asking.

        Without `outputs`: a list of new arrays. Cancelling the task stops the NPU.
        """

    def cancel(self) -> None:
        """Stop a run() that is under way, or that a lost event loop has left behind."""

    def reset(self) -> None:
        """Put variables (the state of a streaming model) back to their first values."""

    def selftest(self) -> bool:
        """Compare with the golden outputs of `ethosu compile --selftest`.

        RuntimeError names the first output that differs, ValueError: there is no self-test. The
        model's variables are reset before and after.
        """

    def metadata(self, name: str, /) -> bytes | None:
        """Data that a tool left in the file under this name."""

    def info(self) -> dict[str, Any]:
        """Config, Vela's version, arena, where the weights are, sizes, share of the NPU."""

    def deinit(self) -> None:
        """Let go of file and arena; views of tensors stay valid."""

class Tensor:
    """One tensor of a model."""

    index: int
    """Its number in the graph."""
    name: str
    """Its name in the file."""
    shape: tuple[int, ...]
    """Its dimensions."""
    dtype: str
    """Typecode of `array`."""
    scale: float | tuple[float, ...]
    """Quantisation step; a tuple when each channel has its own."""
    zero_point: int | tuple[int, ...]
    """The raw value of 0; a tuple when each channel has its own."""
    axis: int | None
    """The dimension that the channels run along."""
    data: memoryview | None
    """Its memory in the arena; None for a handle of a variable."""

    def quantize(self, numbers: _Numbers, into: _Buffer | None = None) -> _Buffer | None:
        """Write real numbers as raw values to the tensor, or into a buffer of yours.

        Rounded to nearest, halves away from zero; saturated.
        """

    def dequantize(self, raw: _Numbers | None = None, into: _Buffer | None = None) -> _Buffer:
        """Real values of the tensor, or of raw values of yours; in a new array("f"), or into."""

class NPU:
    """A reserved NPU, driven payload by payload."""

    npu: int
    """Its index in npus()."""

    def __enter__(self) -> Self:
        """Use it with `with`."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """release()"""

    def invoke(
        self, payload: _Buffer, bases: Sequence[_Buffer | None], *, timeout_ms: int = 10000
    ) -> None:
        """Run a payload ("COP1" or "COP2") with up to eight base pointers, and wait for it."""

    def invoke_async(
        self,
        payload: _Buffer,
        bases: Sequence[_Buffer | None],
        *,
        timeout_ms: int = 10000,
        callback: Callable[[NPU], object] | None = None,
    ) -> None:
        """Start a payload; wait() ends it. The scheduler calls callback(npu) when it is done."""

    def wait(self, timeout_ms: int = -1) -> bool:
        """End what was started; True when it has ended, False when it runs on (0 only looks).

        -1: as long as it may take by its start. Late: the NPU is stopped, OSError ETIMEDOUT.
        """

    def done(self) -> bool:
        """Has the NPU nothing to do, so that wait() would not block?"""

    def cancel(self) -> None:
        """Stop what runs, so that its wait() or run() raises OSError(ECANCELED); stays reserved."""

    async def run(
        self, payload: _Buffer, bases: Sequence[_Buffer | None], timeout_ms: int = 10000
    ) -> None:
        """Run a payload while other tasks work; cancelling the task stops the NPU."""

    def pmu(self, *events: int) -> PMU:
        """Counters of these events (PMU_... or any event's number), to be used with `with`."""

    def info(self) -> dict[str, Any]:
        """Config, MACs, versions of architecture and driver, time-outs and resets so far."""

    def release(self) -> None:
        """Give the NPU back; what runs is stopped. Twice does no harm."""

class PMU:
    """The NPU's counters: they count inside `with`, and keep their values after it."""

    cycles: int
    """Clock cycles."""

    def __enter__(self) -> Self:
        """Begin at zero."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop counting."""

    def __getitem__(self, index: int, /) -> int:
        """Count of an event, in the order given."""

    def __len__(self) -> int:
        """Number of events."""
