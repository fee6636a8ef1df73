# SPDX-License-Identifier: MIT
"""Runs on the page's second board: compares the compiled model with the CPU kernels on the model
before compilation. Prints a line of JSON per result.

The page prepends COMPILED and ORIGINAL, paths in /rom; ORIGINAL is None if there is no original."""

import array
import json
import random
import time

import ethosu

STEPS = 5
BUDGET_MS = 20_000


def say(kind, **values):
    values["kind"] = kind
    print(json.dumps(values))


def load(path, kind):
    try:
        return ethosu.Model(path)
    except (ValueError, MemoryError, OSError) as error:
        say(kind, error=str(error))


def values(tensor, size):
    if tensor.dtype == "f":
        real = [random.uniform(-1, 1) for _ in range(size // 4)]
        return bytearray(array.array("f", real))
    if tensor.dtype in "iIlLqQ":  # usually an index
        return bytearray(size)
    return bytearray(random.getrandbits(8) for _ in range(size))


def timed(model, inputs):
    start = time.ticks_us()
    outputs = [bytes(output) for output in model.predict(inputs)]
    return outputs, time.ticks_diff(time.ticks_us(), start)


def differing(found, expected):
    if len(found) != len(expected):
        raise ValueError(f"an output has {len(found)} bytes, expected {len(expected)}")
    return sum(a != b for a, b in zip(found, expected))


def run(model, reference):
    random.seed(2024)
    sizes = [len(bytes(tensor.data)) for tensor in model.inputs]
    npu_us = cpu_us = None
    wrong = count = step = 0
    start = time.ticks_ms()
    while step < STEPS and time.ticks_diff(time.ticks_ms(), start) < BUDGET_MS:
        inputs = [values(tensor, size) for tensor, size in zip(model.inputs, sizes)]
        found, us = timed(model, inputs)
        npu_us = us if npu_us is None else min(us, npu_us)
        if reference:
            expected, us = timed(reference, inputs)
            cpu_us = us if cpu_us is None else min(us, cpu_us)
            if len(found) != len(expected):
                raise ValueError(f"{len(found)} outputs, expected {len(expected)}")
            for a, b in zip(found, expected):
                wrong += differing(a, b)
                count += len(b)
        step += 1
    say("run", steps=step, us=npu_us, cpu_us=cpu_us, wrong=wrong, bytes=count)


def describe(model):
    info = model.info()
    inputs, outputs = (
        [[tensor.name, tensor.dtype, list(tensor.shape)] for tensor in tensors]
        for tensors in (model.inputs, model.outputs)
    )
    plain = {}
    for key, value in info.items():
        if isinstance(value, (int, str, float)) or value is None:
            plain[key] = value
    say("model", npu=str(model.npu), ram=model.ram, inputs=inputs, outputs=outputs, info=plain)


def main():
    model = load(COMPILED, "model")  # noqa: F821  # prepended
    if model is None:
        return
    describe(model)
    reference = load(ORIGINAL, "reference") if ORIGINAL else None  # noqa: F821
    try:
        run(model, reference)
    except (OSError, MemoryError, ValueError) as error:
        say("run", error=str(error))


main()
