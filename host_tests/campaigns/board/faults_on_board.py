# SPDX-License-Identifier: MIT
"""Board part of the fault campaign (MicroPython): uses of the NPU, each with its check.

The host sets `timeout_ms`, the time-out of each inference.

Each inference has a different input from the previous one, so that a stale result is wrong.
"""

import asyncio
import gc
import time

import emulator
import ethosu
import machine
import uctypes
import vfs
from cases import STEPS, rows

TIMEOUT_MS = timeout_ms  # noqa: F821


class WrongError(Exception):
    pass


class Loaded:
    """A model with its inputs and expected outputs."""

    def __init__(self, name, npu=0):
        self.path = "/rom/%s%d.tflite" % (name, npu)
        self.x, self.y = rows(name + ".in"), rows(name + ".out")
        self.npu, self.turn = npu, 0
        self.load()

    def load(self):
        self.m = ethosu.Model(self.path, npu=self.npu, timeout_ms=TIMEOUT_MS)

    def next(self):
        self.turn = (self.turn + 1) % STEPS
        return self.x[self.turn]

    def check(self, output):
        if bytes(output) != self.y[self.turn]:
            raise WrongError


class Raw:
    """The command stream of a model."""

    def __init__(self):
        with open("/rom/raw.txt") as file:
            scratch, fast, self.start, self.end = eval(file.read())
        self.payload = open("/rom/payload", "rb").read()
        self.weights = open("/rom/weights", "rb").read()
        self.scratch = ethosu.buffer(scratch)
        self.fast = ethosu.buffer(fast) if fast else self.scratch
        self.bases = [self.weights, self.scratch, self.fast]

    def fill(self):
        x = cnn.next()
        self.scratch[self.start : self.start + len(x)] = x

    def check(self):
        cnn.check(self.scratch[self.end : self.end + len(cnn.y[0])])


cnn, second = Loaded("cnn"), Loaded("cnn")
other = Loaded("cnn", 1) if len(ethosu.npus()) > 1 else None
spare = Loaded("cnn")  # for callbacks; separate from the others
stream, mixed = Loaded("stream"), Loaded("mixed")
raw = Raw()
out = bytearray(len(cnn.y[0]))
handle = None

# --- Uses --------------------------------------------------------------------


def predict():
    cnn.check(cnn.m.predict([cnn.next()])[0])


def predict_with_functions():
    def fill(memory, shape, dtype):
        memory[:] = cnn.next()

    def after(model, inputs, outputs):
        return bytes(outputs[0])

    cnn.check(cnn.m.predict([fill], after))


def run_in_place():
    cnn.m.inputs[0].data[:] = cnn.next()
    cnn.m.run_into()
    cnn.check(cnn.m.outputs[0].data)


def run_into():
    cnn.m.run_into([cnn.next()], [out])
    cnn.check(out)


async def some(loaded, times):
    for _ in range(times):
        loaded.check((await loaded.m.run([loaded.next()]))[0])


async def both(one, two):
    await asyncio.gather(some(one, 3), some(two, 3))


def asynchronous():
    asyncio.run(both(cnn, second))


def two_npus():
    asyncio.run(both(cnn, other))


def second_npu():
    other.check(other.m.predict([other.next()])[0])


def streaming():
    stream.m.reset()
    for step in range(STEPS):
        stream.turn = step
        stream.check(stream.m.predict([stream.x[step]])[0])


def mixed_graph():
    mixed.check(mixed.m.predict([mixed.next()])[0])


def invoke():
    with ethosu.reserve(timeout_ms=TIMEOUT_MS) as npu:
        raw.fill()
        npu.invoke(raw.payload, raw.bases, timeout_ms=TIMEOUT_MS)
        raw.check()


def invoke_async():
    global handle
    with ethosu.reserve(timeout_ms=TIMEOUT_MS) as handle:
        for wait in (lambda: handle.wait(), poll):
            raw.fill()
            handle.invoke_async(raw.payload, raw.bases, timeout_ms=TIMEOUT_MS)
            wait()
            raw.check()


def poll():
    while not handle.done():
        pass
    handle.wait()


def await_payload():
    async def main():
        with ethosu.reserve(timeout_ms=TIMEOUT_MS) as npu:
            raw.fill()
            await npu.run(raw.payload, raw.bases, TIMEOUT_MS)
            raw.check()

    asyncio.run(main())


def reservation():
    global handle
    with ethosu.reserve(timeout_ms=TIMEOUT_MS, powered=True) as handle:
        model = ethosu.Model(cnn.path, npu=handle, timeout_ms=TIMEOUT_MS)
        with handle.pmu(ethosu.PMU_NPU_ACTIVE):
            cnn.check(model.predict([cnn.next()])[0])
        cnn.check(model.predict([cnn.next()])[0])


def load(loaded=cnn):
    with ethosu.Model(loaded.path, timeout_ms=TIMEOUT_MS) as model:
        loaded.check(model.predict([loaded.next()])[0])


def forgotten():
    """Start a job and drop its model; the job may be stopped on time-out if the NPU is needed."""
    ethosu.Model(cnn.path, timeout_ms=TIMEOUT_MS)._start([cnn.next()])
    gc.collect()
    time.sleep_ms(TIMEOUT_MS)
    predict()


def stamps():
    """Return the stamps at both ends of the ROM image."""
    rom = vfs.VfsRom(vfs.rom_ioctl(2, 0))
    return [memoryview(rom.open(name, "rb")) for name in ("first", "last")]


def check_stamps():
    first, last = stamps()
    if bytes(first) != bytes(last):
        raise WrongError


check_stamps()  # the image must be intact before the change


def check_refused(views):
    """Check that nothing changes after an error until a reset, and that the image is intact."""
    held = [bytes(view) for view in views]
    if not isinstance(vfs.rom_ioctl(2, 0), int):
        check_stamps()
    if held != [bytes(view) for view in views]:
        raise WrongError


def deploy():
    """Write another image of the same files, which invalidates the models in it."""
    views = stamps()
    try:
        write(other_image(*views))
    except OSError:
        check_refused(views)
        raise
    check_stamps()
    vfs.umount("/rom")
    vfs.mount(vfs.VfsRom(vfs.rom_ioctl(2, 0)), "/rom")
    for loaded in (cnn, second, spare, stream, mixed):
        loaded.load()
    predict()


def other_image(first, last):
    """Return the image with other stamps, and each byte shifted by 16 bytes."""
    memory, old = vfs.rom_ioctl(2, 0), bytes(first)
    new = bytes((byte + 1) % 256 for byte in old)
    at = [uctypes.addressof(view) - uctypes.addressof(memory) for view in (first, last)]
    end = at[1] + len(old) + at[1] % 2 * 3
    image, padding = bytearray(memory[:end]), b"\x01\x0e" + bytes(14)
    for place in at:
        image[place : place + len(new)] = new
    files = image[24:] if image[8:24] == padding else padding + image[8:]
    size = len(files)
    return image[:3] + bytes(size >> shift & 127 | 128 * (shift > 0) for shift in SHIFTS) + files


SHIFTS = 28, 21, 14, 7, 0


def write(image):
    vfs.rom_ioctl(3, 0, len(image))
    for at in range(0, len(image), 4096):
        vfs.rom_ioctl(4, 0, at, memoryview(image)[at : at + 4096])
    vfs.rom_ioctl(5, 0)


# --- Callbacks, by name of the fault --------------------------------------------


def fail():
    raise ValueError("as a callback may")


def reserve():
    ethosu.reserve(timeout_ms=0).release()


def keep():
    global kept
    kept = ethosu.reserve(timeout_ms=0)


def release():
    if handle is not None:
        handle.release()


def cancel():
    cnn.m.cancel()
    stream.m.cancel()
    mixed.m.cancel()


def deinit():
    cnn.m.deinit()


def nested():
    spare.check(spare.m.predict([spare.next()])[0])


def nested_load():
    load(spare)


def reset():
    machine.reset()


def collect():
    gc.collect()


def allocate():
    return [bytearray(b"\xa5" * 1000) for _ in range(50)]


kept, action = None, None


def emulator_call():
    globals()[action]()


# --- A round -------------------------------------------------------------------


def attempt(use, faults, what):
    """Run a use with faults (name, count, nanoseconds from now); print how it ended."""
    global action
    action = what
    time.sleep_ms(1)  # start at a clock tick, for repeatability
    for fault in faults:
        emulator.fault(*fault)
    try:
        globals()[use]()
        result = "right"
    except BaseException as error:
        result = "%s %s" % (type(error).__name__, error.args[0] if error.args else "")
    for name, _, _ in faults:
        emulator.fault(name, 0)
    print("\nresult:", result)


def settle():
    """Recover as a program does after an error: free objects, and restart what was lost."""
    global kept, handle
    for held in (kept, handle):
        if held is not None:
            held.release()
    kept = handle = None
    if action == "deinit":
        cnn.load()


def again(use):
    """Check that everything works and nothing is held; prints the amount of free memory."""
    settle()
    time.sleep_ms(TIMEOUT_MS)
    asyncio.new_event_loop()  # as any program does after asyncio.run() has raised
    predict()
    globals()[use]()
    for index in range(len(ethosu.npus())):
        ethosu.reserve(npu=index, timeout_ms=0).release()
    gc.collect()
    print("\nfree:", gc.mem_free())


def duration(use):
    """Measure a use in microseconds of board time."""
    time.sleep_ms(1)
    begin = time.ticks_us()
    globals()[use]()
    return time.ticks_diff(time.ticks_us(), begin)
