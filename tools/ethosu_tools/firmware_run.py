# SPDX-License-Identifier: MIT
"""Runs any firmware on an emulated board with an NPU, to its end.

Its output on the UART or by semihosting is passed on as it arrives. The run ends with semihosting's
exit, at a text that a test waits for, or at the time-out.
"""

import os
import select
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from . import boards, qemu
from .deadline import STEP_S, Deadline
from .errors import BoardError

TIMEOUT_S = 60.0
# Firmware sends this on a UART at its end, which stops Fast Models as well. Firmware with Arm's
# retargeting of the C library immediately sends one more byte, the exit code.
END = b"\x04"
_CODE_S = 0.05
# A symbol that exists only in this project's firmware.
OURS = "firmware_main"
_TAIL = 200
# The end of the log that is searched each time; QEMU logs each invalid access, so it may be large.
_LOG_END = 1 << 20


@dataclass(frozen=True)
class Ended:
    """How a run ended: `exit_code` comes from semihosting or follows EOT; it is 0 after `until`.

    Output after the awaited text has no effect.
    """

    exit_code: int
    output: str
    log: str


def is_ours(image: Path) -> bool:
    """Whether it is this project's firmware, with a prompt that the tools can use."""
    return f"\0{OURS}\0".encode() in image.read_bytes()


def run(
    image: Path,
    *,
    board: str | None = None,
    npu: str | None = None,
    until: str | None = None,
    timeout: float = TIMEOUT_S,
    arguments: Sequence[str] = (),
    mode: str | None = None,
    timed: bool = False,
    vectors: int | None = None,
    on_output: Callable[[bytes], object] = lambda data: None,
) -> Ended:
    """Run an image (ELF) from reset; semihosting accesses the files of the current folder.

    `npu` overrides the board's NPU. `until` is a text on the output or on stderr that ends the run
    with exit code 0. The character EOT always ends the run, and the byte after it is the exit code.
    `timeout` is in seconds of a `Deadline`. `arguments` are the command line for semihosting.
    `mode` is the coherence mode, see coherence.py. `vectors` is the address of the vector table
    after a reset, if it is not the board's.

    Raises BoardError at the time-out, if QEMU fails, or if the firmware ends successfully without
    `until`; the message contains the last output.
    """
    facts = boards.machine(board)
    start = [] if vectors is None else [f"vectors={vectors:#x}"]
    command = [
        qemu.find_qemu(),
        *qemu.options(facts, image, npu or facts.npus[0], mode, timed=timed, plugin=start),
        *("-chardev", "stdio,id=out,mux=on,signal=off", "-serial", "chardev:out"),
        *semihosting("out", [image.name, *arguments]),
    ]
    with tempfile.TemporaryFile("w+b", prefix="ethosu-qemu-") as log:
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log
        ) as process:
            try:
                output = _follow(process, log, until, timeout, on_output)
            except BoardError as error:
                errors = qemu.read_log(log).strip()
                raise BoardError(
                    f"{error}; on stderr: {errors[-_TAIL:]!r}" if errors else error
                ) from None
            finally:
                process.kill()
        errors = qemu.read_log(log)
    code = output.exit_code if output.ended or output.matched else process.returncode
    if code < 0 or (code and not output.ended and _is_from_qemu(errors)):
        raise BoardError(f"QEMU ended with {code}: {qemu.summarise_log(errors)}")
    if until and code == 0 and not output.matched:
        raise BoardError(f"the firmware ended without {until!r}; {_last(output)}")
    return Ended(code, output.text, errors)


def _is_from_qemu(errors: str) -> bool:
    """Whether QEMU printed an error other than about an optional module of another QEMU version."""
    lines = [line for line in errors.splitlines() if "qemu-system" in line]
    return any("failed to initialize module" not in line for line in lines)


def semihosting(device: str | None, arguments: Sequence[str] = ()) -> list[str]:
    """Options of QEMU that let firmware print, read files and exit by semihosting."""
    words = ["enable=on", "target=native", *([f"chardev={device}"] if device else [])]
    words += [f"arg={qemu.quoted(argument)}" for argument in arguments]
    return ["-semihosting-config", ",".join(words)]


@dataclass
class _Output:
    data: bytearray = field(default_factory=bytearray)
    ended: bool = False  # by EOT
    matched: bool = False  # the awaited text arrived before EOT
    exit_code: int = 0

    @property
    def text(self) -> str:
        return self.data.decode(errors="replace")


def _follow(
    process: "subprocess.Popen[bytes]",
    log: IO[bytes],
    until: str | None,
    timeout: float,
    on_output: Callable[[bytes], object],
) -> _Output:
    """Read output until the run ends."""
    assert process.stdout is not None
    output, deadline, runs = _Output(), Deadline(timeout, process), True
    while runs and not (output.ended or output.matched):
        data = after = b""
        if select.select([process.stdout], [], [], STEP_S)[0]:
            data = os.read(process.stdout.fileno(), 65536)
            if not data:
                runs = False
                process.wait()
            data, end, after = data.partition(END)
            on_output(data)
            output.data += data
            output.ended = bool(end)
        output.matched = until is not None and _matches(until.encode(), output, len(data), log)
        if output.ended and not output.matched:
            output.exit_code = _code_after(process, after)
        elif runs and not output.matched and deadline.expired() and process.poll() is None:
            raise BoardError(f"the firmware did not end within {timeout:g} s; {_last(output)}")
    return output


def _matches(until: bytes, output: _Output, new: int, log: IO[bytes]) -> bool:
    """Whether the text is in the `new` last bytes of the output, or at the end of stderr."""
    if until in output.data[-(new + len(until)) :]:
        return True
    return until.decode() in _without_qemu(qemu.read_log(log, _LOG_END))


def _without_qemu(errors: str) -> str:
    """The firmware's own output on stderr."""
    lines = errors.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("qemu"))


def _last(output: _Output) -> str:
    """The end of the output, for an error message."""
    last = output.data[-_TAIL:].decode(errors="replace").strip()
    return f"its last output: {last!r}" if last else "it printed nothing"


def _code_after(process: "subprocess.Popen[bytes]", after: bytes) -> int:
    """The exit code after END; exactly one byte must follow."""
    assert process.stdout is not None
    deadline = Deadline(_CODE_S, process)
    while len(after) < 2 and process.poll() is None and not deadline.expired():
        if select.select([process.stdout], [], [], STEP_S)[0]:
            after += os.read(process.stdout.fileno(), 65536)
    return after[0] if len(after) == 1 else 0
