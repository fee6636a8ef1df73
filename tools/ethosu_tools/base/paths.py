# SPDX-License-Identifier: MIT
"""Locations of the files that the tools need: in the source tree or in the installed package.

An installed package contains a small tree of the same layout (`tools/setup/release/wheel.py` makes
it), so the rest of the tools need not distinguish the two.
"""

import os
import sys
from pathlib import Path

from . import addons
from .errors import NotHereError, SetupError

# Tree of an installed package; missing in the source tree.
_BUNDLED = Path(__file__).parents[1] / "tree"


def root() -> Path:
    """Root of the tree: ETHOSU_ROOT, else the package's own tree or the source tree."""
    chosen = os.environ.get("ETHOSU_ROOT")
    if chosen:
        return Path(chosen)
    return _BUNDLED if _BUNDLED.is_dir() else Path(__file__).resolve().parents[3]


def can_build() -> bool:
    """Whether `make` can build here; an installed package only has prebuilt files."""
    return root() != _BUNDLED


def missing(what: str, target: str, whole: str = "") -> SetupError:
    """Advice for a missing file of the tree that `make target` builds; `whole` builds it too."""
    advice = f"`make {whole}`, or only `make {target}`" if whole else f"`make {target}`"
    return _unbuilt(what, advice)


def _unbuilt(what: str, advice: str) -> SetupError:
    if not can_build():
        return SetupError(
            f"{what} was not found, and this package of ethosu-tools does not include it: take a "
            f"wheel that does, or build it in the project's source tree with {advice}, and set "
            "ETHOSU_ROOT to that tree"
        )
    return SetupError(f"{what} was not found; build it with {advice}")


def built(path: Path, target: str, whole: str = "") -> Path:
    """A file that `make target` builds; SetupError if it is missing."""
    if not path.is_file():
        raise missing(str(path), target, whole)
    return path


def work(name: str) -> Path:
    """Folder for a command's intermediate files: in build/, or else in the user's cache."""
    return root() / "build" / name if can_build() else cache(name)


def cache(name: str) -> Path:
    """Folder in the user's cache."""
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder) / "ethosu" / name


def environment(name: str) -> Path:
    """Folder of a Python environment for a kit, in the user's data folder."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share"
    return Path(data) / "ethosu" / name


def host_library(*, cmsis_nn: bool = False) -> Path:
    """Driver, runtime and NPU simulator as a shared library (ETHOSU_SIM_LIBRARY, if set).

    `cmsis_nn` selects the variant with CMSIS-NN's kernels for operators with weights.
    """
    if cmsis_nn:
        library = root() / "build/sim_host-cmsis-nn/libethosu_sim.so"
        return built(library, "sim-host CMSIS_NN_DIR=FOLDER")
    return built(host_library_file(), "sim-host", "build")


def host_library_file() -> Path:
    """ETHOSU_SIM_LIBRARY, this machine's own, or one that an add-on runs."""
    native = root() / "build/sim_host/libethosu_sim.so"
    others = [root() / "build" / name for name in addons.offers("simulator")]
    built_ones = [file for file in (native, *others) if file.is_file()]
    return Path(os.environ.get("ETHOSU_SIM_LIBRARY") or [*built_ones, native][0])


def library_binding() -> Path:
    """Interface of both libraries for the tools, generated from their headers."""
    return built(root() / "build/library/ethosu_library.py", "library-binding", "build")


def qemu_plugin() -> Path:
    """Plugin that gives QEMU an NPU."""
    if sys.platform != "linux":
        raise NotHereError("an emulated board")
    return built(root() / "build/qemu_plugin/libethosu_qemu.so", "plugin", "build")


def firmware_file(board: str) -> Path:
    """Path of a board's firmware image once it is built."""
    return root() / "build/firmware" / board / "firmware.elf"


def firmware_with_ulab(board: str) -> Path | None:
    """Firmware image of a board built with ulab, if it exists."""
    path = firmware_file(f"{board}-ulab")
    return path if path.is_file() else None


def firmware(board: str) -> Path:
    """Firmware image of a board."""
    path = firmware_file(board)
    if not path.is_file():
        raise _unbuilt(str(path), f"`make firmware BOARD={board}`")
    return path


def examples() -> Path:
    """Folder for /rom: the examples and their models."""
    folder = root() / "build/examples"
    if not folder.is_dir():
        raise missing(str(folder), "examples")
    return folder
