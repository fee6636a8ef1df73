# SPDX-License-Identifier: MIT
"""The releases of QEMU that the plugin is tested with: the installed one and Debian's newest.

Debian's backports of this release are unpacked under ``build/``, not installed.
"""

from __future__ import annotations

import re
import shutil
import stat
import subprocess
from pathlib import Path

from ethosu_tools import debian

PROGRAM = "qemu-system-arm"
BUILD = Path(__file__).resolve().parents[3] / "build" / "qemu-10"

WRAPPER = """\
#!/bin/sh
# Runs the unpacked QEMU with the libraries and modules beside it.
export LD_LIBRARY_PATH="{libraries}" QEMU_MODULE_DIR="{libraries}/qemu"
exec "{program}" "$@"
"""


class ReleaseMissingError(RuntimeError):
    """A release of QEMU cannot be had on this machine; the message says why."""


def version(program: Path) -> tuple[int, ...]:
    """What ``qemu-system-arm --version`` says, as (7, 2, 22)."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60)
    found = re.search(r"version (\d+)\.(\d+)\.(\d+)", said.stdout)
    if not found:
        raise ReleaseMissingError(f"{program} does not run: {said.stderr.strip()}")
    return tuple(int(part) for part in found.groups())


def installed() -> Path:
    """The program that the machine has."""
    program = shutil.which(PROGRAM)
    if not program:
        raise ReleaseMissingError(f"{PROGRAM} is not installed: run make setup")
    return Path(program)


def _write_wrapper(root: Path, wrapper: Path) -> None:
    modules = next(root.glob("usr/lib/*/qemu"), None)
    if modules is None:
        raise ReleaseMissingError(f"{root} holds no modules of QEMU: remove it and try again")
    program = root / "usr/bin" / PROGRAM
    wrapper.write_text(WRAPPER.format(libraries=modules.parent, program=program))
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)


def backports() -> Path:
    """A program that runs the QEMU of this Debian's backports, fetched at the first call."""
    wrapper = BUILD / PROGRAM
    if not wrapper.exists():
        suite = f"{debian.codename()}-backports"
        try:
            archives = debian.fetch_binary([PROGRAM], suite, BUILD / "archives")
            debian.unpack(archives, BUILD / "root")
        except debian.DebianError as error:
            raise ReleaseMissingError(f"no QEMU of {suite}: {error}") from None
        if not (BUILD / "root/usr/bin" / PROGRAM).exists():
            raise ReleaseMissingError(f"{suite} has no {PROGRAM} but the installed one")
        _write_wrapper(BUILD / "root", wrapper)
        shutil.rmtree(BUILD / "archives")
    if version(wrapper) <= version(installed()):
        raise ReleaseMissingError(f"backports have no {PROGRAM} newer than the installed one")
    return wrapper
