# SPDX-License-Identifier: MIT
"""The releases of QEMU with which the plugin is tested: the installed one and Debian's newest.

Debian's backports of this release are unpacked under ``build/``, not installed.
"""

from __future__ import annotations

import fcntl
import re
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

from host_tests.kit import debian
from host_tests.kit.debian import PackageMissingError

PROGRAM = "qemu-system-arm"
BUILD = Path(__file__).resolve().parents[3] / "build" / "qemu-10"

WRAPPER = """\
#!/bin/sh
# Runs the unpacked QEMU with the libraries and modules next to it.
export LD_LIBRARY_PATH="{libraries}" QEMU_MODULE_DIR="{libraries}/qemu"
exec "{program}" "$@"
"""


def version(program: Path) -> tuple[int, ...]:
    """The version from ``qemu-system-arm --version``, as (7, 2, 22)."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True)
    match = re.search(r"version (\d+)\.(\d+)\.(\d+)", said.stdout)
    if not match:
        raise PackageMissingError(f"{program} does not run: {said.stderr.strip()}")
    return tuple(int(part) for part in match.groups())


def installed() -> Path:
    """The installed program."""
    program = shutil.which(PROGRAM)
    if not program:
        raise PackageMissingError(f"{PROGRAM} is not installed: run make setup")
    return Path(program)


def _write_wrapper(folder: Path) -> None:
    """Write the wrapper into a folder that will be moved to BUILD."""
    modules = next(folder.glob("root/usr/lib/*/qemu"), None)
    if modules is None:
        raise PackageMissingError(f"the packages of {PROGRAM} hold no modules of QEMU")
    libraries = BUILD / modules.parent.relative_to(folder)
    wrapper = folder / PROGRAM
    wrapper.write_text(
        WRAPPER.format(libraries=libraries, program=BUILD / "root/usr/bin" / PROGRAM)
    )
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)


def _download(release: str, to: Path) -> list[Path]:
    """The packages of a release's backports."""
    suites = release, f"{release}-backports"
    with debian.apt(suites) as options:
        install = ["install", "--download-only", "--reinstall", "--no-install-recommends"]
        debian.run("apt-get", "-q", "-y", *options, *install, "-t", suites[1], PROGRAM)
        to.mkdir(parents=True, exist_ok=True)
        (cache,) = (option.partition("=")[2] for option in options if "Dir::Cache" in option)
        return [shutil.copy(path, to) for path in Path(cache, "archives").glob("*.deb")]


def _unpack(release: str, to: Path) -> None:
    """Fill an empty folder with the unpacked packages and the wrapper, as if it were BUILD."""
    for package in _download(release, to / "archives"):
        debian.run("dpkg-deb", "--extract", str(package), str(to / "root"))
    shutil.rmtree(to / "archives")
    if not (to / "root/usr/bin" / PROGRAM).exists():
        raise PackageMissingError(f"{release}-backports has no {PROGRAM}")
    _write_wrapper(to)


def _fetch(release: str) -> None:
    """Make BUILD atomically; leftovers of an interrupted run are removed."""
    with tempfile.TemporaryDirectory(prefix="qemu-new-", dir=BUILD.parent) as name:
        new = Path(name) / BUILD.name
        new.mkdir()
        _unpack(release, new)
        shutil.rmtree(BUILD, ignore_errors=True)
        new.rename(BUILD)


def backports() -> Path:
    """A program that runs the QEMU of this Debian's backports, fetched at the first call.

    Other processes that call it meanwhile wait.
    """
    wrapper = BUILD / PROGRAM
    BUILD.parent.mkdir(parents=True, exist_ok=True)
    with BUILD.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not wrapper.exists():
            _fetch(debian.codename())
    if version(wrapper) <= version(installed()):
        raise PackageMissingError(f"backports have no {PROGRAM} newer than the installed one")
    return wrapper
