# SPDX-License-Identifier: MIT
"""Runs on the board for overhead.py: counts instructions and bytes of a model."""

import gc

import emulator
import ethosu

# The minimum of this many runs, which start from different states of the heap and the clock.
REPEATS = 20
CALLS = 100


def count(statement, **names):
    """Count a statement's instructions as in a program: with locals and without a loop."""
    code = (
        "def measure({}):\n now = i()\n begin = i()\n {}\n end = i()\n return 2 * begin - now - end"
    )
    scope = {"i": emulator.instructions}
    exec(code.format(", ".join(names), statement), scope)
    least = 1 << 60
    for _ in range(REPEATS):
        gc.collect()
        least = min(least, -scope["measure"](**names))
    return least


def can_verify(path):
    """Whether this firmware has a verifier; without one, models load only with verify=False."""
    try:
        ethosu.Model(path).deinit()
    except ValueError:
        return False
    return True


def heap_bytes_to_load(path, verify):
    """Count the heap bytes that a loaded model occupies."""
    gc.collect()
    before = gc.mem_alloc()
    model = ethosu.Model(path, verify=verify)
    gc.collect()
    used = gc.mem_alloc() - before
    model.deinit()
    return used


def heap_bytes_of_calls(model, inputs, outputs):
    """Count the heap bytes that CALLS inferences allocate."""
    model.run_into(inputs, outputs)
    gc.disable()
    before = gc.mem_alloc()
    for _ in range(CALLS):
        model.run_into(inputs, outputs)
    used = gc.mem_alloc() - before
    gc.enable()
    return used


def measure(path):
    """Return all figures of a model in ROMFS."""
    verify = can_verify(path)
    heap_bytes_to_load(path, verify)
    heap_bytes = heap_bytes_to_load(path, verify)
    view = memoryview(open(path, "rb"))  # noqa: SIM115
    model = ethosu.Model(path, verify=verify)
    info = model.info()
    ins = [bytearray(len(bytes(tensor.data))) for tensor in model.inputs]
    outs = [bytearray(len(bytes(tensor.data))) for tensor in model.outputs]
    in_c = emulator.model_costs(view)
    with ethosu.reserve(npu=model.npu, powered=True) as npu:
        reserved = count("m.run_into()", m=ethosu.Model(path, npu=npu, verify=verify))
    return {
        "instructions_per_run_into": count("m.run_into()", m=model),
        "instructions_per_run_into_reserved": reserved,
        "instructions_per_run_into_with_copies": count("m.run_into(a, b)", m=model, a=ins, b=outs),
        "instructions_per_predict": count("m.predict(a)", m=model, a=ins),
        "instructions_per_invoke_in_c": in_c["invoke"],
        "instructions_to_load": count("M(f, verify=v)", M=ethosu.Model, f=view, v=verify),
        "instructions_to_load_unverified": count("M(f, verify=False)", M=ethosu.Model, f=view),
        "instructions_to_load_in_c": in_c["load"],
        "instructions_to_load_in_c_unverified": in_c["load_unverified"],
        "instructions_to_measure_in_c": in_c["measure"],
        "heap_bytes_of_100_run_into": heap_bytes_of_calls(model, ins, outs),
        "bytes_copied_at_load": info["copied_bytes"],
        "object_bytes": info["object_size"],
        "heap_bytes": heap_bytes,
    }
