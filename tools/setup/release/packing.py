# SPDX-License-Identifier: MIT
"""Writes the archives of a release: the same files make the same bytes, at any time."""

import os
import re
import subprocess
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

_DATE = Path(__file__).resolve().parents[3] / "firmware/make/date.mk"


def epoch() -> str:
    """The date of all files of a release, in seconds: SOURCE_DATE_EPOCH, or what date.mk says."""
    found = re.search(r"SOURCE_DATE_EPOCH \?= (\d+)", _DATE.read_text())
    assert found
    return os.environ.get("SOURCE_DATE_EPOCH") or found[1]


def write(target: Path, files: Mapping[str, bytes]) -> None:
    """Write an archive of these files: all archives of a release are made here."""
    date = time.gmtime(int(epoch()))[:6]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, date)
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name])


def folder(path: Path) -> dict[str, bytes]:
    """Read the files of a folder, of a source folder only those that git knows."""
    command = ["git", "-C", str(path), "ls-files", "-z"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = (path / name for name in listed.split("\0") if name) if listed else path.rglob("*")
    return {str(file.relative_to(path)): file.read_bytes() for file in found if file.is_file()}
