# SPDX-License-Identifier: MIT
"""Unpacks Debian's arm64 compiler into build/cross; its package conflicts with i386's."""

from __future__ import annotations

import re
import stat
from pathlib import Path

from host_tests.kit import debian, sharing
from host_tests.kit.debian import PackageMissingError

TARGET = "aarch64-linux-gnu"
BUILD = sharing.BUILD / "cross"
PACKAGES = (
    *("gcc-{n}-aarch64-linux-gnu", "cpp-{n}-aarch64-linux-gnu", "libgcc-{n}-dev-arm64-cross"),
    *("binutils-aarch64-linux-gnu", "libc6-dev-arm64-cross", "libc6-arm64-cross"),
    "linux-libc-dev-arm64-cross",
)
TOOLS = {"gcc": "gcc-{n} --sysroot={root} -B{root}/usr/bin/{target}- -B{libraries} {headers}"}
TOOLS["ar"] = "ar"

WRAPPER = """\
#!/bin/sh
# Runs an unpacked tool with its own libraries.
export LD_LIBRARY_PATH="{host}"
exec "{root}/usr/bin/{target}-"{words} "$@"
"""


def _write_tools(folder: Path, number: str) -> None:
    """Write a wrapper for each tool into a folder that will be moved to BUILD."""
    root = BUILD / "root"
    (host,) = {path.parent for path in folder.glob("root/usr/lib/*-linux-gnu/libbfd-*")}
    for name, words in TOOLS.items():
        tool = folder / f"{TARGET}-{name}"
        command = words.format(
            n=number,
            root=root,
            target=TARGET,
            libraries=root / "usr" / TARGET / "lib",
            headers=f"-isystem {root / 'usr' / TARGET / 'include'}",
        )
        tool.write_text(
            WRAPPER.format(
                host=BUILD / host.relative_to(folder), root=root, target=TARGET, words=command
            )
        )
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR)


def _fetch(to: Path) -> None:
    """Fill a folder with the unpacked packages and the tools."""
    with debian.apt([debian.codename()]) as options:
        shown = debian.run("apt-cache", *options, "show", f"gcc-{TARGET}")
        match = re.search(rf"gcc-(\d+)-{TARGET}", shown)
        if not match:
            raise PackageMissingError(f"{debian.codename()} has no gcc-{TARGET}")
        names = [package.format(n=match[1]) for package in PACKAGES]
        debian.unpack(options, to / "root", "download", *names)
    _write_tools(to, match[1])


def get() -> str:
    """Return the prefix of the tools' names; they are fetched at the first call."""
    return f"{debian.keep(BUILD, _fetch) / TARGET}-"
