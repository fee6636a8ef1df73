# SPDX-License-Identifier: MIT
"""Models and NPUs: the MicroPython module for Arm Ethos-U.

A buffer is any object with the buffer protocol: bytes, bytearray, array, memoryview, an open file
of a ROM file system, a ulab array. Raw values are what the model computes with, mostly int8; real
values are what they stand for: real = (raw - zero_point) * scale.
"""

from array import array
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, overload

_Buffer = Any
_Numbers = Any  # a buffer or a list or tuple of numbers
_Fill = Callable[[memoryview, tuple[int, ...], str], object]
_Post = Callable[[Model, Sequence[Any], list[array[Any]]], Any]

__version__: str
"""Version of the module: "0.2.0"."""

PMU_CYCLE: int
"""Clock cycles."""
PMU_NPU_IDLE: int
"""Cycles in which the NPU was idle."""
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
    """Zeroed memory for base pointers or an arena: aligned, on cache lines of its own.

    `size`: bytes. ValueError: it is negative. MemoryError: the heap has no such block.
    """

def npus() -> list[str]:
    """Configs of the board's NPUs, such as "ethos-u55-128"; the position is the NPU's index."""

def reserve(*, timeout_ms: int = -1, npu: int | str | None = None, powered: bool = False) -> NPU:
    """Reserve an NPU, by index or config; wait until it is free.

    `timeout_ms`: -1 waits without end, 0 does not wait (OSError EBUSY), else OSError ETIMEDOUT.
    `powered` keeps clock and power on until release(): inferences start faster, energy is lost.
    OSError ENODEV: there is no such NPU.
    """

class Model:
    """A loaded model, which `ethosu compile` made."""

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
    """All tensors of the graph; each access makes a new tuple."""
    methods: tuple[str, ...]
    """Of a program: names of the methods that can be loaded."""
    constants: dict[str, Any]
    """Of a program: what its constant methods return, by name: a number, a str, a memoryview of a
    tensor, or a tuple of several."""
    len: int
    """Bytes of the file."""
    ram: int
    """Bytes of RAM: arena and plan."""
    labels: list[str] | None
    """Labels of the first output that has some in the TFLite metadata, or what the program's
    constant get_labels says; None: there are none. Read anew at each use."""
    npu: int
    """Index of the NPU that it runs on."""
    postprocess: _Post | None
    """Called by predict() with the model, inputs and outputs; may be assigned."""

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
        method: str | None = None,
        data: str | _Buffer | None = None,
    ) -> None:
        """Load a model from a path or a buffer: a .tflite, or an ExecuTorch program (.pte, .bpte).

        Arrays of a program have the shape in which its bytes lie: NHWC for channels_last. Integer
        ends have the scales that its first and last call tell, or its methods input0_scale and so
        on, else 0.0. `method`: of a program, "forward" when not given. `data`: a path or buffer of
        the data file (.ptd) that the program names; when not given, "x.ptd" next to the path
        "x.pte" or "x.bpte" is it, if it is there.

        `npu`: an index, a config, or a handle of reserve(); None: the NPU that the model was
        compiled for. `arena`: memory to use instead of a new block of the heap. The model keeps the
        memory of arena and source: a bytearray that is resized later moves to other memory.
        `verify=False`: the command stream is not checked. `timeout_ms`: of each inference, -1 for
        none. `real`: predict() returns real values. ValueError: the model is malformed, or can't
        run here. OSError EFAULT: the arena is in memory that the NPU can't reach. OSError EBUSY: a
        model that shares the arena runs, or is being loaded, or a running payload uses it.
        """

    def __enter__(self) -> Self:
        """Return the object itself, for `with`."""

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

        An input is a buffer of raw values (typecode of the tensor, or a bytearray), or real
        values (an array of floats, a list), or a callable(memory, shape, dtype) that writes the
        raw values itself. With a callback or postprocess, the result of
        callback(model, inputs, outputs). OSError: EBUSY, ETIMEDOUT, EIO, ECANCELED.
        """

    def run_into(
        self,
        inputs: Sequence[_Numbers | _Fill] | None = None,
        outputs: Sequence[_Buffer] | None = None,
    ) -> None:
        """Run once without allocating. None: the tensors stay in the arena, nothing is copied."""

    @overload
    async def run(
        self, inputs: Sequence[_Numbers | _Fill] | None = None, outputs: None = None
    ) -> list[array[Any]]:
        """Run once while other tasks run; models wait for their NPU in a queue.

        Returns a list of new arrays. Cancelling the task stops the NPU.
        """

    @overload
    async def run(
        self, inputs: Sequence[_Numbers | _Fill] | None, outputs: Sequence[_Buffer]
    ) -> None:
        """Run once into buffers that are there."""

    def cancel(self) -> None:
        """Stop the inference under way; its run() raises OSError(ECANCELED)."""

    def reset(self) -> None:
        """Set variables (the state of a streaming model) to their initial values."""

    def method(self, name: str, /) -> Model:
        """Load another method of the same program: a model that shares its file.

        They share the arena, too, if neither keeps data there between inferences, both run on one
        NPU, and it is large enough: then a run of one overwrites inputs and outputs of the other.
        ValueError: there is no such method.
        """

    def selftest(self, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
        """Compare with expected outputs: of `ethosu compile --selftest`, or of a .bpte's cases.

        Integers must be equal, floats of a .bpte may differ by atol + rtol * expected, as in
        ExecuTorch. True: all are right. RuntimeError names the first output that differs.
        ValueError: the model has no self-test. The model's variables are reset before and after.
        """

    @overload
    def metadata(self) -> dict[str, Any]:
        """What TFLite metadata says: name, description, inputs, outputs; {}: there is none.

        Of each input: name, description, mean and std (tuples), as (pixel - mean) / std. Of each
        output: name, description, labels, score_threshold, score_calibration. What the file does
        not say is left out. ValueError: it is damaged.
        """

    @overload
    def metadata(self, name: str, /) -> bytes | None:
        """Bytes that a tool stored in the file under this name; None: there are none."""

    def info(self) -> dict[str, Any]:
        """Config, version of Vela, arena, place of the weights, sizes, share of the NPU.

        `estimate_us` is the NPU's time of an inference as `ethosu compile --board` estimated it for
        that board at its usual clock, or None.

        Of a program also: planned_size (bytes), quantized_values (that the CPU quantises or
        dequantises in each run), cpu_operators (calls by name), nchw (an input is an image that the
        NPU has to transpose), notes (sentences that say what helps), method.
        """

    def deinit(self) -> None:
        """Free file and arena; views of tensors stay valid. A second call does nothing."""

class Tensor:
    """One tensor of a model."""

    index: int
    """Number of the tensor in the graph."""
    name: str
    """Name of the tensor in the file."""
    shape: tuple[int, ...]
    """Dimensions."""
    order: tuple[int, ...]
    """Dimensions of the exporter's sizes, as `shape` has them: (0, 2, 3, 1) is N, H, W, C."""
    dtype: str
    """Typecode of `array`."""
    scale: float | tuple[float, ...]
    """Quantisation step; a tuple when each channel has its own."""
    zero_point: int | tuple[int, ...]
    """The raw value of 0; a tuple when each channel has its own."""
    axis: int | None
    """Dimension of the channels; None: one scale for the whole tensor."""
    data: memoryview | None
    """Memory of the tensor in the arena; None for a handle of a variable."""

    def quantize(self, numbers: _Numbers, into: _Buffer | None = None) -> _Buffer | None:
        """Write real numbers as raw values to the tensor, or to your buffer `into`.

        Rounded to nearest, halves away from zero; saturated. Returns `into`.
        """

    def dequantize(self, raw: _Numbers | None = None, into: _Buffer | None = None) -> _Buffer:
        """Real values of the tensor, or of your values `raw`; in a new array("f"), or in `into`."""

class NPU:
    """A reserved NPU; it runs payloads, and models that were loaded with `npu=` this handle."""

    npu: int
    """Index in npus()."""

    def __enter__(self) -> Self:
        """Return the object itself, for `with`."""

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
        """Run a payload ("COP1" or "COP2") with up to eight base pointers, and wait for it.

        `bases`: a buffer or None for each region of the command stream. What the NPU writes must be
        on cache lines of its own, as buffer() is. ValueError: payload or bases are wrong. OSError
        EFAULT: the NPU can't reach a buffer; ETIMEDOUT, EIO: the NPU was stopped.
        """

    def invoke_async(
        self,
        payload: _Buffer,
        bases: Sequence[_Buffer | None],
        *,
        timeout_ms: int = 10000,
        callback: Callable[[NPU], object] | None = None,
    ) -> None:
        """Start a payload; then call wait(). The scheduler calls callback(npu) at its end."""

    def wait(self, timeout_ms: int = -1) -> bool:
        """Wait for what was started; True when it has ended.

        -1: wait for the rest of its time-out. 0: do not wait, return False while it runs. A late
        one is stopped: OSError ETIMEDOUT.
        """

    def done(self) -> bool:
        """True when wait() would not block: the inference has ended, or its time is up."""

    def cancel(self) -> None:
        """Stop the inference: its wait() or run() raises OSError(ECANCELED)."""

    async def run(
        self, payload: _Buffer, bases: Sequence[_Buffer | None], timeout_ms: int = 10000
    ) -> None:
        """Run a payload while other tasks run; cancelling the task stops the NPU."""

    def pmu(self, *events: int) -> PMU:
        """Counters of these events (PMU_... or an event's number), to be used in a `with`."""

    def info(self) -> dict[str, Any]:
        """Config, MACs, versions of architecture and driver, number of time-outs and resets."""

    def release(self) -> None:
        """Stop the inference and free the NPU. A second call does nothing."""

class PMU:
    """Counters of the NPU: they count inside a `with`, and keep their values after it."""

    cycles: int
    """Clock cycles."""

    def __enter__(self) -> Self:
        """Reset the counters and start them."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the counters."""

    def __getitem__(self, index: int, /) -> int:
        """Count of an event, in the order given."""

    def __len__(self) -> int:
        """Number of events."""
