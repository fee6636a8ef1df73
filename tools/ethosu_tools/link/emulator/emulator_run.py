# SPDX-License-Identifier: MIT
"""Follows an emulator that runs firmware: passes on its output, and ends the run."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import BinaryIO

from ...base import helper_process
from ...base.deadline import STEP_S, Deadline
from ...base.errors import NotHereError
from . import qemu
from .emulator_log import EmulatorLog, Excerpt

# Firmware sends this on a UART at its end, which stops Fast Models as well. Firmware with Arm's
# retargeting of the C library immediately sends one more byte, the exit code.
END = b"\x04"
_CODE_S = 0.05
# An emulator that is asked to end gets this time.
_END_S = 10.0
# The end of the log that is searched each time; QEMU logs each invalid access, so it may be large.
_LOG_END = 1 << 20


class Reason(Enum):
    """The event that ended a run."""

    EXIT = "the firmware ended, or QEMU did"
    EOT = "the firmware sent EOT"
    TEXT = "the firmware printed an awaited text"
    PROCESSOR_TIME = "the limit of the emulator's time"
    SIMULATED_TIME = "the limit of the firmware's time"


class Stream:
    """Output of the firmware that arrives at a file descriptor.

    `on_data` gets it as it arrives. EOT ends the run if `eot`; so does each of `texts`.
    """

    def __init__(
        self,
        on_data: Callable[[bytes], object],
        *,
        eot: bool = True,
        texts: Iterable[str] = (),
    ) -> None:
        self.kept = Excerpt()
        self.after = b""
        self._on_data, self._eot = on_data, eot
        self._texts = [text.encode() for text in texts]
        self._longest = max(map(len, self._texts), default=0)

    def take(self, data: bytes) -> Reason | None:
        """Pass data on, up to EOT; returns whether it ends the run."""
        end = b""
        if self._eot:
            data, end, self.after = data.partition(END)
        self._on_data(data)
        recent = self.kept.end(self._longest) + data
        self.kept.take(data)
        if any(text in recent for text in self._texts):
            return Reason.TEXT
        return Reason.EOT if end else None


@dataclass(frozen=True)
class Limits:
    """Limits that end a run, in addition to its streams.

    `until` is a text on stderr. `processor_s` are seconds of a `Deadline`, `simulated_s` seconds of
    the firmware's own clock, which QEMU runs at the speed of the host's.
    """

    until: str | None = None
    processor_s: float | None = None
    simulated_s: float | None = None


@dataclass(frozen=True)
class Outcome:
    """The end of a run; `code`, QEMU's exit code, is meaningless unless QEMU ended by itself.

    `after` are the bytes that followed EOT immediately. `log` is the output on stderr, without the
    middle if it is long.
    """

    reason: Reason
    code: int
    after: bytes
    log: str
    user_s: float
    system_s: float
    wall_s: float


def run(
    command: Callable[[Sequence[str]], Sequence[str]],
    streams: Sequence[Stream],
    limits: Limits,
    *,
    files: Iterable[int] = (),
    in_order: bool = False,
) -> Outcome:
    """Run an emulator to the end of its firmware.

    The first stream is its stdout; `command` gets the paths at which QEMU opens the others.
    QEMU inherits `files`. With `in_order`, QEMU ends by itself, to write memory to files first.
    """
    if sys.platform != "linux":
        raise NotHereError("an emulated board")
    import resource  # only POSIX has it

    began, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with contextlib.ExitStack() as resources:
        log = resources.enter_context(EmulatorLog())
        pipes = [_pipe(resources) for _ in streams]
        stdout, *ends = (write.fileno() for _, write in pipes)
        words = command([f"/dev/fd/{end}" for end in ends])
        process = qemu.start(words, stdout=stdout, stderr=log, pass_fds=[*ends, *files])
        try:
            for _, write in pipes:
                write.close()
            sources = {read: stream for (read, _), stream in zip(pipes, streams, strict=True)}
            reason, after = _follow(process, sources, log, limits)
            process.send_signal(signal.SIGTERM if in_order else signal.SIGKILL)
            _drain(process, sources)
        finally:
            helper_process.end(process)
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        return Outcome(
            reason,
            process.returncode,
            after,
            qemu.in_plain_words(log.text()),
            now.ru_utime - used.ru_utime,
            now.ru_stime - used.ru_stime,
            time.monotonic() - began,
        )


def _pipe(resources: contextlib.ExitStack) -> tuple[int, BinaryIO]:
    """Open a pipe that is closed with `resources`; the writing end may be closed earlier."""
    read, write = os.pipe()
    resources.callback(os.close, read)
    return read, resources.enter_context(os.fdopen(write, "wb", buffering=0))


def _drain(process: "subprocess.Popen[bytes]", sources: dict[int, Stream]) -> None:
    """Wait until an emulator that was asked to end has ended, and read its output until then."""
    deadline, ended = Deadline(_END_S, process), False
    while sources or not ended:
        ended = deadline.expired()
        if ended:
            process.kill()
        for read in select.select([*sources], [], [], STEP_S if sources else _CODE_S)[0]:
            if data := os.read(read, 65536):
                sources[read].take(data)
            else:
                del sources[read]


def _follow(
    process: "subprocess.Popen[bytes]", sources: dict[int, Stream], log: EmulatorLog, limits: Limits
) -> tuple[Reason, bytes]:
    """Read output until the run ends; returns why, and the bytes after EOT.

    Streams that ended are taken out of `sources`; the rest of one that ends the run is ignored.
    """
    deadline, began = Deadline(limits.processor_s, process), time.monotonic()
    while sources:
        for read in select.select([*sources], [], [], STEP_S)[0]:
            stream, data = sources[read], os.read(read, 65536)
            if not data:
                del sources[read]
                continue
            reason = stream.take(data)
            if reason is Reason.EOT and limits.until and _on_stderr(log, limits.until):
                reason = Reason.TEXT
            if reason:
                sources[read] = Stream(lambda data: None, eot=False)
                after = _after(process, read, stream.after) if reason is Reason.EOT else b""
                return reason, after
        if limits.until and _on_stderr(log, limits.until):
            return Reason.TEXT, b""
        if sources and process.poll() is None:
            if limits.simulated_s and time.monotonic() - began >= limits.simulated_s:
                return Reason.SIMULATED_TIME, b""
            if deadline.expired() and process.poll() is None:
                return Reason.PROCESSOR_TIME, b""
    process.wait()
    return Reason.EXIT, b""


def _on_stderr(log: EmulatorLog, text: str) -> bool:
    """Whether the firmware, not QEMU, has printed a text at the end of stderr."""
    lines = log.end(_LOG_END).splitlines(keepends=True)
    return text in "".join(line for line in lines if not line.startswith("qemu"))


def _after(process: "subprocess.Popen[bytes]", read: int, after: bytes) -> bytes:
    """Return the bytes that follow EOT immediately."""
    deadline = Deadline(_CODE_S, process)
    while len(after) < 2 and process.poll() is None and not deadline.expired():
        if select.select([read], [], [], STEP_S)[0]:
            after += os.read(read, 65536)
    return after
