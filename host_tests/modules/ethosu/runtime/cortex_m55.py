# SPDX-License-Identifier: MIT
"""Driver and runtime compiled for a Cortex-M55, once for all tests that link them."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from host_tests.kit import sharing

MODULE = sharing.REPO / "modules/ethosu"
FOLDERS = [MODULE / part for part in ("driver", "runtime", "runtime/executorch", "runtime/kernels")]
GCC = ["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"]
GCC += ["-std=c11", "-O2", "-ffunction-sections", "-ffp-contract=off", "-Wall", "-Werror"]
GCC += [f"-I{path}" for path in (MODULE / "driver/include", *FOLDERS)]


def archive(more: Sequence[str] = ()) -> Path:
    """A static archive of driver and runtime, with more flags and sources."""
    flags = [*GCC, *(word for word in more if not word.endswith(".c"))]
    sources = [path for folder in FOLDERS for path in sorted(folder.glob("*.c"))]
    sources += [Path(word) for word in more if word.endswith(".c")]

    def make(place: Path) -> None:
        objects = sharing.objects(flags, sources)
        subprocess.run(["arm-none-eabi-ar", "rcs", place, *objects], check=True)

    return sharing.cached("cortex_m55.a", ("archive", sharing.c_sources(), *flags, *sources), make)


def whole(more: Sequence[str] = ()) -> list[str | Path]:
    """Linker arguments that take all of it, as from the object files."""
    return ["-Wl,--whole-archive", archive(more), "-Wl,--no-whole-archive"]
