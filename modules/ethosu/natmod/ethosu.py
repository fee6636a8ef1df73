# SPDX-License-Identifier: MIT
"""Module `ethosu` as a native .mpy: the board is named at run time, completion is looked for.

The functions that begin with an underscore and are not defined here are those of native.c; the
asyncio face and the self-test are those of the built-in module.
"""
# ruff: noqa: B905, F821, SIM115  (MicroPython's zip; native functions; a view keeps its file open)

import io
import time
from array import array

import machine

# Bytes that hold a checked payload.
_PROGRAM_SIZE = 384
_SPINS_MS = 2

_npus = {}
# What each NPU works with: nobody may take that memory, though he has forgotten the job.
_at_work = {}


def init(address, *, npu=0, secure=True, privileged=True):
    """Use the NPU whose registers are at this address; it is reset. Returns its config."""
    _npus.pop(npu, None)
    _npus[npu] = _open(npu, address, secure | privileged << 1)
    return _npus[npu]


def npus():
    """Configs of the NPUs that init() was called for."""
    return [_npus[index] for index in sorted(_npus)]


def reserve(*, timeout_ms=-1, npu=None):
    """Take an NPU for yourself, by index or config; waits until it is free."""
    index = _index(npu)
    begun = time.ticks_ms()
    while not _reserve(index):
        if timeout_ms >= 0 and time.ticks_diff(time.ticks_ms(), begun) >= timeout_ms:
            raise OSError(16, "the NPU is reserved: release it first")
        machine.idle()
    return NPU(index)


def _index(npu):
    for index, config in _npus.items():
        if npu in (index, config) or npu is None:
            return index
    raise OSError(19, "there is no such NPU: ethosu.init(address) comes first")


def _late(npu, begun, timeout_ms):
    """The time-out when it is over, else None."""
    late = timeout_ms >= 0 and time.ticks_diff(time.ticks_ms(), begun) >= timeout_ms
    return timeout_ms if late and _working(npu) else None


def _wait(npu, begun, timeout_ms):
    """Sleep until the NPU has finished; returns the time-out when that was earlier, else None."""
    while _working(npu):
        late = _late(npu, begun, timeout_ms)
        if late is not None:
            return late
        if time.ticks_diff(time.ticks_ms(), begun) < _SPINS_MS:
            time.sleep_ms(0)
        else:
            machine.idle()


def _check_same(job, begun):
    """A callback that ran during a wait may have ended the job, and begun another."""
    if job is not begun:
        raise OSError(125, "the inference was cancelled")


class _Job(io.IOBase):
    """What select.poll() may look at while an inference runs."""

    _POLL = 3
    _READABLE = 1

    def ioctl(self, request, flags):
        """Readable when the NPU has finished, or its time is up."""
        if request != self._POLL:
            return -1
        busy = _working(self.npu) and _late(self.npu, self._begun, self._timeout_ms) is None
        return 0 if busy else flags & self._READABLE

    def __enter__(self):
        return self


class NPU(_Job):
    """A reserved NPU, driven payload by payload."""

    def __init__(self, npu):
        self.npu = npu
        self._program = bytearray(_PROGRAM_SIZE)
        self._kept = None
        self._begun = 0
        self._timeout_ms = -1
        self._cancelled = False

    def invoke(self, payload, bases, *, timeout_ms=10000):
        """Run a payload with up to eight base pointers, and wait for it."""
        self.invoke_async(payload, bases, timeout_ms=timeout_ms)
        self.wait()

    def invoke_async(self, payload, bases, *, timeout_ms=10000):
        """Start a payload; wait() ends it."""
        if self.npu is None:
            raise OSError(1, "this NPU was released: ethosu.reserve() gives another")
        if _working(self.npu):
            raise OSError(16, "an inference is under way: wait() for it first")
        self.cancel()  # what has ended, and nobody waited for
        self._cancelled = False
        kept = payload, list(bases)
        self._begun = time.ticks_ms()
        self._timeout_ms = timeout_ms
        _invoke(self.npu, self._program, payload, kept[1])
        self._kept = kept
        _at_work[self.npu] = self

    def wait(self):
        """End what was started, in the time given then."""
        if self._cancelled:
            self._cancelled = False
            raise OSError(125, "the inference was cancelled")
        kept = self._kept
        try:
            late = _wait(self.npu, self._begun, self._timeout_ms)
            _check_same(self._kept, kept)
            _finish(self.npu, late)
        except BaseException:
            if self._kept is kept:
                self.cancel()
            self._cancelled = False
            raise
        self._forget()

    def done(self):
        """Has the NPU nothing to do, so that wait() would not block?"""
        return not _working(self.npu)

    def cancel(self):
        """Stop what runs; the NPU stays reserved."""
        self._cancelled |= self._kept is not None
        _cancel(self.npu)
        self._forget()

    def _forget(self):
        _at_work.pop(self.npu, None)
        self._kept = None

    def run(self, payload, bases, timeout_ms=10000):
        """Run a payload while other tasks work; await it."""
        return run_payload(self, payload, bases, timeout_ms)

    def info(self):
        """Config, MACs, versions of architecture and driver, time-outs and resets so far."""
        names = "macs", "arch", "driver", "timeouts", "resets"
        return dict(zip(names, _info(self.npu)), config=_npus[self.npu])

    def release(self):
        """Give the NPU back; what runs is stopped. Twice does no harm."""
        if self.npu is not None:
            self.cancel()
            _release(self.npu)
            self.npu = None

    def __exit__(self, *error):
        self.release()


class Tensor:
    """An input or output of a model."""

    def __init__(self, model, index, data):
        self.index = index
        self.data = data
        self._model = model  # its memory
        self.name, self.shape, self.dtype, self.scale, self.zero_point = _tensor(
            model._object, index
        )

    def quantize(self, numbers):
        """Write real numbers as raw values: rounded to nearest, saturated."""
        lowest, highest = {"b": (-128, 127), "B": (0, 255), "h": (-32768, 32767)}[self.dtype]
        if len(numbers) != len(self.data):
            raise ValueError(f"{len(numbers)} values given, {len(self.data)} expected")
        for position, number in enumerate(numbers):
            steps = number / self.scale
            raw = int(steps + 0.5 if steps >= 0 else steps - 0.5) + self.zero_point
            self.data[position] = min(max(raw, lowest), highest)

    def dequantize(self):
        """Real values of the tensor, in a new array("f")."""
        return array("f", ((raw - self.zero_point) * self.scale for raw in self.data))


def _source(source):
    """Bytes of a model: where a ROM file system has them, or read."""
    if not isinstance(source, str):
        return source
    file = open(source, "rb")
    try:
        return memoryview(file)
    except TypeError:
        with file:
            return file.read()


class Model(_Job):
    """A model that `ethosu compile` made for the NPU alone."""

    def __init__(self, source, *, npu=None, arena=None, verify=True, timeout_ms=10000):
        self._file = _source(source)
        self.npu = _index(npu)
        self._timeout_ms = timeout_ms
        self._begun = 0
        self._job = None
        object_size, arena_size = _measure(self.npu, self._file, verify)
        self._object = bytearray(object_size)
        self._arena = bytearray(arena_size) if arena is None else arena
        _load(self.npu, self._file, verify, self._object, self._arena)
        self.inputs, self.outputs = (
            tuple(Tensor(self, *end) for end in _ends(self._object, self._arena, outputs))
            for outputs in (False, True)
        )

    def predict(self, inputs):
        """Run once on raw values; returns a list with a new array for each output."""
        self.run_into(inputs)
        return self._fetch()

    def run_into(self, inputs=None, outputs=None):
        """Run once; None leaves the tensors in the arena, where they are."""
        ended = self._start(inputs)
        job = self._job
        try:
            while not ended:
                late = _wait(self.npu, self._begun, self._timeout_ms)
                _check_same(self._job, job)
                ended = self._progress(_resume, self.npu, late)
        except BaseException:
            if self._job is job:
                self.cancel()
            raise
        if outputs is not None:
            self._fetch(outputs)

    def run(self, inputs=None, outputs=None):
        """Run once while other tasks work; await it."""
        return run_model(self, inputs, outputs)

    def _start(self, inputs=None, outputs=None):
        if self._job:
            raise OSError(16, "this model runs an inference: wait for it, or cancel() it")
        for tensor, given in _pairs(self.inputs, self.inputs if inputs is None else inputs):
            if given is not tensor:
                _fill(tensor, given)
        if not _reserve(self.npu):
            raise OSError(16, "the NPU is reserved: release it first")
        self._job = [self]  # another one each time
        _at_work[self.npu] = self
        self._begun = time.ticks_ms()
        try:
            return self._progress(_start, self.npu)
        except BaseException:
            self.cancel()
            raise

    def _step(self):
        if not self._job:
            raise OSError(125, "the inference was cancelled")
        late = _late(self.npu, self._begun, self._timeout_ms)
        return self._progress(_resume, self.npu, late)

    def _progress(self, step, *arguments):
        ended = step(self._object, *arguments)
        if ended:
            self._end()
        return ended

    def _end(self):
        self._job = None
        _at_work.pop(self.npu, None)
        _release(self.npu)

    def _fetch(self, outputs=None):
        if outputs is None:
            return [array(tensor.dtype, bytes(tensor.data)) for tensor in self.outputs]
        for tensor, given in _pairs(self.outputs, outputs):
            memoryview(given)[:] = tensor.data

    def cancel(self):
        """Stop an inference that is under way."""
        if self._job:
            _cancel(self.npu)
            _abandon(self._object)
            self._end()

    def reset(self):
        """Put variables (the state of a streaming model) back to their first values."""
        _reset(self._object)

    def metadata(self, name):
        """Data that a tool left in the file under this name."""
        return _metadata(self._object, name)

    def selftest(self):
        """Compare with the golden outputs of `ethosu compile --selftest`."""
        return selftest(self)

    def info(self):
        """Config, sizes, calls."""
        names = "config", "npu_calls", "cpu_steps", "arena_size", "object_size", "copied_bytes"
        return dict(zip(names, _model_info(self._object)))

    def deinit(self):
        """Stop what runs; the memory goes when nobody holds the model."""
        self.cancel()

    def __exit__(self, *error):
        self.deinit()


def _pairs(tensors, given):
    """Each tensor with what the caller has for it."""
    if len(given) != len(tensors):
        raise ValueError(f"{len(given)} buffers given, the model has {len(tensors)}")
    return zip(tensors, given)


def _fill(tensor, given):
    """Raw values to a tensor: an array of its type, or plain bytes."""
    raw = memoryview(given)
    if len(bytes(raw)) != len(bytes(tensor.data)):
        raise ValueError(f"input has {len(raw)} values, {len(tensor.data)} expected")
    tensor.data[:] = array(tensor.dtype, bytes(raw))
