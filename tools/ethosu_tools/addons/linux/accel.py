# SPDX-License-Identifier: MIT
"""Runs compiled models on an NPU through the Linux driver, /dev/accel/accel*.

The library is modules/ethosu/accel: see ethosu_accel.h.
"""

import os
import sys
from collections.abc import Callable
from ctypes.util import find_library
from functools import partial
from pathlib import Path
from typing import Any

from ...base import library, paths
from ...base.errors import BoardError, InputError, NotHereError, SetupError
from ...base.library import ffi
from ...model import ModelFile
from ...sim.native import NativeModel

FOLDER = Path("/dev/accel")
_ALIGNMENT = 64


def library_file() -> Path:
    """Driver and runtime for an NPU with the Linux driver (ETHOSU_ACCEL_LIBRARY, if set).

    Otherwise the one in the tree, or else the installed one.
    """
    _check_system()
    default = paths.root() / "build/accel/libethosu_accel.so"
    chosen = Path(os.environ.get("ETHOSU_ACCEL_LIBRARY", default))
    installed = None if chosen.is_file() else find_library("ethosu_accel")
    return Path(installed) if installed else paths.built(chosen, "accel")


def load() -> Any:
    """The library for Linux's NPUs."""
    return library.load(library_file(), "accel", "ethosu_accel_open")


def devices() -> list[Path]:
    """List the device files of this machine's NPUs; SetupError if there are none."""
    _check_system()
    found = sorted(FOLDER.glob("accel*"))
    if not found:
        raise SetupError(
            f"no {FOLDER}/accel*: Linux has found no NPU here, or has no driver for it"
        )
    return found


def _check_system() -> None:
    if sys.platform != "linux":
        raise NotHereError("an NPU of this computer")


class AccelModel(NativeModel):
    """One model on one NPU; the device file is open as long as the model."""

    def __init__(
        self, model: Path | bytes | ModelFile, where: str = "accel", *, data: bytes | None = None
    ) -> None:
        """Load a compiled model on a device; "accel" selects the first Ethos-U.

        `data` is a program's data file. BoardError: no NPU. InputError: made for another NPU.
        """
        driver = load()
        self._calls = _calls_of(driver)
        self._where = where
        self._memory: list[Any] = []
        self._handle = ffi().new("struct ethosu_driver **")
        super().__init__(driver, model, data=data)
        name = ffi().new("char[20]")
        driver.ethosu_ext_config_name(driver.ethosu_ext_config(self._driver), name)
        self.npu = str(ffi().string(name).decode())

    @property
    def copied(self) -> int:
        """Bytes copied for the NPU so far, without data that was in the arena already."""
        return int(self._library.ethosu_accel_copied(self._driver))

    def fence(self) -> int:
        """Return a descriptor that becomes readable when the current inference ends."""
        file = int(self._library.ethosu_accel_fence(self._driver))
        if file < 0:
            raise BoardError(self._reason())
        return file

    def _end(self) -> Callable[[], None]:
        return partial(_close, self._library, self._handle)

    def _open_npu(self) -> Any:
        files = [Path(self._where)]
        if self._where == "accel":
            files = [FOLDER / "accel0"] if self._calls else devices()
        fault = ffi().new("struct ethosu_ext_fault *")
        for file in files:
            driver = self._library.ethosu_accel_open(str(file).encode(), self._calls, fault)
            if driver:
                self._handle[0] = driver
                return driver
        text = ffi().new("char[256]")
        self._library.ethosu_ext_describe(fault, text, len(text))
        raise BoardError(f"{files[-1]}: {ffi().string(text).decode(errors='replace')}")

    def _alloc(self, size: int) -> Any:
        block = ffi().new("char[]", size + _ALIGNMENT)
        self._memory.append(block)
        return block + -int(ffi().cast("uintptr_t", block)) % _ALIGNMENT

    def _alloc_arena(self, size: int) -> Any:
        memory = self._library.ethosu_accel_alloc(self._driver, max(size, 1))
        if not memory:
            raise InputError(self._reason())
        return memory


def _close(driver: Any, handle: Any) -> None:
    driver.ethosu_accel_close(handle[0])
    handle[0] = ffi().NULL


def _calls_of(driver: Any) -> Any:
    """Return the system calls, which the tests' library replaces."""
    try:
        return driver.sim_accel_calls()
    except (AttributeError, ffi().error):
        return ffi().NULL
