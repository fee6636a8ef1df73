# SPDX-License-Identifier: MIT
"""Put MicroPython's source into build/micropython/<release>, and print its path.

If MICROPYTHON_DIR is set, that folder is the only source tried, whatever its release. Otherwise
the script tries, in order, the tree of an earlier run; the tarball of Debian's source package,
which apt downloads and checks against the SHA-256 in micropython.toml; a git clone of the
release tag. If a source fails, the script prints the reason and tries the next one. It only
needs Python.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PINS = ROOT / "firmware" / "micropython.toml"
BUILD = ROOT / "build" / "micropython"
GIT_ADDRESS = "https://github.com/micropython/micropython.git"
APT_HELPER = "/usr/lib/apt/apt-helper"
TIMEOUT_S = 300


class SourceError(RuntimeError):
    """One source of MicroPython failed; the text is one sentence."""


def say(message: str, source: str = "micropython") -> None:
    """Print a message on stderr, because stdout carries only the path."""
    print(f"{source}: {message}", file=sys.stderr)


def release_of(tree: Path) -> str:
    """Return which release of MicroPython a folder holds; else raise a SourceError."""
    header = tree / "py" / "mpconfig.h"
    if not header.is_file():
        raise SourceError(f"{tree} holds no MicroPython source (py/mpconfig.h is missing)")
    numbers = {}
    for line in header.read_text().splitlines():
        words = line.split()
        if len(words) == 3 and words[0] == "#define" and words[1].startswith("MICROPY_VERSION_"):
            numbers[words[1].removeprefix("MICROPY_VERSION_")] = words[2]
    return ".".join(numbers.get(part, "?") for part in ("MAJOR", "MINOR", "MICRO"))


def check_tree(tree: Path, version: str) -> Path:
    """Return `tree` if it is MicroPython's source of this version; else raise a SourceError."""
    actual = release_of(tree)
    if actual != version:
        raise SourceError(f"{tree} is MicroPython {actual}, expected {version}")
    return tree


def check_given(tree: Path, version: str | None, known: Sequence[str]) -> Path:
    """Return the folder of MICROPYTHON_DIR if it is of the requested or a supported release."""
    if version:
        return check_tree(tree, version)
    actual = release_of(tree)
    numbers = [int(part) if part.isdigit() else 0 for part in actual.split(".")]
    lowest, highest = ([int(part) for part in known[at].split(".")] for at in (0, -1))
    if numbers < lowest:
        raise SourceError(f"{tree} is MicroPython {actual}, expected {known[0]} or newer")
    if numbers > highest:
        say(f"{tree} is MicroPython {actual}; the newest that is pinned is {known[-1]}")
    return tree


def check_names(tree: Path, names: dict[str, list[str]]) -> None:
    """Raise a SourceError that lists what the product relies on and the tree lacks."""
    for file, wanted in names.items():
        path = tree / file
        text = path.read_text() if path.is_file() else ""
        lost = [name for name in wanted if name not in text]
        if lost:
            raise SourceError(
                f"{path} lacks {', '.join(lost)}, on which the product relies: see [relies_on] "
                f"in {PINS.relative_to(ROOT)}"
            )


def run(command: Sequence[str], what: str) -> str:
    """Run a program; its failure becomes one SourceError."""
    try:
        done = subprocess.run(
            command,
            env=os.environ | {"GIT_TERMINAL_PROMPT": "0"},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        raise SourceError(f"{what} failed: {error}") from None
    if done.returncode:
        said = " ".join(done.stderr.split())[:500]
        raise SourceError(f"{what} failed: {said or f'exit code {done.returncode}'}")
    return done.stdout


def archive() -> str:
    """Return the address from which this machine's apt gets its own release."""
    options = ["--format", "$(RELEASE) $(REPO_URI)", "Created-By: Packages"]
    rows = run(["apt-get", "indextargets", *options], "asking apt for its archive").splitlines()
    release = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    for row in rows:
        name, _, address = row.partition(" ")
        if name == release:
            return address
    raise SourceError(f"apt lists no archive of {release or 'a Debian'}; run: apt-get update")


def from_debian(pin: dict[str, str], tree: Path) -> None:
    """Unpack the tarball of Debian's source package to `tree`; apt checks the SHA-256."""
    with tempfile.TemporaryDirectory(prefix="micropython-") as name:
        tarball, unpacked = Path(name) / "orig.tar", Path(name) / "tree"
        command = [APT_HELPER, "-o", "APT::Sandbox::User=", "download-file"]
        command += [archive() + pin["debian_tarball"], str(tarball), f"SHA256:{pin['sha256']}"]
        run(command, "the download")
        with tarfile.open(tarball) as content:
            # This filter is Python's default from 3.14 on; 3.11 has it from 3.11.4 on.
            content.extraction_filter = getattr(tarfile, "data_filter", None)
            content.extractall(unpacked)
        (top,) = unpacked.iterdir()
        shutil.move(top, tree)


def from_git(pin: dict[str, str], tree: Path) -> None:
    """Clone the release tag to `tree`, without submodules, which the firmware does not need."""
    command = ["git", "-c", "advice.detachedHead=false", "clone", "-q", "--depth=1"]
    run([*command, "--branch", pin["git_tag"], GIT_ADDRESS, str(tree)], "git clone")
    commit = run(["git", "-C", str(tree), "rev-parse", "HEAD"], "git rev-parse").strip()
    if commit != pin.get("commit", commit):
        raise SourceError(f"{pin['git_tag']} is commit {commit}, expected {pin['commit']}")


SOURCES: tuple[tuple[str, Callable[[dict[str, str], Path], None]], ...] = (
    ("Debian's source package", from_debian),
    ("a git clone", from_git),
)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let one process at a time fetch into a folder, since two boards may be built at once."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def lay_out(pin: dict[str, str], version: str, tree: Path) -> Path:
    """Fill `tree`, whole or not at all, from the first source that works."""
    for name, source in SOURCES:
        if source is from_debian and "debian_tarball" not in pin:
            continue
        say(f"fetching {version} from {name} …")
        with tempfile.TemporaryDirectory(dir=tree.parent) as folder:
            fresh = Path(folder) / "tree"
            try:
                source(pin, fresh)
                check_tree(fresh, version)
            except SourceError as error:
                say(f"{name} failed: {error}")
                continue
            shutil.rmtree(tree, ignore_errors=True)
            fresh.rename(tree)
            return tree
    raise SourceError(
        f"MicroPython {version} could not be fetched. Run 'apt-get update' and try again; "
        f"or unpack its source by hand and set MICROPYTHON_DIR to it; "
        f"or pick another release with MICROPYTHON (see {PINS.relative_to(ROOT)})."
    )


def find(version: str | None) -> Path:
    """Find the source of a release (default: MICROPYTHON_DIR, else the pinned default)."""
    pins = tomllib.loads(PINS.read_text())
    known = list(pins["release"])
    if version and version not in known:
        raise SourceError(
            f"MicroPython {version} is not pinned in {PINS.name}; it has {', '.join(known)}"
        )
    given = os.environ.get("MICROPYTHON_DIR")
    if given:
        return check_given(Path(given).resolve(), version, known)
    return find_pinned(pins, version or pins["default"])


def find_pinned(pins: dict[str, Any], version: str) -> Path:
    """Find the source of a pinned release, or fetch it."""
    tree = BUILD / version
    with locked(tree.parent):
        if tree.exists():
            try:
                return check_tree(tree, version)
            except SourceError as error:
                say(f"the cached tree is fetched again: {error}")
        return lay_out(pins["release"][version], version, tree)


def find_cmsis() -> Path:
    """Find the headers of CMSIS for a release that has none itself."""
    pins = tomllib.loads(PINS.read_text())
    return find_pinned(pins, pins["cmsis"]) / "lib/cmsis/inc"


def main() -> int:
    """Print the path of the source tree, or one sentence on stderr."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("version", nargs="?", help="a release of micropython.toml")
    parser.add_argument("--cmsis", action="store_true", help="print the folder of CMSIS's headers")
    options = parser.parse_args()
    try:
        tree = find_cmsis() if options.cmsis else find(options.version)
        if not options.cmsis:
            check_names(tree, tomllib.loads(PINS.read_text())["relies_on"])
        print(tree)
    except SourceError as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
