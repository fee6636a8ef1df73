# SPDX-License-Identifier: MIT
"""Where the build puts things, and what to run when one of them is missing."""

import os
from ctypes.util import find_library
from pathlib import Path

from .errors import SetupError


def root() -> Path:
    """Root of the source tree (ETHOSU_ROOT, else the tree that this file lies in)."""
    return Path(os.environ.get("ETHOSU_ROOT", Path(__file__).resolve().parents[2]))


def _built(path: Path, target: str) -> Path:
    if not path.is_file():
        raise SetupError(f"{path} is not there; build it with: make {target}")
    return path


def host_library(*, cmsis_nn: bool = False) -> Path:
    """Driver, runtime and NPU simulator as a shared library (ETHOSU_SIM_LIBRARY, if set).

    With `cmsis_nn` the one whose operators with weights are CMSIS-NN's.
    """
    if cmsis_nn:
        library = root() / "build/sim_host-cmsis-nn/libethosu_sim.so"
        return _built(library, "sim-host CMSIS_NN_DIR=FOLDER")
    default = root() / "build/sim_host/libethosu_sim.so"
    return _built(Path(os.environ.get("ETHOSU_SIM_LIBRARY", default)), "sim-host")


def accel_library() -> Path:
    """Driver and runtime for an NPU behind Linux's own driver (ETHOSU_ACCEL_LIBRARY, if set).

    Else the one of the source tree, or else the one that is installed.
    """
    default = root() / "build/accel/libethosu_accel.so"
    library = Path(os.environ.get("ETHOSU_ACCEL_LIBRARY", default))
    installed = None if library.is_file() else find_library("ethosu_accel")
    return Path(installed) if installed else _built(library, "accel")


def qemu_plugin() -> Path:
    """Plugin that gives QEMU an NPU."""
    return _built(root() / "build/qemu_plugin/libethosu_qemu.so", "plugin")


def firmware(board: str) -> Path:
    """Firmware image of a board."""
    return _built(root() / "build/firmware" / board / "firmware.elf", f"firmware BOARD={board}")
