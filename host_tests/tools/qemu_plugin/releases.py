# SPDX-License-Identifier: MIT
"""The releases of QEMU that the plugin is tested with: the installed one and Debian's newest.

Debian's backports of this release are unpacked under ``build/``, not installed.
"""

from __future__ import annotations

import fcntl
import platform
import re
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

PROGRAM = "qemu-system-arm"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
APT_TIMEOUT_S = 600
BUILD = Path(__file__).resolve().parents[3] / "build" / "qemu-10"

WRAPPER = """\
#!/bin/sh
# Runs the unpacked QEMU with the libraries and modules next to it.
export LD_LIBRARY_PATH="{libraries}" QEMU_MODULE_DIR="{libraries}/qemu"
exec "{program}" "$@"
"""


class ReleaseMissingError(RuntimeError):
    """A release of QEMU cannot be had on this machine; the message says why."""


def version(program: Path) -> tuple[int, ...]:
    """What ``qemu-system-arm --version`` says, as (7, 2, 22)."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True)
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


def _write_wrapper(folder: Path) -> None:
    """Write the wrapper into a folder that will be moved to BUILD."""
    modules = next(folder.glob("root/usr/lib/*/qemu"), None)
    if modules is None:
        raise ReleaseMissingError(f"the packages of {PROGRAM} hold no modules of QEMU")
    libraries = BUILD / modules.parent.relative_to(folder)
    wrapper = folder / PROGRAM
    wrapper.write_text(
        WRAPPER.format(libraries=libraries, program=BUILD / "root/usr/bin" / PROGRAM)
    )
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)


def _run(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=APT_TIMEOUT_S)
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        raise ReleaseMissingError(str(error)) from None
    if done.returncode:
        raise ReleaseMissingError(f"{command[0]}: {done.stderr.strip()[-300:]}")
    return done.stdout


def _download(release: str, to: Path) -> list[Path]:
    """The packages of a release's backports, by an apt with a state of its own.

    They come from the archive that this machine uses; apt checks its signature.
    """
    options = ["--format", "$(RELEASE) $(REPO_URI)", "Created-By: Packages"]
    rows = [row.split(" ", 1) for row in _run("apt-get", "indextargets", *options).splitlines()]
    address = next((address for name, address in rows if name == release), None)
    if address is None:
        raise ReleaseMissingError(f"apt lists no archive of {release}")
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for folder in ("state/lists/partial", "cache/archives/partial", "parts"):
            (root / folder).mkdir(parents=True)
        suites = (release, f"{release}-backports")
        lines = [f"deb [signed-by={KEYRING}] {address} {suite} main\n" for suite in suites]
        (root / "sources.list").write_text("".join(lines))
        settings = {
            "Dir::Etc::sourcelist": root / "sources.list",
            "Dir::Etc::sourceparts": root / "parts",
            "Dir::State": root / "state",
            "Dir::State::status": "/var/lib/dpkg/status",
            "Dir::Cache": root / "cache",
            "APT::Sandbox::User": "",
            "Debug::NoLocking": "1",
        }
        apt = ["apt-get", "-q", "-y", *(f"-o{key}={value}" for key, value in settings.items())]
        _run(*apt, "update")
        install = ["install", "--download-only", "--reinstall", "--no-install-recommends"]
        _run(*apt, *install, "-t", suites[1], PROGRAM)
        to.mkdir(parents=True, exist_ok=True)
        return [shutil.copy(path, to) for path in (root / "cache/archives").glob("*.deb")]


def _unpack(release: str, to: Path) -> None:
    """Fill an empty folder with the unpacked packages and the wrapper, as if it were BUILD."""
    for package in _download(release, to / "archives"):
        _run("dpkg-deb", "--extract", str(package), str(to / "root"))
    shutil.rmtree(to / "archives")
    if not (to / "root/usr/bin" / PROGRAM).exists():
        raise ReleaseMissingError(f"{release}-backports has no {PROGRAM}")
    _write_wrapper(to)


def _fetch(release: str) -> None:
    """Make BUILD, which appears whole; what an interrupted run has left there is removed."""
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
            _fetch(platform.freedesktop_os_release().get("VERSION_CODENAME", ""))
    if version(wrapper) <= version(installed()):
        raise ReleaseMissingError(f"backports have no {PROGRAM} newer than the installed one")
    return wrapper
