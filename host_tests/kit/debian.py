# SPDX-License-Identifier: MIT
"""Fetches packages of other Debian releases to build/, without installing them.

They come from the archive configured in this machine's apt, through an apt with separate state;
apt verifies the archive's signature.
"""

from __future__ import annotations

import contextlib
import fcntl
import platform
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
TIMEOUT_S = 600


class PackageMissingError(RuntimeError):
    """A package is not available on this machine; the message gives the reason."""


def codename() -> str:
    """Return Debian's codename of this machine's release."""
    return platform.freedesktop_os_release().get("VERSION_CODENAME", "")


def run(*command: str, folder: Path | None = None) -> str:
    """Return a command's output."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, cwd=folder
        )
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        raise PackageMissingError(str(error)) from None
    if done.returncode:
        said = re.findall(r"^E: (.*)", done.stderr, re.MULTILINE) or [done.stderr.strip()[-300:]]
        raise PackageMissingError(f"{command[0]}: {said[0]}")
    return done.stdout


def _address() -> str:
    """Return this machine's package source."""
    options = ["--format", "$(RELEASE) $(REPO_URI)", "Created-By: Packages"]
    rows = [row.split(" ", 1) for row in run("apt-get", "indextargets", *options).splitlines()]
    address = next((address for name, address in rows if name == codename()), None)
    if address is None:
        raise PackageMissingError(f"apt lists no archive of {codename() or 'a Debian'}")
    return address


def keep(folder: Path, fetch: Callable[[Path], None]) -> Path:
    """Return a folder that `fetch` fills on the first call; it appears complete.

    Other processes that call this in the meantime wait.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            with tempfile.TemporaryDirectory(prefix="new-", dir=folder.parent) as name:
                new = Path(name) / folder.name
                new.mkdir()
                fetch(new)
                new.rename(folder)
    return folder


@contextlib.contextmanager
def apt(suites: Sequence[str], architecture: str | None = None) -> Iterator[tuple[str, ...]]:
    """Return options for apt-get and apt-cache to use the lists of these suites.

    For an `architecture` other than this machine's, installed packages are ignored.
    """
    with tempfile.TemporaryDirectory(prefix="apt-") as name:
        root = Path(name)
        for folder in ("state/lists/partial", "cache/archives/partial", "parts"):
            (root / folder).mkdir(parents=True)
        (root / "none").touch()
        which = f"arch={architecture} " if architecture else ""
        lines = [
            f"deb [{which}signed-by={KEYRING}] {_address()} {suite} main\n" for suite in suites
        ]
        (root / "sources.list").write_text("".join(lines))
        settings = {
            "Dir::Etc::sourcelist": root / "sources.list",
            "Dir::Etc::sourceparts": root / "parts",
            "Dir::State": root / "state",
            "Dir::State::status": root / "none" if architecture else "/var/lib/dpkg/status",
            "Dir::Cache": root / "cache",
            "APT::Sandbox::User": "",
            "Debug::NoLocking": "1",
        }
        if architecture:
            settings["APT::Architectures"] = f"{architecture}"
            settings["APT::Architecture"] = architecture
        options = tuple(f"-o{key}={value}" for key, value in settings.items())
        run("apt-get", "-q", *options, "update", "--error-on=any")
        yield options


def unpack(options: Sequence[str], to: Path, *words: str) -> None:
    """Unpack all packages that `apt-get download` or `install --download-only` fetches.

    `options`: of `apt`; `words`: the command, its own options, the names.
    """
    with tempfile.TemporaryDirectory(prefix="packages-") as name:
        folder = Path(name)
        (folder / "partial").mkdir()
        archives = f"-oDir::Cache::archives={folder}"
        run("apt-get", "-q", "-y", *options, archives, *words, folder=folder)
        for package in folder.glob("*.deb"):
            run("dpkg-deb", "--extract", str(package), str(to))


# Packages with all dependencies.
WITH_NEEDED = ("install", "--download-only", "--no-install-recommends")


def unpacked(folder: Path, *packages: str) -> Path:
    """Unpack packages of this release with missing dependencies, and keep them."""

    def fetch(new: Path) -> None:
        with apt([codename()]) as options:
            unpack(options, new, *WITH_NEEDED, "--reinstall", *packages)

    return keep(folder, fetch)
