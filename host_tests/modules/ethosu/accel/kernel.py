# SPDX-License-Identifier: MIT
"""The kernel's side of /dev/accel in this process, from Python: tools/sim_accel/sim_accel.h."""

import ctypes as c
from pathlib import Path

SRAM = 384 << 10


class Kernel:
    """The library with the simulated device; it counts what is open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.library = c.CDLL(str(path))
        self.library.sim_accel_set_up.restype = c.c_bool
        self.library.sim_accel_set_up.argtypes = c.c_char_p, c.c_size_t
        self.library.sim_accel_hold.argtypes = (c.c_bool,)

    def set_up(self, npu: str, sram: int = SRAM) -> None:
        """Which NPU is there."""
        assert self.library.sim_accel_set_up(npu.encode(), sram)

    def lose(self, jobs: int) -> None:
        """The next jobs are killed, and nothing says so."""
        self.library.sim_accel_lose(jobs)

    def hold(self, on: bool) -> None:
        """Jobs wait."""
        self.library.sim_accel_hold(on)

    def fail(self, number: int, error: int) -> None:
        """The next call of an ioctl fails."""
        self.library.sim_accel_fail(number, error)

    @property
    def open_files(self) -> int:
        """Files that are open."""
        return int(self.library.sim_accel_open_files())

    @property
    def buffers(self) -> int:
        """Buffers of all open files."""
        return int(self.library.sim_accel_buffers())
