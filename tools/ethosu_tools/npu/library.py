# SPDX-License-Identifier: MIT
"""The C interface of the NPU simulator (tools/npu_sim/npu_sim.h)."""

from __future__ import annotations

import ctypes
from pathlib import Path

MapFunction = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_bool
)
IrqFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_bool)
LogFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)


class BusStruct(ctypes.Structure):
    """struct npu_bus."""

    _fields_ = [
        ("context", ctypes.c_void_p),
        ("map", MapFunction),
        ("irq", IrqFunction),
        ("log", LogFunction),
    ]


class FeatureMapStruct(ctypes.Structure):
    """struct npu_feature_map."""

    _fields_ = [
        ("used", ctypes.c_bool),
        ("is_signed", ctypes.c_bool),
        ("nhcwb16", ctypes.c_bool),
        ("chained", ctypes.c_bool),
        ("bits", ctypes.c_uint8),
        ("region", ctypes.c_uint8),
        ("height", ctypes.c_uint32),
        ("width", ctypes.c_uint32),
        ("depth", ctypes.c_uint32),
        ("zero_point", ctypes.c_int32),
        ("base", ctypes.c_int64 * 4),
        ("width0", ctypes.c_uint32),
        ("height0", ctypes.c_uint32),
        ("height1", ctypes.c_uint32),
        ("stride_y", ctypes.c_int64),
        ("stride_x", ctypes.c_int64),
        ("stride_c", ctypes.c_int64),
    ]


class OperationStruct(ctypes.Structure):
    """struct npu_operation."""

    _fields_ = [
        ("index", ctypes.c_uint),
        ("command", ctypes.c_uint),
        ("offset", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("param", ctypes.c_uint32),
        ("ifm", FeatureMapStruct),
        ("ifm2", FeatureMapStruct),
        ("ofm", FeatureMapStruct),
        ("kernel_height", ctypes.c_uint32),
        ("kernel_width", ctypes.c_uint32),
        ("macs", ctypes.c_uint64),
        ("cycles", ctypes.c_uint64),
        ("read", ctypes.c_uint64 * 8),
        ("written", ctypes.c_uint64 * 8),
    ]


ObserverFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(OperationStruct))


class CommandInfoStruct(ctypes.Structure):
    """struct npu_command_info."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("code", ctypes.c_uint16),
        ("param_mask", ctypes.c_uint16),
    ]


def load(library: Path) -> ctypes.CDLL:
    """Open the library and declare its functions."""
    lib = ctypes.CDLL(str(library))
    lib.npu_create.restype = ctypes.c_void_p
    lib.npu_create.argtypes = [ctypes.c_char_p, ctypes.POINTER(BusStruct)]
    lib.npu_configs.restype = ctypes.POINTER(ctypes.c_char_p)
    lib.npu_read.restype = ctypes.c_uint32
    lib.npu_read.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
    lib.npu_write.restype = ctypes.c_int
    lib.npu_write.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32]
    lib.npu_execute.restype = ctypes.c_int
    lib.npu_execute.argtypes = [ctypes.c_void_p, ctypes.c_uint]
    lib.npu_cycles.restype = ctypes.c_uint64
    lib.npu_cycles.argtypes = [ctypes.c_void_p]
    lib.npu_observe.restype = None
    lib.npu_observe.argtypes = [ctypes.c_void_p, ObserverFunction, ctypes.c_void_p]
    lib.npu_command_info.restype = ctypes.c_bool
    lib.npu_command_info.argtypes = [
        ctypes.c_char_p,
        ctypes.c_uint,
        ctypes.POINTER(CommandInfoStruct),
    ]
    for name in ("npu_destroy", "npu_reset", "npu_abort", "npu_finish"):
        function = getattr(lib, name)
        function.restype = None
        function.argtypes = [ctypes.c_void_p]
    return lib
