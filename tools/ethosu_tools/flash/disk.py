# SPDX-License-Identifier: MIT
"""By disk: the debug probe on the board shows a USB disk, and writes what is copied there.

Settings: `label` of the disk; `info`, a file that the probe shows on it; `refuse`, the beginning of
the label of a disk that must not get the image; `largest`, the bytes of flash; `documentation`, a
sentence that says where it is explained; `address`, where the probe puts the image. Facts of the
Nu-Link: README of OpenNuvoton/Nuvoton_Tools and of NuMicroPy.
"""

import os
import platform
import re
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ..errors import BoardError, InputError, SetupError
from .job import Job, Step, Way, read_image

_MOUNTS = Path("/proc/mounts")
_VOLUMES = Path("/Volumes")
# How a space in a path is written in the list of mounts.
_OCTAL = re.compile(r"\\([0-7]{3})")
# Probes say here why they did not write an image (DAPLink does, and others took it over).
_REFUSED = "FAIL.TXT"
# A probe that has written an image may unmount its disk and show it again.
_BACK_S = 10.0
_LOOK_S = 0.2
# File systems of a probe's disk, in Linux's terms; others, such as network mounts, are skipped.
_FILE_SYSTEMS = {"vfat", "msdos", "exfat"}
# A disk whose cable was pulled may not answer, and never will.
_ANSWER_S = 5.0
_COPY_S = 120.0


T = TypeVar("T")


class _SilentError(Exception):
    """The disk does not answer."""


def _answer(question: Callable[[], T], seconds: float | None = None) -> T:
    """Ask a disk; _SilentError after `seconds` (None: _ANSWER_S). OSError passes through."""
    answers: list[T | BaseException] = []

    def ask() -> None:
        try:
            answers.append(question())
        except BaseException as error:  # raised where it was asked
            answers.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(_ANSWER_S if seconds is None else seconds)
    if not answers:
        raise _SilentError
    if isinstance(answers[0], BaseException):
        raise answers[0]
    return answers[0]


def mounted() -> list[Path]:
    """Mount points of disks."""
    if platform.system() == "Darwin":
        return sorted(_VOLUMES.iterdir())
    if platform.system() != "Linux":
        raise SetupError(
            f"on {platform.system()} the board's disk is not found by its label: name it with "
            "--disk, say --disk E:\\"
        )
    rows = (line.split() for line in _MOUNTS.read_text(errors="replace").splitlines())
    return [
        Path(_OCTAL.sub(lambda code: chr(int(code[1], 8)), row[1]))
        for row in rows
        if row[2] in _FILE_SYSTEMS
    ]


def find(job: Job, settings: Mapping[str, Any]) -> Path:
    """Folder of the board's disk: that of --disk, else the one with its label or its info file."""
    label, info = settings["label"], settings["info"]
    if job.disk:
        found = [job.disk]
        if not _is(job.disk.is_dir):
            raise InputError(f"{job.disk} is no mounted disk, or it does not answer")
    else:
        disks = mounted()
        # A second disk of the same label gets a number behind it.
        named = [disk for disk in disks if re.fullmatch(rf"{re.escape(label)} ?\d*", disk.name)]
        found = named or [disk for disk in disks if _is((disk / info).is_file)]
    if not found:
        raise SetupError(
            f'no disk "{label}" is mounted: connect the board by the USB socket of its debug '
            "probe, mount the disk that appears, or name its folder with --disk; "
            f"{settings['documentation']}"
        )
    if len(found) > 1:
        names = ", ".join(map(str, found))
        raise InputError(f"{len(found)} disks could be the board's: {names}; name one with --disk")
    if found[0].name.startswith(settings["refuse"]):
        raise InputError(
            f"{found[0]} is the disk of the probe's own firmware, which the image would overwrite: "
            f'connect the board without pressing a button, so that "{label}" appears'
        )
    return found[0]


def _is(kind: Callable[[], bool]) -> bool:
    try:
        return _answer(kind)
    except (OSError, _SilentError):  # a mount that answers no more
        return False


def copy(image: Path, data: bytes, disk: Path) -> dict[str, Any]:
    """Copy the image and check the copy; BoardError if it differs."""
    target = disk / image.name
    refused = disk / _REFUSED

    def write() -> None:
        free = shutil.disk_usage(disk).free
        if len(data) > free:
            raise InputError(f"{disk} has {free:,} bytes free, the image {len(data):,}")
        refused.unlink(missing_ok=True)
        with target.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    try:
        _answer(write, _COPY_S)
    except OSError as error:
        raise BoardError(f"{target} could not be written: {error.strerror}") from None
    except _SilentError:
        raise BoardError(f"{disk} did not take the image within {_COPY_S:g} s") from None
    return {"disk": str(disk), "bytes": len(data), "checked": _check(target, data, refused)}


def _check(target: Path, data: bytes, refused: Path) -> str:
    """Describe the state of the image on the disk."""
    deadline = time.monotonic() + _BACK_S
    while not _is(target.parent.is_dir) and time.monotonic() < deadline:
        time.sleep(_LOOK_S)

    def read() -> bytes:
        with target.open("rb") as file:
            if hasattr(os, "posix_fadvise"):  # else this computer answers from its own memory
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            return file.read(len(data) + 1)

    try:
        if _is(refused.is_file):
            said = _answer(lambda: refused.read_text(errors="replace").strip())
            raise BoardError(f"the probe refused the image: {said}")
        if not _is(target.is_file):
            return "the probe took the file and shows it no more"
        found = _answer(read, _COPY_S)
    except (OSError, _SilentError):
        return "the disk went away, as it does when the probe has written an image"
    if found != data:
        raise BoardError(
            f"{target} is not what was copied: {len(found):,} bytes instead of {len(data):,}"
            if len(found) != len(data)
            else f"{target} is not what was copied"
        )
    return "the disk holds the image"


def steps(job: Job, settings: Mapping[str, Any]) -> list[Step]:
    """Copy, then look."""
    image = job.image(".bin")
    where = job.disk or f'the disk "{settings["label"]}"'

    def do() -> Mapping[str, Any]:
        data = read_image(image, settings["largest"])
        return copy(image, data, find(job, settings))

    return [Step(f"copy {image} to {where}, and look whether it is whole there", do)]


WAY = Way(
    "disk",
    "copied to the USB disk of the board's debug probe",
    steps,
    frozenset({"label", "info", "refuse", "largest", "documentation"}),
    frozenset({"address"}),
)
