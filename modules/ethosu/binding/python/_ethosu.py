# SPDX-License-Identifier: MIT
"""Methods of the module `ethosu` that are written in Python: asyncio and the self-test."""

import asyncio
from asyncio import core

# For each NPU: a lock, for which tasks wait in a queue, and the job of the task that has it.
_locks = {}
_running = {}
# The event loop that they belong to.
_loop = None


def _queue(npu):
    """The lock of an NPU; jobs of an event loop that has ended are cancelled."""
    global _loop
    if core._io_queue is not _loop:
        _loop = core._io_queue
        _locks.clear()
        for job in _running.values():
            job.cancel()
        _running.clear()
    if npu not in _locks:
        _locks[npu] = asyncio.Lock()
    return _locks[npu]


def _ready(job):
    """Sleep until the NPU has finished a job, or its time is up."""
    yield core._io_queue.queue_read(job)


async def run_model(model, inputs=None, outputs=None):
    """Model.run()"""
    npu = model.npu
    async with _queue(npu):
        _running[npu] = model
        try:
            ended = model._start(inputs, outputs)
            while not ended:
                await _ready(model)
                ended = model._step()
            return model._fetch(outputs)
        except BaseException:
            model.cancel()
            raise
        finally:
            del _running[npu]


async def run_payload(handle, payload, bases, timeout_ms=10000):
    """NPU.run()"""
    npu = handle.npu
    async with _queue(npu):
        _running[npu] = handle
        try:
            handle.invoke_async(payload, bases, timeout_ms=timeout_ms)
            await _ready(handle)
            handle.wait()
        except BaseException:
            handle.cancel()
            raise
        finally:
            del _running[npu]


def _noise(size, sha256, seed, position):
    """Pseudo-random bytes: blocks of the stream of a seed, from a position on."""
    raw = bytearray(size)
    for start in range(0, size, 32):
        block = sha256(seed + position.to_bytes(4, "little")).digest()
        raw[start : start + 32] = block[: size - start]
        position += 1
    return raw, position


def selftest(model):
    """Model.selftest()"""
    from hashlib import sha256

    stored = model.metadata("ethosu_selftest")
    if stored is None:
        raise ValueError("model has no self-test; run: ethosu compile MODEL.tflite --selftest")
    # Mark, version, seed, steps; then for each step a SHA-256 of each output.
    if stored[:4] != b"EST1":
        raise ValueError(f"self-test of an unknown kind: {stored[:4]!r}")
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
