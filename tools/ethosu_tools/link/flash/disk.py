# SPDX-License-Identifier: MIT
"""Flashes by disk: the board's debug probe appears as a USB disk, and flashes files copied to it.

Settings: `label` of the disk; `info`, a file that the probe shows on it; `refuse`, the prefix of
the label of a disk that must not receive the image; `largest`, the bytes of flash; `documentation`,
a sentence with a link to documentation; `address`, where the probe writes the image. Source for the
Nu-Link: the READMEs of OpenNuvoton/Nuvoton_Tools and of NuMicroPy.
"""

import os
import platform
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ...base.errors import BoardError, InputError, SetupError
from .common import Request, Step, Way, read_image

_MOUNTS = Path("/proc/mounts")
_VOLUMES = Path("/Volumes")
# The list of mounts escapes a space like this.
_OCTAL = re.compile(r"\\([0-7]{3})")
# Probes write the reason why they rejected an image here (DAPLink's convention).
_REFUSED = "FAIL.TXT"
# After writing an image, a probe may disconnect its disk and connect it again.
_RECONNECT_S = 10.0
_POLL_S = 0.2
# File systems of a probe's disk, in Linux's terms; others, such as network mounts, are skipped.
_FILE_SYSTEMS = {"vfat", "msdos", "exfat"}
# Access to a disk whose cable was unplugged may block forever.
_ANSWER_S = 5.0
_COPY_S = 120.0


T = TypeVar("T")


class _SilentError(Exception):
    """The disk does not respond."""


def _within(access: Callable[[], T], seconds: float | None = None) -> T:
    """Access a disk; raises _SilentError after `seconds` (default: _ANSWER_S)."""
    answers: list[T | BaseException] = []

    def run() -> None:
        try:
            answers.append(access())
        except BaseException as error:  # raised again by the caller's thread
            answers.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(_ANSWER_S if seconds is None else seconds)
    if not answers:
        raise _SilentError
    if isinstance(answers[0], BaseException):
        raise answers[0]
    return answers[0]


def mounted() -> list[Path]:
    """List the mount points of disks."""
    if platform.system() == "Darwin":
        return sorted(_VOLUMES.iterdir())
    if platform.system() != "Linux":
        raise SetupError(
            f"the board's disk cannot be found by its label on {platform.system()}: pass it with "
            "--disk, for example --disk E:\\"
        )
    rows = (line.split() for line in _MOUNTS.read_text(errors="replace").splitlines())
    return [
        Path(_OCTAL.sub(lambda code: chr(int(code[1], 8)), row[1]))
        for row in rows
        if row[2] in _FILE_SYSTEMS
    ]


def find(request: Request, settings: Mapping[str, Any]) -> Path:
    """Find the board's disk: --disk, else the disk with its label or its info file."""
    label, info = settings["label"], settings["info"]
    if request.disk:
        choice = [request.disk]
        if not _is(request.disk.is_dir):
            raise InputError(f"{request.disk} is not a mounted disk, or it does not respond")
    else:
        disks = mounted()
        # A second disk with the same label gets a number appended.
        named = [disk for disk in disks if re.fullmatch(rf"{re.escape(label)} ?\d*", disk.name)]
        choice = named or [disk for disk in disks if _is((disk / info).is_file)]
    if not choice:
        raise SetupError(
            f'no disk "{label}" is mounted: connect the USB port of the board\'s debug probe, '
            "mount the disk that appears, or pass its mount point with --disk; "
            f"{settings['documentation']}"
        )
    if len(choice) > 1:
        names = ", ".join(map(str, choice))
        raise InputError(f"{len(choice)} disks match: {names}; select one with --disk")
    if choice[0].name.startswith(settings["refuse"]):
        raise InputError(
            f"{choice[0]} is the disk of the probe's own firmware, which the image would "
            f'overwrite: connect the board without pressing its button, so that "{label}" appears'
        )
    return choice[0]


def _is(kind: Callable[[], bool]) -> bool:
    try:
        return _within(kind)
    except (OSError, _SilentError):  # a stale mount
        return False


def copy(image: Path, data: bytes, disk: Path) -> dict[str, Any]:
    """Copy the image and check the copy; raises BoardError if it differs."""
    target = disk / image.name
    refused = disk / _REFUSED

    def write() -> None:
        free = shutil.disk_usage(disk).free
        if len(data) > free:
            raise InputError(f"{disk} has {free:,} bytes free, the image needs {len(data):,}")
        refused.unlink(missing_ok=True)
        with target.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    try:
        _within(write, _COPY_S)
    except OSError as error:
        raise BoardError(f"{target} could not be written: {error.strerror}") from None
    except _SilentError:
        raise BoardError(
            f"timed out after {_COPY_S:g} s while copying the image to {disk}"
        ) from None
    return {"disk": str(disk), "bytes": len(data), "checked": _check(target, data, refused)}


def _check(target: Path, data: bytes, refused: Path) -> str:
    """Describe the state of the image on the disk."""
    deadline = time.monotonic() + _RECONNECT_S
    while not _is(target.parent.is_dir) and time.monotonic() < deadline:
        time.sleep(_POLL_S)

    def read() -> bytes:
        with target.open("rb") as file:
            if sys.platform == "linux":  # otherwise the page cache is read
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            return file.read(len(data) + 1)

    try:
        if _is(refused.is_file):
            reason = _within(lambda: refused.read_text(errors="replace").strip())
            raise BoardError(f"the probe rejected the image: {reason}")
        if not _is(target.is_file):
            return "the probe accepted the file and no longer shows it"
        written = _within(read, _COPY_S)
    except (OSError, _SilentError):
        return "the disk disconnected, as it does after the probe has written an image"
    if written != data:
        sizes = f": {len(written):,} bytes instead of {len(data):,}"
        other = sizes if len(written) != len(data) else ""
        raise BoardError(f"{target} differs from the image{other}")
    return "the image is on the disk"


def steps(request: Request, settings: Mapping[str, Any]) -> list[Step]:
    """Copy the image and check the copy."""
    image = request.image(".bin")
    where = request.disk or f'the disk "{settings["label"]}"'

    def do() -> Mapping[str, Any]:
        data = read_image(image, settings["largest"])
        return copy(image, data, find(request, settings))

    return [Step(f"copy {image} to {where}, and check the copy", do)]


WAY = Way(
    "disk",
    "copied to the USB disk of the board's debug probe",
    steps,
    frozenset({"label", "info", "refuse", "largest", "documentation"}),
    frozenset({"address"}),
)
