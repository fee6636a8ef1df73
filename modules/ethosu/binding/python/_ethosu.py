# SPDX-License-Identifier: MIT
"""Methods of the module `ethosu` that are written in Python: asyncio and the self-test."""

import errno
import sys

core = None  # asyncio.core, once a task needs it: its import takes as long as 20 ms

# Each NPU has a lock, which tasks take.
_locks = {}
# The locks belong to this event loop.
_loop = None


class _NpuLock:
    """An NPU, which tasks get in the order of their requests.

    Ctrl-C comes at jumps only, and memory may run out at any object that is created: where the lock
    changes hands there is neither, so that it is always some task's that will give it back.
    """

    def __init__(self):
        self.task = None  # the task that has the NPU
        self.job = None  # that task's model or handle, while its job runs
        self.waiting = core.TaskQueue()

    def take(self, task):
        """Get the NPU, in a `try` that ends with give(); a generator."""
        if self.task is not None:
            self._mend(task)
        if self.task is None:
            self.task = task
            return
        self.waiting.push(task)
        task.data = self.waiting  # cancel() removes it from there
        yield

    def give(self, task):
        """Stop the job that still runs, and hand the NPU over, if it is this task's."""
        if self.task is task:
            try:
                _cancel_job(self)
            finally:  # after Ctrl-C in it the job is still known, and the next task stops it
                self._hand_over()

    def _hand_over(self):
        if self.waiting.peek():
            self.task = self.waiting.pop()
            core._task_queue.push(self.task)
        else:
            self.task = None

    def _mend(self, asking):
        """Ctrl-C may have occurred just after the loop removed the task from its queue."""
        task = self.task
        if task is asking or task.done():
            self.give(task)
        elif task.data is not core._io_queue:
            data = task.data
            core._task_queue.remove(task)  # does nothing if it is not there
            core._task_queue.push(task, task.ph_key)
            task.data = data


def _cancel_job(lock):
    """Stop the job of a lock. A handle that was released, or a model that was closed, has none."""
    if lock.job is not None:
        try:
            lock.job.cancel()
        except ValueError:
            pass
        except OSError as error:
            if error.errno != errno.EPERM:
                raise
        lock.job = None


def _drop_other_loops():
    """End the jobs of an event loop that was replaced, and forget its tasks."""
    global _loop
    if core._io_queue is not _loop:
        for lock in _locks.values():
            _cancel_job(lock)
        _locks.clear()
        _loop = core._io_queue  # comes last, since Ctrl-C may occur before it


def _lock(npu):
    """The lock of an NPU."""
    global core
    try:
        from asyncio import core
    except ImportError:
        raise OSError(errno.EOPNOTSUPP, "run() needs asyncio, which this firmware lacks") from None
    _drop_other_loops()
    if npu not in _locks:
        _locks[npu] = _NpuLock()
    return _locks[npu]


def _is_loop_running():
    if core.cur_task is None:
        return False
    coro = core.cur_task.coro
    try:
        thrown = coro.pend_throw(None)
    except ValueError:
        return True  # the running task is the caller
    if thrown is not None:
        coro.pend_throw(thrown)
    return False


def drop_abandoned(npu):
    """A blocking call needs this NPU: stop a task's job if no event loop runs; True if stopped.

    The module calls this if the NPU is busy, except in a callback.
    """
    global core
    core = sys.modules.get("asyncio.core")
    if core is None:
        return False  # without asyncio there are no tasks
    lock = _locks.get(npu)
    had_job = lock is not None and lock.job is not None
    _drop_other_loops()
    if not _is_loop_running():
        core.cur_task = None  # after Ctrl-C it would keep what its task has reserved
        if had_job:
            _cancel_job(lock)
    return had_job and lock.job is None


def _ready(lock, job):
    """Sleep until the NPU has finished a job, or the job's time-out."""
    queue = core._io_queue
    if id(job) in queue.map:
        queue._dequeue(job)  # the loop was about to do so when Ctrl-C came
    try:
        queue.queue_read(job)
    except BaseException:
        core.cur_task.data = None
        queue.map.pop(id(job), None)
        queue.poller.unregister(job)  # register() leaves half an entry if memory runs out
        raise
    yield
    if lock.job is not job:
        raise OSError(errno.ECANCELED, "the inference was cancelled")


def _serve(work, job, *arguments):
    """Have the NPU of a job, a model or a handle, while its work, a generator, runs."""
    lock = _lock(job.npu)
    task = core.cur_task
    try:
        try:
            yield from lock.take(task)
            lock.job = job
            result = yield from work(lock, job, *arguments)
            lock.job = None
            return result
        finally:
            lock.give(task)
    finally:
        lock.give(task)  # Ctrl-C may have come before the first one did so


def _infer(lock, model, inputs, outputs):
    ended = model._start(inputs, outputs)
    while not ended:
        yield from _ready(lock, model)
        ended = model._step()
    return model._fetch(outputs)


def run_model(model, inputs=None, outputs=None):
    """Model.run()"""
    return _serve(_infer, model, inputs, outputs)


def _pay(lock, handle, payload, bases, timeout_ms):
    handle.invoke_async(payload, bases, timeout_ms=timeout_ms)
    yield from _ready(lock, handle)
    handle.wait()


def run_payload(handle, payload, bases, timeout_ms=10000):
    """NPU.run()"""
    return _serve(_pay, handle, payload, bases, timeout_ms)


def _noise(size, sha256, seed, position):
    """Pseudo-random bytes of a seed, from a position in its stream."""
    raw = bytearray(size)
    for start in range(0, size, 32):
        block = sha256(seed + position.to_bytes(4, "little")).digest()
        raw[start : start + 32] = block[: size - start]
        position += 1
    return raw, position


def selftest(model, rtol=1e-5, atol=1e-8):
    """Model.selftest()"""
    from hashlib import sha256

    stored = model.metadata("ethosu_selftest")
    if stored is None:
        if getattr(model, "_is_bundle", False):
            from _ethosu_bundle import run_cases

            return run_cases(model, rtol, atol)
        raise ValueError("model has no self-test; run: ethosu compile MODEL.tflite --selftest")
    # Mark, version, seed and steps come first; then each step has the SHA-256 of each output.
    if stored[:4] != b"EST1":
        raise ValueError(f"unknown kind of self-test: {stored[:4]!r}")
    seed, steps = stored[4:8], stored[8]
    position, at = 0, 12
    model.reset()
    try:
        for step in range(steps):
            inputs = []
            for tensor in model.inputs:
                size = len(bytes(tensor.data))
                raw, position = _noise(size, sha256, seed, position)
                inputs.append(raw)
            model.run_into(inputs)
            for index, tensor in enumerate(model.outputs):
                if sha256(tensor.data).digest() != stored[at : at + 32]:
                    raise RuntimeError(
                        f"output {index} ({tensor.name}) differs from the golden one at step {step}"
                    )
                at += 32
    finally:
        model.reset()
    return True


def read_metadata(model):
    """Model.metadata() without a name"""
    from _ethosu_metadata import read

    return read(model)


def read_labels(model):
    """Model.labels"""
    from _ethosu_metadata import labels

    return labels(model)
