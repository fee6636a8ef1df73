# SPDX-License-Identifier: MIT
"""Module `ethosu` as a native .mpy: the classes of ethosu.pyi, based on the functions of native.c.

Functions that begin with an underscore and are not defined here are in native.c; run() and the
self-test are those of the built-in module, `_ethosu.py`. The program passes the NPU's address at
run time, and the module polls the NPU, because native code cannot connect an interrupt.

Ctrl-C may end this code between any two steps. So an NPU's job and its reservation are stored only
in C. A job's ticket is a list: its start time, its time-out, the objects it uses.
"""
# ruff: noqa: F821, SIM115  (native functions; a view keeps its file open)

import gc
import io
import os
import time

import machine

# A wait polls continuously for this many milliseconds, then once per machine.idle().
_POLL_MS = 2
# Additional bytes of a buffer, so that it does not share cache lines at either end.
_SLACK = 64

# Type of a folder in os.ilistdir().
_FOLDER = 0x4000

_CLOSED = "this model was closed by deinit()"

_npus = {}
# The guard that stops all NPUs at a soft reset; each handle has its own.
_guards = []
# Guards of released handles, for reuse, because creating a guard reads folders.
_spare = []


def _run_until_complete(main_task=None):
    """Ctrl-C abandons an event loop and its tasks: the tasks' jobs end with the loop."""
    try:
        return _until_complete(main_task)
    except Exception:
        raise
    except BaseException:
        for lock in _locks.values():
            _cancel_job(lock)
        core.cur_task = None  # the task there would keep what it has reserved
        raise


def _collect_lost():
    """Free what the program has lost; the guards of its handles release their NPUs."""
    if core:
        _drop_other_loops()
    gc.collect()


try:
    from asyncio import core

    _until_complete = core.run_until_complete
    core.run_until_complete = _run_until_complete
except ImportError:
    pass  # run() raises an error


def _find(board):
    """Index of a board; a folder's name alone selects its first core."""
    for index, row in enumerate(_boards):
        if board in (row[0], row[0].partition("-")[0]):
            return index
    names = ", ".join(row[0] for row in _boards)
    raise ValueError(f"unknown board {board!r}; expected {names}")


def _check_machine(index):
    """Another chip has other registers at these addresses. Its firmware names it."""
    name, machine = _boards[index][0], _boards[index][3]
    found = getattr(sys.implementation, "_machine", sys.platform)
    if machine not in found:
        raise ValueError(
            f"{name} is a board with {machine}, this firmware is for {found!r}; nothing was "
            "accessed, force=True skips this check"
        )


def init(address=None, *, board=None, npu=0, secure=None, privileged=None, force=False):
    """Reset and use the NPU whose registers are at this address. Returns its config.

    A board's name selects address, config and security of its NPU, and the memories that the NPU
    can access, with their addresses. Names are those of the tools, FOLDER-CORE; FOLDER alone is the
    first core. The board remains selected until a call selects another one, which ends all jobs.
    If the firmware is for another chip, ValueError is raised before any access, unless `force`.
    Without a board, the NPU must be able to access all memory at the CPU's addresses and through
    its default ports, and is secure and privileged.
    """
    if board is None and address is None:
        raise TypeError("init() takes an address, or board=NAME")
    index = -1 if board is None else _find(board)
    if index >= 0 and not force:
        _check_machine(index)
    if not _guards:
        _guards.append(_new_guard(True))
        _spare.append(_new_guard(False))
    base = _use(npu, index)
    _npus.pop(npu, None)
    flags = 3 if index < 0 else _boards[index][2]
    for bit, given in ((1, secure), (2, privileged)):
        if given is not None:
            flags = flags | bit if given else flags & ~bit
    config = _open(npu, base if address is None else address, flags)
    if address is None and _boards[index][1] not in (None, config):
        name, expected = _boards[index][:2]
        raise ValueError(f"{name} has {expected}, found {config}: wrong core or board?")
    _npus[npu] = config
    return config


def npus():
    """Configs of the NPUs that init() was called for."""
    return [_npus[index] for index in sorted(_npus)]


def buffer(size):
    """Zeroed memory for base pointers: aligned, not sharing cache lines."""
    if size < 0:
        raise ValueError(f"size is {size}, expected 0 or more")
    return _view(bytearray(size + _SLACK), size)


def reserve(*, timeout_ms=-1, npu=None, powered=False):
    """Reserve an NPU, by index or config; wait until it is free."""
    index = _index(npu)
    handle = NPU()  # comes first: if the handle is lost, its guard releases the NPU
    begun = time.ticks_ms()
    try:
        while not _reserve(handle._guard, index, powered):
            _collect_lost()
            if _reserve(handle._guard, index, powered):
                break
            if timeout_ms >= 0 and time.ticks_diff(time.ticks_ms(), begun) >= timeout_ms:
                raise OSError(16, "the NPU is reserved: release it first")
            machine.idle()
    except BaseException:
        handle.release()
        raise
    return handle


def _listing(folder):
    """A listing read to its end, which its file system no longer needs."""
    try:
        listing = os.ilistdir(folder)
        for _ in listing:
            pass
        return listing
    except OSError:
        return None  # nothing is mounted there


def _new_guard(of_all):
    """An object with a finaliser: formerly a listing of a FAT or littlefs folder."""
    mounted = ["/" + entry[0] for entry in os.ilistdir("/") if entry[1] == _FOLDER]
    for folder in ["/."] + mounted:  # noqa: RUF005  (MicroPython has no * here)
        listing = _listing(folder)
        if hasattr(listing, "__del__"):
            return _guard(listing, of_all)
    raise OSError(95, "nothing would stop the NPU at a soft reset: mount FAT or littlefs first")


def _index(npu):
    for index, config in _npus.items():
        if npu in (index, config) or npu is None:
            return index
    asked = "no NPU yet" if npu is None else f"no NPU {npu!r}"
    raise OSError(19, f"{asked}: call ethosu.init(board=NAME) or ethosu.init(ADDRESS) first")


def _late(npu, ticket):
    """The time-out if it has expired, else None."""
    begun, timeout_ms = ticket[0], ticket[1]
    late = timeout_ms >= 0 and time.ticks_diff(time.ticks_ms(), begun) >= timeout_ms
    return timeout_ms if late and _is_running(npu) else None


def _wait(npu, ticket):
    """Sleep until the NPU has finished; returns the time-out if that expired first, else None."""
    while _is_running(npu):
        late = _late(npu, ticket)
        if late is not None:
            return late
        if time.ticks_diff(time.ticks_ms(), ticket[0]) < _POLL_MS:
            time.sleep_ms(0)
        else:
            machine.idle()


class _Job(io.IOBase):
    """A job that select.poll() can wait for."""

    _POLL = 3
    _READABLE = 1

    def ioctl(self, request, flags):
        """Readable when the NPU has finished, or the time-out has expired."""
        if request != self._POLL:
            return -1
        return 0 if self._is_busy() else flags & self._READABLE

    def _is_busy(self):
        try:
            npu = self.npu
        except OSError:
            return False  # it was released: the next call raises
        ticket = _ticket(npu)
        return ticket is not None and _is_running(npu) and _late(npu, ticket) is None

    def __enter__(self):
        return self


class NPU(_Job):
    """A reserved NPU, which runs payloads."""

    def __init__(self):
        self._guard = _spare.pop() if _spare else _new_guard(False)

    def __getattr__(self, name):
        if name != "npu":
            raise AttributeError(name)
        return _held(self._guard)

    def invoke(self, payload, bases, *, timeout_ms=10000):
        """Run a payload with up to eight base pointers, and wait for it."""
        npu = self.npu
        ticket = [0, timeout_ms, payload, list(bases), self]
        try:
            self._begin(ticket)
            self._end(npu, ticket)
        except BaseException:
            _stop(npu, ticket, False)
            raise

    def invoke_async(self, payload, bases, *, timeout_ms=10000):
        """Start a payload; wait() completes it."""
        self._begin([0, timeout_ms, payload, list(bases), self])

    def _begin(self, ticket):
        ticket[0] = time.ticks_ms()
        _invoke(self, ticket, self._guard, ticket[2], ticket[3])

    def _end(self, npu, ticket):
        late = _wait(npu, ticket) if ticket else None
        _finish(npu, ticket, late)

    def wait(self, timeout_ms=-1):
        """Wait for the started payload: True if it has ended, False if it is still running."""
        npu = self.npu
        if timeout_ms == 0 and _is_running(npu):
            return False
        ticket = _ticket(npu)
        if ticket and timeout_ms > 0:
            ticket[:2] = time.ticks_ms(), timeout_ms
        try:
            self._end(npu, ticket)
        except BaseException:
            _stop(npu, ticket, False)
            raise
        return True

    def done(self):
        """True if wait() would not block: the inference has ended, or its time-out has expired."""
        _held(self._guard)  # raises if it was released
        return not self._is_busy()

    def cancel(self):
        """Stop the inference; the NPU stays reserved."""
        _stop(self.npu, self, True)

    def run(self, payload, bases, timeout_ms=10000):
        """Run a payload while other tasks continue; a coroutine."""
        return run_payload(self, payload, bases, timeout_ms)

    def info(self):
        """Config, MACs, versions of architecture and driver, numbers of time-outs and resets."""
        return _info(self.npu)

    def release(self):
        """Stop the inference and release the NPU. A second call has no effect."""
        _release(self._guard)  # comes first: Ctrl-C comes at jumps only
        guard, self._guard = self._guard, False
        if guard:
            _spare.append(guard)

    def __exit__(self, kind, error, trace):  # with *error, a call would allocate a tuple first
        self.release()


# Fields that _tensor() returns.
_FACTS = ("name", "shape", "dtype", "scale", "zero_point", "axis", "index")


class Tensor:
    """An input or output of a model."""

    def __init__(self, model, index, data):
        self._index = index
        self.data = data
        self._model = model  # the model's memory holds the tensor

    def __getattr__(self, name):
        facts = _tensor(self._model._memory, self._index)  # raises if the model was closed
        if name in _FACTS:
            return facts[_FACTS.index(name)]
        raise AttributeError(name)

    def quantize(self, numbers, into=None):
        """Write real numbers as raw values to the tensor, or to the given buffer."""
        _quantize(self._model._memory, self._index, numbers, self.data if into is None else into)
        return into

    def dequantize(self, raw=None, into=None):
        """Real values of the tensor or of given raw values, in a new array("f") or `into`."""
        return _dequantize(
            self._model._memory, self._index, self.data if raw is None else raw, into
        )


def _check_stack():
    """Calling it raises RuntimeError if little of the stack is left."""


def _source(source):
    """Bytes of a model, and whether they were copied; files in a ROM file system are not."""
    if not isinstance(source, str):
        return source, False
    try:
        file = open(source, "rb")
    except OSError as error:
        raise OSError(error.errno, f"'{source[:80]}' cannot be opened") from None
    try:
        return memoryview(file), False
    except TypeError:
        with file:
            return file.read(), True


class Model(_Job):
    """A model that `ethosu compile` compiled entirely for the NPU."""

    def __init__(
        self, source, *, npu=None, arena=None, verify=True, timeout_ms=10000, postprocess=None,
        real=False, signature=None,
    ):  # fmt: skip
        file, self._copied = _source(source)
        self._handle = npu if isinstance(npu, NPU) else None
        self.npu = self._handle.npu if self._handle else _index(npu)
        self.postprocess = postprocess
        self._real = real
        self._timeout_ms = timeout_ms
        choice = verify, signature and signature.encode() + b"\0"
        object_size, arena_size = _measure(self.npu, file, choice)
        self._memory = (
            bytearray(object_size),
            bytearray(arena_size) if arena is None else arena,
            file,
        )
        self.len = len(file)
        self.ram = object_size + arena_size
        _load(self.npu, choice, self._memory)
        self.inputs, self.outputs = (
            tuple(Tensor(self, *each) for each in _buffers(self._memory, outputs))
            for outputs in (False, True)
        )

    def __getattr__(self, name):
        """`input_shape` and similar: one entry for each input (or output)."""
        if name in ("inputs", "outputs", "ram"):
            raise ValueError(_CLOSED)
        end, _, what = name.partition("_")
        tensors = {"input": self.inputs, "output": self.outputs}.get(end)
        if tensors is None or what not in ("shape", "dtype", "scale", "zero_point"):
            raise AttributeError(name)
        return tuple(getattr(tensor, what) for tensor in tensors)

    def __repr__(self):
        if not self._memory:
            return "<Model closed>"
        now = self.info()
        return (
            f"<Model {now['config']}: inputs {len(self.inputs)}, outputs {len(self.outputs)}, "
            f"steps on the NPU {now['npu_calls']}, on the CPU {now['cpu_steps']}, "
            f"arena {now['arena_size']} bytes at 0x{now['arena_address']:x}, "
            f"weights {now['weights']}, Vela {now['vela']}>"
        )

    def predict(self, inputs, callback=None, *, real=None):
        """Run once; returns a list with a new array for each output."""
        after = self.postprocess if callback is None else callback
        real = self._real and after is None if real is None else real
        outputs = _results(self._memory, real)
        self.run_into(inputs)
        _fill(self._memory, outputs, real)
        return outputs if after is None else after(self, inputs, outputs)

    def run_into(self, inputs=None, outputs=None):
        """Run once. With None, the tensors stay in the arena and nothing is copied."""
        outputs = _sequence(outputs)
        ticket = [0, self._timeout_ms, self]
        try:
            ended = self._begin(inputs, outputs, ticket)
            while not ended:
                late = _wait(self.npu, ticket)
                ended = _resume(self._memory, self.npu, ticket, late)
        except BaseException:
            _stop(self.npu, ticket, False)
            raise
        if outputs is not None:
            _read(self._memory, outputs, True)

    def run(self, inputs=None, outputs=None):
        """Run once while other tasks continue; a coroutine."""
        return run_model(self, inputs, outputs)

    def _start(self, inputs=None, outputs=None):
        return self._begin(inputs, outputs, [0, self._timeout_ms, self])

    def _begin(self, inputs, outputs, ticket):
        inputs, outputs = _sequence(inputs), _sequence(outputs)
        _check_idle(self._memory, self.npu)
        if outputs is not None:
            _read(self._memory, outputs, False)
        if inputs is not None:
            _write(self._memory, inputs)
        ticket[0] = time.ticks_ms()
        guard = self._handle and self._handle._guard
        arguments = self, ticket, self._memory, self.npu, guard
        ended = _begin(*arguments)
        if ended is None:
            _collect_lost()
            ended = _begin(*arguments)
        if ended is None:
            raise OSError(16, "the NPU is reserved: release it first")
        return ended

    def _step(self):
        npu = self.npu
        ticket = _ticket(npu)
        late = _late(npu, ticket) if ticket and _is_running(npu) else None
        return _resume(self._memory, npu, None, late)

    def _fetch(self, outputs=None):
        if outputs is None:
            return _fill(self._memory, _results(self._memory, self._real), self._real)
        _read(self._memory, _sequence(outputs), True)

    def cancel(self):
        """Stop a running inference."""
        if not self._memory:
            raise ValueError(_CLOSED)
        _stop(self.npu, self, False)

    def reset(self):
        """Set variables (the state of a streaming model) to their initial values."""
        _reset(self._memory)

    def metadata(self, name=None):
        """Bytes that a tool stored in the file under this name; without a name, TFLite metadata."""
        return read_metadata(self) if name is None else _metadata(self._memory, name)

    @property
    def labels(self):
        """Labels of the first output that has labels, or None."""
        return read_labels(self)

    @property
    def _facts(self):
        """Facts for _ethosu_metadata."""
        return _facts(self._memory)

    def selftest(self):
        """Compare with the golden outputs of `ethosu compile --selftest`."""
        return selftest(self)

    def info(self):
        """Config, version of Vela, arena, location of the weights, sizes, share of the NPU."""
        return _model_info(self._memory, self._copied)

    def deinit(self):
        """Free file and arena; views of tensors stay valid. A second call has no effect."""
        if self._memory:
            _check_busy(self._memory, self.npu)
            self._memory = self.inputs = self.outputs = ()  # `del` alone leaves the value to the GC
            del self.inputs, self.outputs, self.ram

    def __exit__(self, kind, error, trace):
        self.deinit()
