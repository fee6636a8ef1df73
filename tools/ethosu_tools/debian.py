# SPDX-License-Identifier: MIT
"""Packages of any Debian suite, fetched by apt without touching the system's own state.

The archive is the one that this machine's apt already uses; apt checks its
signature with Debian's keyring. Usable as a script with nothing but Python:

    python3 debian.py source micropython 1.25.0+ds-1 --suite trixie --to DIR
    python3 debian.py binary qemu-system-arm --suite bookworm-backports --to DIR
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
OS_RELEASE = Path("/etc/os-release")
SYSTEM_STATUS = Path("/var/lib/dpkg/status")
APT_TIMEOUT_S = 600


class DebianError(RuntimeError):
    """A package could not be had; the message is one sentence that names the mend."""


def _run(command: Sequence[str], what: str, cwd: Path | None = None) -> str:
    try:
        done = subprocess.run(
            command, cwd=cwd, capture_output=True, text=True, timeout=APT_TIMEOUT_S, check=False
        )
    except FileNotFoundError:
        raise DebianError(f"{what}: this machine has no {command[0]}") from None
    except subprocess.TimeoutExpired:
        raise DebianError(f"{what}: no end after {APT_TIMEOUT_S} s; try again") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise DebianError(f"{what}: {lines[-1] if lines else f'exit code {done.returncode}'}")
    return done.stdout


def codename() -> str:
    """The release of this machine, such as ``bookworm``."""
    for line in OS_RELEASE.read_text().splitlines() if OS_RELEASE.exists() else []:
        key, _, value = line.partition("=")
        if key == "VERSION_CODENAME":
            return value.strip('"')
    raise DebianError(f"{OS_RELEASE} names no release: is this a Debian?")


def archive() -> str:
    """The address from which this machine's apt gets its own release."""
    release = codename()
    rows = _run(
        ["apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)", "Created-By: Packages"],
        "asking apt for its archive",
    )
    for row in rows.splitlines():
        name, _, address = row.partition(" ")
        if name == release:
            return address
    raise DebianError(f"apt lists no archive for {release}: run 'apt-get update' once, as root")


@contextmanager
def private_apt(lines: Sequence[str], status: Path | None = None) -> Iterator[list[str]]:
    """An ``apt-get`` command line that uses only these source lines and a state of its own."""
    if not KEYRING.exists():
        raise DebianError(f"{KEYRING} is missing: install debian-archive-keyring")
    with tempfile.TemporaryDirectory(prefix="debian-") as name:
        root = Path(name)
        for folder in ("state/lists/partial", "cache/archives/partial", "parts"):
            (root / folder).mkdir(parents=True)
        (root / "sources.list").write_text("".join(f"{line}\n" for line in lines))
        if status is None:
            status = root / "status"
            status.touch()
        settings = {
            "Dir::Etc::sourcelist": root / "sources.list",
            "Dir::Etc::sourceparts": root / "parts",
            "Dir::State": root / "state",
            "Dir::State::status": status,
            "Dir::Cache": root / "cache",
            "APT::Sandbox::User": "",
            "APT::Get::AllowUnauthenticated": "false",
            "Acquire::AllowInsecureRepositories": "false",
            "Acquire::Languages": "none",
            "Debug::NoLocking": "1",
        }
        command = ["apt-get", "-q", "-y"]
        for key, value in settings.items():
            command += ["-o", f"{key}={value}"]
        _run([*command, "update"], "reading the package lists")
        yield command


def _source_line(kind: str, suite: str) -> str:
    return f"{kind} [signed-by={KEYRING}] {archive()} {suite} main"


def fetch_source(package: str, version: str, suite: str, to: Path) -> list[Path]:
    """Download a source package (``.dsc`` and tarballs) into the folder `to`."""
    to.mkdir(parents=True, exist_ok=True)
    with private_apt([_source_line("deb-src", suite)]) as apt:
        wanted = f"{package}={version}"
        _run([*apt, "source", "--download-only", wanted], f"fetching {wanted} of {suite}", cwd=to)
    upstream = version.partition(":")[2] or version
    return sorted(to.glob(f"{package}_{upstream.rpartition('-')[0] or upstream}*"))


def fetch_binary(packages: Sequence[str], suite: str, to: Path) -> list[Path]:
    """Download packages of a suite, and what they need that is not installed here, into `to`.

    A suite that only adds to another (``bookworm-backports``) brings that one along.
    """
    to.mkdir(parents=True, exist_ok=True)
    suites = dict.fromkeys([suite.partition("-")[0], suite])
    lines = [_source_line("deb", each) for each in suites]
    with private_apt(lines, SYSTEM_STATUS) as apt:
        where = f"-oDir::Cache::archives={to.resolve()}"
        options = ["--download-only", "--reinstall", "--no-install-recommends", "-t", suite]
        (to / "partial").mkdir(exist_ok=True)
        what = f"fetching {' '.join(packages)} of {suite}"
        _run([*apt, where, "install", *options, *packages], what)
    shutil.rmtree(to / "partial", ignore_errors=True)
    return sorted(to.glob("*.deb"))


def unpack(archives: Sequence[Path], to: Path) -> None:
    """Lay the files of ``.deb`` archives out under the folder `to`, without installing them."""
    to.mkdir(parents=True, exist_ok=True)
    for each in archives:
        _run(["dpkg-deb", "--extract", str(each), str(to)], f"unpacking {each.name}")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line described at the top of this file."""
    parser = argparse.ArgumentParser(description="Fetch packages of a Debian suite.")
    kinds = parser.add_subparsers(dest="kind", required=True)
    source = kinds.add_parser("source", help="a source package: .dsc and tarballs")
    source.add_argument("package")
    source.add_argument("version")
    binary = kinds.add_parser("binary", help="binary packages and what they need")
    binary.add_argument("packages", nargs="+")
    binary.add_argument("--unpack", type=Path, metavar="DIR", help="also lay their files out here")
    for each in (source, binary):
        each.add_argument("--suite", required=True)
        each.add_argument("--to", type=Path, default=Path(), help="folder to download into")
    options = parser.parse_args(arguments)
    try:
        if options.kind == "source":
            files = fetch_source(options.package, options.version, options.suite, options.to)
        else:
            files = fetch_binary(options.packages, options.suite, options.to)
            if options.unpack:
                unpack(files, options.unpack)
    except DebianError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(*files, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
