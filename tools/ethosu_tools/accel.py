# SPDX-License-Identifier: MIT
"""Runs compiled models on an NPU behind Linux's own driver, /dev/accel/accel*.

The library is modules/ethosu/accel; the functions below are those of ethosu_accel.h.
"""

import ctypes as c
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from . import native, paths
from .errors import BoardError, InputError, SetupError
from .native import NativeModel

FOLDER = Path("/dev/accel")
_ALIGNMENT = 64

_FUNCTIONS: native.Functions = {
    "ethosu_accel_open": (c.c_void_p, c.c_char_p, c.c_void_p, c.c_void_p),
    "ethosu_accel_close": (None, c.c_void_p),
    "ethosu_accel_alloc": (c.c_void_p, c.c_void_p, c.c_size_t),
    "ethosu_accel_fence": (c.c_int, c.c_void_p),
    "ethosu_accel_copied": (c.c_uint64, c.c_void_p),
    "ethosu_ext_config": (c.c_uint32, c.c_void_p),
    "ethosu_ext_config_name": (None, c.c_uint32, c.c_char_p),
}
# Room for a struct ethosu_ext_fault.
_FAULT_SIZE = 64


def is_device(where: str) -> bool:
    """Does it name an NPU of Linux: "accel", or a device file?"""
    return where == "accel" or Path(where).parent == FOLDER


def devices() -> list[Path]:
    """Files of this Linux's NPUs; SetupError: there are none."""
    found = sorted(FOLDER.glob("accel*"))
    if not found:
        raise SetupError(f"no {FOLDER}/accel*: this Linux has no NPU, or no driver for it")
    return found


class AccelModel(NativeModel):
    """One model on one NPU; the file is open while the model is."""

    def __init__(
        self, model: Path | bytes, where: str = "accel", *, data: bytes | None = None
    ) -> None:
        """Load a compiled model on a device, "accel": the first one that is an Ethos-U.

        `data`: a .ptd that a program names. BoardError: no NPU; InputError: not for this NPU.
        """
        library = native.load_library(paths.accel_library(), "accel", _FUNCTIONS)
        self._calls = _calls_of(library)
        self._where = where
        self._memory: list[Any] = []
        self._handle = c.c_void_p()
        super().__init__(library, model, data=data)
        self.npu = self._npu_name()

    @property
    def copied(self) -> int:
        """Bytes copied for the NPU so far: all but what lies in the arena."""
        return int(self._library.ethosu_accel_copied(self._driver))

    def fence(self) -> int:
        """Return a descriptor that is readable when the inference under way has ended."""
        file = int(self._library.ethosu_accel_fence(self._driver))
        if file < 0:
            raise BoardError(self._reason())
        return file

    def _end(self) -> Callable[[], None]:
        return partial(_close, self._library, self._handle)

    def _open_npu(self) -> int:
        files = [Path(self._where)]
        if self._where == "accel":
            files = [FOLDER / "accel0"] if self._calls else devices()
        fault = c.create_string_buffer(_FAULT_SIZE)
        for file in files:
            driver = self._library.ethosu_accel_open(str(file).encode(), self._calls, fault)
            if driver:
                self._handle.value = driver
                return int(driver)
        text = c.create_string_buffer(256)
        self._library.ethosu_ext_describe(fault, text, len(text))
        raise BoardError(f"{files[-1]}: {text.value.decode(errors='replace')}")

    def _alloc(self, size: int) -> int:
        block = c.create_string_buffer(size + _ALIGNMENT)
        self._memory.append(block)
        return (c.addressof(block) + _ALIGNMENT - 1) & -_ALIGNMENT

    def _alloc_arena(self, size: int) -> int:
        memory = self._library.ethosu_accel_alloc(self._driver, max(size, 1))
        if not memory:
            raise InputError(self._reason())
        return int(memory)

    def _npu_name(self) -> str:
        name = c.create_string_buffer(20)
        self._library.ethosu_ext_config_name(self._library.ethosu_ext_config(self._driver), name)
        return name.value.decode()


def _close(library: c.CDLL, handle: c.c_void_p) -> None:
    library.ethosu_accel_close(handle)
    handle.value = None


def _calls_of(library: c.CDLL) -> int | None:
    """The system calls: a library for tests has its own."""
    try:
        function = library.sim_accel_calls
    except AttributeError:
        return None
    function.restype = c.c_void_p
    return int(function())
