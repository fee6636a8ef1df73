# SPDX-License-Identifier: MIT
"""Packages of other Debian releases than this machine's, fetched into build/ and not installed.

They come from the archive that this machine's apt uses, by an apt with a state of its own; apt
checks the archive's signature.
"""

from __future__ import annotations

import contextlib
import fcntl
import platform
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
TIMEOUT_S = 600


class PackageMissingError(RuntimeError):
    """A package cannot be had on this machine; the message says why."""


def codename() -> str:
    """Debian's name of this machine's release."""
    return platform.freedesktop_os_release().get("VERSION_CODENAME", "")


def run(*command: str, folder: Path | None = None) -> str:
    """Return what a command prints."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, cwd=folder
        )
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        raise PackageMissingError(str(error)) from None
    if done.returncode:
        raise PackageMissingError(f"{command[0]}: {done.stderr.strip()[-300:]}")
    return done.stdout


def _address() -> str:
    """Where this machine's packages come from."""
    options = ["--format", "$(RELEASE) $(REPO_URI)", "Created-By: Packages"]
    rows = [row.split(" ", 1) for row in run("apt-get", "indextargets", *options).splitlines()]
    address = next((address for name, address in rows if name == codename()), None)
    if address is None:
        raise PackageMissingError(f"apt lists no archive of {codename() or 'a Debian'}")
    return address


def keep(folder: Path, fetch: Callable[[Path], None]) -> Path:
    """Return a folder that `fetch` fills at the first call; it appears whole.

    Other processes that call it meanwhile wait.
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
    """Options for apt-get and apt-cache, whose lists are those of the suites.

    Packages of another `architecture` than this machine's are told without what is installed here.
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
        run("apt-get", "-q", *options, "update")
        yield options
