# SPDX-License-Identifier: MIT
"""What the C runtime says about a planned model, through the host library."""

from __future__ import annotations

import ctypes as c
import re
from functools import cache

from ethosu_tools import native, paths, sim


class Kernel(c.Structure):
    """The first fields of struct kernel of kernels/kernel.h."""

    _fields_ = (
        ("code", c.c_uint16),
        ("in_place", c.c_bool),
        ("version", c.c_uint16),
        ("custom", c.c_char_p),
    )


@cache
def library() -> c.CDLL:
    found = sim.load_library()
    # The board's memory is there from the first NPU on.
    index = sim.Simulation._take_index()
    found.sim_host_open(index, b"ethos-u55-128")
    sim.Simulation._release(found, index, ())
    return found


@cache
def operators() -> dict[str, Kernel]:
    """The runtime's kernels by the operator's name."""
    text = (paths.root() / "modules/ethosu/runtime/kernels/kernels.def").read_text()
    found = {}
    for symbol in re.findall(r"^KERNEL\((\w+),", text, re.MULTILINE):
        kernel = Kernel.in_dll(library(), f"kernel_{symbol}")
        found[kernel.custom.decode() if kernel.custom else symbol] = kernel
    return found


def load(model: bytes) -> str:
    """Load a model without an NPU: an empty text, or the reason why the runtime refuses it."""
    lib = library()
    file = lib.sim_host_alloc(len(model))
    c.memmove(file, model, len(model))
    blocks = [file]
    source = native.Source(file, len(model), None)
    memory, error, loaded = native.Memory(), native.Error(), c.c_void_p()
    status = lib.ethosu_model_measure(c.byref(source), c.byref(memory), c.byref(error))
    if status == 0:
        memory.object = lib.sim_host_alloc(max(1, memory.object_size))
        memory.arena = lib.sim_host_alloc(max(1, memory.arena_size))
        blocks += [memory.object, memory.arena]
        status = lib.ethosu_model_load(
            c.byref(source), c.byref(memory), c.byref(loaded), c.byref(error)
        )
    for block in blocks:
        lib.sim_host_free(block)
    return error.text.decode() if status else ""
