# SPDX-License-Identifier: MIT
"""Where the files are that the tools need: in the source tree, or in the installed package.

An installed package carries a small tree of the same shape (`tools/setup/wheel.py` makes it), so
nothing else in the tools asks which of the two it is.
"""

import os
from ctypes.util import find_library
from pathlib import Path

from .errors import SetupError

# Of an installed package: it is not there in the source tree.
_CARRIED = Path(__file__).parent / "tree"


def root() -> Path:
    """Root of the tree: ETHOSU_ROOT, else the one that this package carries or lies in."""
    asked = os.environ.get("ETHOSU_ROOT")
    if asked:
        return Path(asked)
    return _CARRIED if _CARRIED.is_dir() else Path(__file__).resolve().parents[2]


def can_build() -> bool:
    """Can `make` build here, or has the package only what was built for it?"""
    return root() != _CARRIED


def missing(what: str, target: str) -> SetupError:
    """What to say when a file of the tree is not there that `make target` builds."""
    if not can_build():
        return SetupError(
            f"{what} is not there, and this package of ethosu-tools does not hold it: build it in "
            f"the project's source tree with: make {target}, and set ETHOSU_ROOT to that tree"
        )
    return SetupError(f"{what} is not there; build it with: make {target}")


def _built(path: Path, target: str) -> Path:
    if not path.is_file():
        raise missing(str(path), target)
    return path


def work(name: str) -> Path:
    """Folder for files that a command makes on the way: in build/, or else in the user's cache."""
    if can_build():
        return root() / "build" / name
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "ethosu" / name


def environment(name: str) -> Path:
    """Folder of a Python environment that `ethosu setup` makes, in the user's data folder."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share"
    return Path(data) / "ethosu" / name


def host_library(*, cmsis_nn: bool = False) -> Path:
    """Driver, runtime and NPU simulator as a shared library (ETHOSU_SIM_LIBRARY, if set).

    With `cmsis_nn` the one whose operators with weights are CMSIS-NN's.
    """
    if cmsis_nn:
        library = root() / "build/sim_host-cmsis-nn/libethosu_sim.so"
        return _built(library, "sim-host CMSIS_NN_DIR=FOLDER")
    default = root() / "build/sim_host/libethosu_sim.so"
    return _built(Path(os.environ.get("ETHOSU_SIM_LIBRARY", default)), "sim-host")


def library_binding() -> Path:
    """What the tools know of both libraries, made from their headers."""
    return _built(root() / "build/library/ethosu_library.py", "library-binding")


def accel_library() -> Path:
    """Driver and runtime for an NPU behind Linux's own driver (ETHOSU_ACCEL_LIBRARY, if set).

    Else the one of the tree, or else the one that is installed.
    """
    default = root() / "build/accel/libethosu_accel.so"
    library = Path(os.environ.get("ETHOSU_ACCEL_LIBRARY", default))
    installed = None if library.is_file() else find_library("ethosu_accel")
    return Path(installed) if installed else _built(library, "accel")


def qemu_plugin() -> Path:
    """Plugin that gives QEMU an NPU."""
    return _built(root() / "build/qemu_plugin/libethosu_qemu.so", "plugin")


def firmware_file(board: str) -> Path:
    """Where the firmware image of a board is, once it is built."""
    return root() / "build/firmware" / board / "firmware.elf"


def firmware_with_ulab(board: str) -> Path | None:
    """Firmware image of a board that was built with ulab, if it was."""
    path = firmware_file(f"{board}-ulab")
    return path if path.is_file() else None


def firmware(board: str) -> Path:
    """Firmware image of a board."""
    return _built(firmware_file(board), f"firmware BOARD={board}")


def examples() -> Path:
    """Folder for /rom: the examples and the models that they load."""
    folder = root() / "build/examples"
    if not folder.is_dir():
        raise missing(str(folder), "examples")
    return folder


def openmv() -> Path:
    """Folder of OpenMV's modules for a board without a camera."""
    return root() / "modules/openmv"


def web_image() -> Path:
    """The firmware of board WEB."""
    return _built(root() / "build/firmware/WEB/ethosu.wasm", "web")


def web_runner() -> Path:
    """What runs the board WEB in node."""
    return root() / "tools/web/board/js/node.mjs"
