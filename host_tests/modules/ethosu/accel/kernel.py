# SPDX-License-Identifier: MIT
"""Simulates the kernel side of /dev/accel in this process (tools/sim_accel/sim_accel.h)."""

import contextlib
import ctypes as c
from collections.abc import Iterator
from pathlib import Path

import pytest

from host_tests.kit import sharing

SRAM = 384 << 10


class Kernel:
    """The library with the simulated device; it counts open objects."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.library = c.CDLL(str(path))
        self.library.sim_accel_set_up.restype = c.c_bool
        self.library.sim_accel_set_up.argtypes = c.c_char_p, c.c_size_t
        self.library.sim_accel_hold.argtypes = (c.c_bool,)

    def set_up(self, npu: str, sram: int = SRAM) -> None:
        """Select the NPU."""
        assert self.library.sim_accel_set_up(npu.encode(), sram)

    def drop(self, jobs: int) -> None:
        """Kill the next jobs without reporting it."""
        self.library.sim_accel_drop(jobs)

    def hold(self, on: bool) -> None:
        """Hold jobs back."""
        self.library.sim_accel_hold(on)

    def fail(self, number: int, error: int) -> None:
        """Make the next call of an ioctl fail."""
        self.library.sim_accel_fail(number, error)

    @property
    def open_files(self) -> int:
        """Return the number of open files."""
        return int(self.library.sim_accel_open_files())

    @property
    def buffers(self) -> int:
        """Return the number of buffers of all open files."""
        return int(self.library.sim_accel_buffers())


@contextlib.contextmanager
def simulated(npu: str) -> Iterator[Kernel]:
    """Simulate a device with this NPU; everything opened must be closed at the end."""
    sharing.make("tools/sim_accel")
    kernel = Kernel(sharing.BUILD / "sim_accel/libethosu_accel.so")
    kernel.set_up(npu)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ETHOSU_ACCEL_LIBRARY", str(kernel.path))
        yield kernel
    kernel.hold(False)
    assert (kernel.open_files, kernel.buffers) == (0, 0)
