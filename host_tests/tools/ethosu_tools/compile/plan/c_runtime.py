# SPDX-License-Identifier: MIT
"""Queries the C runtime about a planned model, through the host library."""

from __future__ import annotations

import ctypes as c
import re
from functools import cache
from typing import Any

from ethosu_tools.base import library, paths
from ethosu_tools.sim import simulation


class Kernel(c.Structure):
    """The first fields of struct kernel of runtime/build/kernel_call.h."""

    _fields_ = (
        ("code", c.c_uint16),
        ("in_place", c.c_bool),
        ("version", c.c_uint16),
        ("custom", c.c_char_p),
    )


@cache
def _kernels() -> c.CDLL:
    """Return the kernels' tables, which no header declares."""
    return c.CDLL(str(paths.host_library()))


@cache
def runtime() -> Any:
    simulator = library.load_sim()
    # Opening the first NPU creates the board's memory.
    index = simulation.Simulation._take_index()
    simulator.sim_host_open(index, b"ethos-u55-128")
    simulation.Simulation._release(simulator, index, ())
    return simulator


@cache
def operators() -> dict[str, Kernel]:
    """Return the runtime's kernels by operator name."""
    text = (paths.root() / "modules/ethosu/runtime/kernels/kernels.def").read_text()
    kernels = {}
    for symbol in re.findall(r"^KERNEL\((\w+),", text, re.MULTILINE):
        kernel = Kernel.in_dll(_kernels(), f"kernel_{symbol}")
        kernels[kernel.custom.decode() if kernel.custom else symbol] = kernel
    return kernels


def load(model: bytes) -> str:
    """Load a model without an NPU; returns "" or the runtime's reason for rejecting it."""
    lib, new = runtime(), library.ffi().new
    file = lib.sim_host_alloc(len(model))
    library.ffi().memmove(file, model, len(model))
    blocks = [file]
    source = new("struct ethosu_model_source *", {"file": file, "file_size": len(model)})
    memory, error = new("struct ethosu_model_memory *"), new("struct ethosu_model_error *")
    status = lib.ethosu_model_measure(source, memory, error)
    if status == library.OK:
        memory.object = lib.sim_host_alloc(max(1, memory.object_size))
        memory.arena = lib.sim_host_alloc(max(1, memory.arena_size))
        blocks += [memory.object, memory.arena]
        status = lib.ethosu_model_load(source, memory, new("struct ethosu_model **"), error)
    for block in blocks:
        lib.sim_host_free(block)
    return library.text_of(error) if status else ""
