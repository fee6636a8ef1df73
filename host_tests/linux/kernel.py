# SPDX-License-Identifier: MIT
"""Fetches Debian's kernel for arm64 with its ethosu driver into build/linux.

SUITE has a kernel with that driver. The packages' names contain the version, and the archive drops
them when a new version arrives, so the newest is fetched, and kept.
"""

from __future__ import annotations

import lzma
import re
import shutil
import tempfile
from pathlib import Path

from host_tests.kit import debian, sharing
from host_tests.kit.debian import PackageMissingError

SUITE = "trixie-backports"
META = "linux-image-arm64"
MODULE = "ethosu"
BUILD = sharing.BUILD / "linux"


class Kernel:
    """A kernel image, and the modules that its ethosu driver needs, in the order of loading."""

    def __init__(self, folder: Path) -> None:
        """Read the files that `_fetch` has written."""
        self.image = folder / "vmlinuz"
        self.version = (folder / "version").read_text()
        self.modules = sorted(folder.glob("*.ko"))


def _depends(module: bytes) -> list[str]:
    """Return the names of the modules that a module needs."""
    match = re.search(rb"\0depends=([^\0]*)\0", module)
    return [name for name in (match[1].decode() if match else "").split(",") if name]


def _with_dependencies(folder: Path, name: str, done: dict[str, bytes]) -> None:
    """Read a module after its dependencies; names have `_` where files may have `-`."""
    if name in done:
        return
    files = [path for path in folder.rglob("*.ko.xz") if path.name[:-6].replace("-", "_") == name]
    if not files:
        raise PackageMissingError(f"this kernel has no module {name}")
    module = lzma.decompress(files[0].read_bytes())
    for other in _depends(module):
        _with_dependencies(folder, other.replace("-", "_"), done)
    done[name] = module


def _download(to: Path) -> str:
    """Unpack the packages of the newest kernel; returns its version."""
    with debian.apt([SUITE], "arm64") as options:
        shown = debian.run("apt-cache", *options, "show", META)
        match = re.search(r"^Depends:.* linux-image-(\S+)-arm64 \(= (\S+)\)", shown, re.MULTILINE)
        if not match:
            raise PackageMissingError(f"{SUITE} has no {META} that names a kernel")
        names = [f"linux-{kind}-{match[1]}-arm64" for kind in ("binary", "modules")]
        debian.unpack(options, to / "root", "download", *names)
    return match[2]


def _fetch(to: Path) -> None:
    """Fill a folder with the kernel and its modules."""
    with tempfile.TemporaryDirectory(dir=to) as name:
        version = _download(Path(name))
        (folder,) = Path(name, "root/usr/lib/modules").iterdir()
        modules: dict[str, bytes] = {}
        _with_dependencies(folder, MODULE, modules)
        shutil.copy(folder / "vmlinuz", to)
    for number, (module, content) in enumerate(modules.items()):
        (to / f"{number:02}-{module}.ko").write_bytes(content)
    (to / "version").write_text(version)


def get() -> Kernel:
    """Return the kernel, fetched at the first call."""
    return Kernel(debian.keep(BUILD, _fetch))
