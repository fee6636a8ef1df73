# SPDX-License-Identifier: MIT
"""Models and NPUs: the MicroPython module for Arm Ethos-U.

A buffer is any object with the buffer protocol: bytes, bytearray, array, memoryview, an open file
of a ROM file system, a ulab array. Raw values are the numbers that the model computes with, mostly
int8. They represent real values: real = (raw - zero_point) * scale.
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
"""Cycles in which the NPU was active."""
PMU_MAC_ACTIVE: int
"""Cycles in which the MAC unit was active."""
PMU_MAC_STALLED_BY_ACC: int
"""Cycles in which the MAC unit waited for the accumulators."""
PMU_MAC_STALLED_BY_IB: int
"""Cycles in which the MAC unit waited for the input buffer."""
PMU_AO_ACTIVE: int
"""Cycles in which the output unit was active."""
PMU_AO_STALLED_BY_OB: int
"""Cycles in which the output unit waited for the output buffer."""
PMU_WD_ACTIVE: int
"""Cycles in which the weight decoder was active."""
PMU_WD_STALLED: int
"""Cycles in which the weight decoder waited."""
PMU_AXI0_RD_DATA_BEAT_RECEIVED: int
"""Beats read through port 0: mostly tensors."""
PMU_AXI0_WR_DATA_BEAT_WRITTEN: int
"""Beats written through port 0."""
PMU_AXI1_RD_DATA_BEAT_RECEIVED: int
"""Beats read through port 1: mostly weights and commands."""

def buffer(size: int, /) -> memoryview:
    """Return zeroed memory for base pointers or an arena, which shares no cache line.

    `size` is in bytes. Raises ValueError if it is negative, and MemoryError if the heap has no
    free block of this size.
    """

def npus() -> list[str]:
    """Return the configs of the board's NPUs, such as "ethos-u55-128", in the order of indices."""

def reserve(*, timeout_ms: int = -1, npu: int | str | None = None, powered: bool = False) -> NPU:
    """Reserve an NPU, by index or config (None: the first); waits until it is free.

    `model.npu` is the index of a model's NPU. `timeout_ms`: -1 waits indefinitely, 0 does not wait
    (OSError EBUSY); other values raise OSError ETIMEDOUT when they expire. `powered` keeps clock
    and power on until release(), so that inferences start faster but use more energy. Raises
    OSError ENODEV if the NPU does not exist.
    """

class Model:
    """A loaded model: a .tflite file compiled by `ethosu compile`, or an ExecuTorch program."""

    input_shape: tuple[tuple[int, ...], ...]
    """Shapes; this and the following tuples have one entry per input."""
    input_dtype: tuple[str, ...]
    """Typecodes of `array`: "b" is int8."""
    input_scale: tuple[float, ...]
    """Quantisation steps; 0.0 if not quantised."""
    input_zero_point: tuple[int, ...]
    """The raw values that represent 0."""
    output_shape: tuple[tuple[int, ...], ...]
    """Shapes; this and the following tuples have one entry per output."""
    output_dtype: tuple[str, ...]
    """Typecodes of `array`."""
    output_scale: tuple[float, ...]
    """Quantisation steps; 0.0 if not quantised."""
    output_zero_point: tuple[int, ...]
    """The raw values that represent 0."""
    inputs: tuple[Tensor, ...]
    """The input tensors; `inputs[0].data` is the memory that the NPU reads."""
    outputs: tuple[Tensor, ...]
    """The output tensors."""
    tensors: tuple[Tensor, ...]
    """All tensors of the graph; each access creates a new tuple."""
    methods: tuple[str, ...]
    """Programs only: names of the methods that can be loaded."""
    signatures: tuple[str, ...]
    """.tflite files only: names of the signatures that can be loaded."""
    constants: dict[str, Any]
    """Programs only: results of the constant methods, by name. A result is a number, a str, a
    memoryview of a tensor, or a tuple of these."""
    len: int
    """Size of the file in bytes."""
    ram: int
    """RAM in bytes, for arena and plan."""
    labels: list[str] | None
    """Labels of the first output that has labels in the TFLite metadata, or the result of the
    program's constant method get_labels; None if there are no labels. Read from the file at each
    access."""
    npu: int
    """Index of the NPU that runs the model."""
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
        signature: str | None = None,
    ) -> None:
        """Load a model from a path or a buffer: a .tflite, or an ExecuTorch program (.pte, .bpte).

        Arrays of a program have the shape of their memory layout: NHWC for channels_last. The
        scales of integer inputs and outputs come from the program's first and last call, or from
        its methods input0_scale and so on; otherwise they are 0.0. `method` selects the method of a
        program (default: "forward"). `data` is the path or a buffer of the program's data file
        (.ptd); by default "x.ptd" is used, if it exists, next to the path "x.pte" or "x.bpte".
        `signature` selects a signature of a .tflite (default: its first subgraph).

        `npu` is an index, a config, or a handle from reserve(); None selects the NPU that the model
        was compiled for. `arena` is memory to use instead of a new block of the heap. The model
        keeps the memory of arena and source: a bytearray that is resized later moves to other
        memory. `verify=False` does not verify the command stream. `timeout_ms` limits each
        inference: -1 is no limit, 0 counts as 1. With `real`, predict() returns real values.

        Raises ValueError if the model is malformed or can't run here, OSError EFAULT if the NPU
        cannot access the arena, and OSError EBUSY if a model that shares the arena is running or
        being loaded, or a running payload uses the arena.
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

        An input is a buffer of raw values (with the tensor's typecode, or a bytearray), real values
        (an array of floats, a list), or a callable(memory, shape, dtype) that writes the raw values
        itself. With a callback or postprocess, predict() returns the result of
        callback(model, inputs, outputs). Raises OSError EBUSY, ETIMEDOUT, EIO or ECANCELED.
        """

    def run_into(
        self,
        inputs: Sequence[_Numbers | _Fill] | None = None,
        outputs: Sequence[_Buffer] | None = None,
    ) -> None:
        """Run once without allocating. With None, tensors stay in the arena and are not copied."""

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
        """Run once into existing buffers."""

    def cancel(self) -> None:
        """Stop the running inference; its run() raises OSError(ECANCELED)."""

    def reset(self) -> None:
        """Set variables (the state of a streaming model) to their initial values."""

    def method(self, name: str, /) -> Model:
        """Load another method or signature of the same file, as a model that shares the file.

        Both models also share the arena if neither keeps data there between inferences, they use
        the same NPU, and the arena is large enough. Running one then overwrites the inputs and
        outputs of the other. Each model has its own variables. Raises ValueError if the method
        does not exist.
        """

    def selftest(self, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
        """Compare outputs with those stored by `ethosu compile --selftest` or in a .bpte.

        Integers must be equal; floats of a .bpte may differ by atol + rtol * expected, as in
        ExecuTorch. Returns True if all outputs match. Raises RuntimeError, which names the first
        mismatch, or ValueError if the model has no self-test. Resets the model's variables before
        and after the test.
        """

    @overload
    def metadata(self) -> dict[str, Any]:
        """Return the TFLite metadata: name, description, inputs, outputs; {} if it has none.

        Each input has name, description, mean and std (tuples), for (pixel - mean) / std. Each
        output has name, description, labels, score_threshold, score_calibration. Keys that the file
        does not define are omitted. Raises ValueError if the metadata is damaged.
        """

    @overload
    def metadata(self, name: str, /) -> bytes | None:
        """Return the metadata entry of this name, or None if the file has no such entry."""

    def info(self) -> dict[str, Any]:
        """Return config, Vela version, arena, location of the weights, sizes, share of the NPU.

        `estimate_us` is the NPU time of an inference that `ethosu compile --board` estimated for
        the board at its default clock, or None.

        Programs also have planned_size (bytes), quantized_values (number of values that the CPU
        quantises or dequantises in each run), cpu_operators (calls by name), nchw (whether an input
        is an image that the NPU has to transpose), notes (advice in sentences), and method.
        """

    def deinit(self) -> None:
        """Release file and arena; views of tensors stay valid. A second call does nothing."""

class Tensor:
    """One tensor of a model."""

    index: int
    """Number of the tensor in the graph."""
    name: str
    """Name of the tensor in the file."""
    shape: tuple[int, ...]
    """Dimensions."""
    order: tuple[int, ...]
    """The exporter's dimensions in the order of `shape`: (0, 2, 3, 1) is N, H, W, C."""
    dtype: str
    """Typecode of `array`."""
    scale: float | tuple[float, ...]
    """Quantisation step; a tuple if quantised per channel."""
    zero_point: int | tuple[int, ...]
    """The raw value that represents 0; a tuple if quantised per channel."""
    axis: int | None
    """Dimension of the channels; None if the tensor has a single scale."""
    data: memoryview | None
    """Memory of the tensor in the arena; None for a handle of a variable."""

    def quantize(self, numbers: _Numbers, into: _Buffer | None = None) -> _Buffer | None:
        """Convert real numbers to raw values, in the tensor or in your buffer `into`.

        Rounds to nearest, halves away from zero, and saturates; NaN becomes 0.0 unless the tensor
        is of floats. Returns `into`.
        """

    def dequantize(self, raw: _Numbers | None = None, into: _Buffer | None = None) -> _Buffer:
        """Convert the tensor, or your values `raw`, to reals in a new array("f") or `into`."""

class NPU:
    """A reserved NPU; runs payloads, and models that were loaded with this handle as `npu`."""

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

        `bases` has a buffer or None for each region of the command stream. Buffers that the NPU
        writes must not share cache lines with other data; buffer() returns suitable ones. Raises
        ValueError if payload or bases are invalid, OSError EFAULT if the NPU cannot access a
        buffer, and ETIMEDOUT or EIO if the NPU was stopped. `timeout_ms`: as for Model().
        """

    def invoke_async(
        self,
        payload: _Buffer,
        bases: Sequence[_Buffer | None],
        *,
        timeout_ms: int = 10000,
        callback: Callable[[NPU], object] | None = None,
    ) -> None:
        """Start a payload; call wait() afterwards. The scheduler calls callback(npu) at its end."""

    def wait(self, timeout_ms: int = -1) -> bool:
        """Wait for the payload or inference that was started; returns True once it has ended.

        -1 waits until its time-out; 0 does not wait, and returns False while it is running. At the
        time-out the NPU is stopped, and OSError ETIMEDOUT is raised.
        """

    def done(self) -> bool:
        """Whether wait() would return at once, because the inference has ended or timed out."""

    def cancel(self) -> None:
        """Stop the inference; its wait() or run() raises OSError(ECANCELED)."""

    async def run(
        self, payload: _Buffer, bases: Sequence[_Buffer | None], timeout_ms: int = 10000
    ) -> None:
        """Run a payload while other tasks run; cancelling the task stops the NPU."""

    def pmu(self, *events: int) -> PMU:
        """Return counters of these events (PMU_... or event numbers), for use in a `with`."""

    def info(self) -> dict[str, Any]:
        """Return config, MACs, architecture and driver versions, number of time-outs and resets."""

    def release(self) -> None:
        """Stop the inference and free the NPU. A second call does nothing."""

class PMU:
    """Counters of the NPU, which count inside a `with` and keep their values afterwards."""

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
