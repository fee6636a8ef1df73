# SPDX-License-Identifier: MIT
"""Provides the QEMUs with which the plugin is tested: the installed one, and Debian's others.

The others are unpacked under ``build/qemu/``, not installed. Each includes the C library and all
libraries of its Debian release, so it runs on any other.
"""

from __future__ import annotations

import re
import shutil
import stat
import subprocess
from functools import partial
from pathlib import Path

from host_tests.kit import debian
from host_tests.kit.debian import PackageMissingError

PROGRAM = "qemu-system-arm"
BUILD = Path(__file__).resolve().parents[3] / "build" / "qemu"

# Debian's suites that have a release of QEMU; the packages are taken from the last suite.
SUITES = {
    "10": ("trixie",),
    "11": ("trixie", "trixie-backports"),
}
NEWEST = "11"
INSTALLED = "installed"
ALL = (INSTALLED, *SUITES)

WRAPPER = """\
#!/bin/sh
# Runs the unpacked QEMU with the C library, the libraries, the modules and the data next to it.
export QEMU_MODULE_DIR="{libraries}/qemu"
exec "{loader}" --library-path "{libraries}" "{program}" -L "{data}" "$@"
"""


def version(program: Path) -> tuple[int, ...]:
    """Read the version from ``qemu-system-arm --version``, as (7, 2, 22)."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True)
    match = re.search(r"version (\d+)\.(\d+)\.(\d+)", said.stdout)
    if not match:
        raise PackageMissingError(f"{program} does not run: {said.stderr.strip()}")
    return tuple(int(part) for part in match.groups())


def installed() -> Path:
    """Return the installed program."""
    program = shutil.which(PROGRAM)
    if not program:
        raise PackageMissingError(f"{PROGRAM} is not installed: run make setup")
    return Path(program)


def _write_wrapper(folder: Path, at: Path) -> None:
    """Write the wrapper into a folder that will be moved to `at`."""
    program = folder / "root/usr/bin" / PROGRAM
    loader = next(folder.glob("root/**/ld-linux*.so.*"), None)
    library = next(folder.glob("root/**/libc.so.6"), None)
    if not program.exists() or loader is None or library is None:
        raise PackageMissingError(f"the packages of {PROGRAM} do not hold it with its C library")
    words = {"loader": loader, "libraries": library.parent, "program": program}
    words["data"] = folder / "root/usr/share/qemu"
    moved = {name: at / path.relative_to(folder) for name, path in words.items()}
    wrapper = folder / PROGRAM
    wrapper.write_text(WRAPPER.format(**moved))
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)


def _download(suites: tuple[str, ...], to: Path) -> None:
    """Unpack the packages of QEMU and of all that it needs."""
    architecture = debian.run("dpkg", "--print-architecture").strip()
    with debian.apt(suites, architecture) as options:
        debian.unpack(options, to, *debian.WITH_NEEDED, "-t", suites[-1], PROGRAM)


def _fetch(suites: tuple[str, ...], at: Path, to: Path) -> None:
    """Fill an empty folder with the unpacked packages and the wrapper, as if it were `at`."""
    _download(suites, to / "root")
    _write_wrapper(to, at)


def program(release: str) -> Path:
    """Return a program that runs this QEMU of `ALL`, fetched at the first call."""
    if release == INSTALLED:
        return installed()
    folder = BUILD / release
    return debian.keep(folder, partial(_fetch, SUITES[release], folder)) / PROGRAM


if __name__ == "__main__":
    print(*map(program, ALL), sep="\n")
