# SPDX-License-Identifier: MIT
"""Board part of the soak (MicroPython): models come and go on all NPUs, with exact results."""

import asyncio
import gc
import random

import ethosu
from cases import STEPS, rows

SLOTS = 4
NAMES = ("cnn", "mixed", "stream")
NPUS = len(ethosu.npus())


CASES = {name: (rows(name + ".in"), rows(name + ".out")) for name in NAMES}
slots = [None] * SLOTS
inferences = loads = wrong = 0


class Slot:
    """A loaded model, by path or from RAM, and its current step."""

    def __init__(self, name, npu):
        path = "/rom/%s%d.tflite" % (name, npu)
        source = open(path, "rb").read() if random.randrange(4) == 0 else path
        self.m = ethosu.Model(source, npu=npu)
        self.x, self.y = CASES[name]
        self.step = 0

    def next(self):
        """Return input and expected output; resets the state after the last step."""
        step = self.step
        if step == 0:
            self.m.reset()
        self.step = (step + 1) % STEPS
        return self.x[step], self.y[step]


def judge(output, expected):
    global inferences, wrong
    inferences += 1
    wrong += bytes(output) != expected


def predict(slot):
    x, y = slot.next()
    judge(slot.m.predict([x])[0], y)


def run_in_place(slot):
    x, y = slot.next()
    slot.m.inputs[0].data[:] = x
    slot.m.run_into()
    judge(slot.m.outputs[0].data, y)


def run_into(slot):
    x, y = slot.next()
    out = bytearray(len(y))
    slot.m.run_into([x], [out])
    judge(out, y)


def on_reservation(slot):
    """Use another model for this one reservation."""
    index = slot.m.npu
    x, y = CASES["cnn"]
    with ethosu.reserve(npu=index, powered=True) as npu:
        model = ethosu.Model("/rom/cnn%d.tflite" % index, npu=npu)
        judge(model.predict([x[2]])[0], y[2])
        model.deinit()


async def task(slot, times):
    for _ in range(times):
        x, y = slot.next()
        judge((await slot.m.run([x]))[0], y)


async def tasks(chosen):
    await asyncio.gather(*(task(slot, 5) for slot in chosen))


USES = (predict, predict, run_in_place, run_into, run_into, on_reservation)


def turn():
    """Load or drop a model, then run the loaded ones for a while."""
    global loads
    index = random.randrange(SLOTS)
    if slots[index] is None or random.randrange(2):
        slots[index] = Slot(random.choice(NAMES), random.randrange(NPUS))
        loads += 1
    else:
        if random.randrange(2):
            slots[index].m.deinit()
        slots[index] = None
    chosen = [slot for slot in slots if slot]
    if not chosen:
        return
    for _ in range(20):
        random.choice(USES)(random.choice(chosen))
    if random.randrange(4) == 0:
        asyncio.run(tasks(chosen))


def work(count, seed):
    """Run at least this many inferences from a seed, then drop all models."""
    global inferences, loads, wrong
    inferences = loads = wrong = 0
    random.seed(seed)
    while inferences < count:
        turn()
    done = inferences, loads, wrong
    for index in range(SLOTS):
        slots[index] = None
    return done


def level():
    """Return free heap bytes, and the counters of each NPU that only faults increment."""
    gc.collect()
    counts = []
    for index in range(NPUS):
        with ethosu.reserve(npu=index, timeout_ms=0) as npu:
            info = npu.info()
            counts.append((info["timeouts"], info["resets"]))
    return gc.mem_free(), counts
