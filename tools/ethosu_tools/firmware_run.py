# SPDX-License-Identifier: MIT
"""Runs anyone's firmware on an emulated board with an NPU, to its end.

What it prints, by its UART or by semihosting, is handed on as it comes. It ends by itself (the exit
code of semihosting), with a text that a test waits for, or when its time is over.
"""

import os
import select
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from . import boards, coherence, paths, qemu
from .boards import BoardFacts, Emulation
from .deadline import STEP_S, Deadline
from .errors import BoardError, InputError

TIMEOUT_S = 60.0
# How firmware says on a UART that it is done, where a Fast Model would be told to stop. Firmware
# with Arm's retargeting of the C library then sends one more byte, the exit code, at once.
END = b"\x04"
_CODE_S = 0.05
# A symbol that only the firmware of this project has.
OURS = "firmware_main"
_TAIL = 200
# Of the log, in which QEMU notes each bad access, so much is searched at a time.
_LATELY = 1 << 20


@dataclass(frozen=True)
class Ended:
    """How a run ended: `exit_code` is that of semihosting or after EOT, 0 after another text.

    What the firmware prints after the awaited text changes nothing.
    """

    exit_code: int
    output: str
    log: str


def is_ours(image: Path) -> bool:
    """Is it this project's firmware, whose prompt a program can talk to?"""
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
    on_output: Callable[[bytes], object] = lambda data: None,
) -> Ended:
    """Run an image (ELF) from its reset on; semihosting sees the files of this folder.

    `npu` is another one than the board's. `until`: a text that ends the run well (0), on the
    output or on stderr, whatever the firmware prints or returns after it. The character EOT always
    ends it, and one byte after it is the exit code. `timeout`: seconds of the emulator's time.
    `arguments` are what semihosting gives as the command line. `mode` of the CPU's data cache: see
    coherence.py.
    BoardError: the time is over, QEMU failed, or the firmware ended well without `until`; it says
    what was printed last.
    """
    facts = boards.chosen(board)
    emulation = emulated(facts)
    npu = npu or facts.npus[0]
    plugin = [f"board={facts.name}", f"npu={npu}", f"coherence={coherence.chosen(mode)}"]
    plugin += qemu.timing_options(facts, npu) if timed else []
    command = [
        *(qemu.find_qemu(), "-machine", emulation.machine, "-display", "none"),
        *("-plugin", ",".join(map(qemu.quoted, [paths.qemu_plugin(), *plugin]))),
        *("-device", f"loader,file={qemu.quoted(qemu.check_elf(image))}"),
        *("-chardev", "stdio,id=out,mux=on,signal=off", "-serial", "chardev:out"),
        *semihosting("out", [image.name, *arguments]),
        *qemu.GUEST_ERRORS,
    ]
    with tempfile.TemporaryFile("w+b", prefix="ethosu-qemu-") as log:
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log
        ) as process:
            try:
                output = _follow(process, log, until, timeout, on_output)
            except BoardError as error:
                said = qemu.read_log(log).strip()
                raise BoardError(
                    f"{error}; on stderr: {said[-_TAIL:]!r}" if said else error
                ) from None
            finally:
                process.kill()
        said = qemu.read_log(log)
    code = output.exit_code if output.ended or output.heard else process.returncode
    if code < 0 or (code and not output.ended and _complains(said)):
        raise BoardError(f"QEMU ended with {code}: {qemu.last_words(said)}")
    if until and code == 0 and not output.heard:
        raise BoardError(f"the firmware ended without {until!r}; {_last(output)}")
    return Ended(code, output.text, said)


def _complains(said: str) -> bool:
    """Did QEMU say more than that a module of another QEMU, which it does without, does not fit?"""
    lines = [line for line in said.splitlines() if "qemu-system" in line]
    return any("failed to initialize module" not in line for line in lines)


def emulated(facts: BoardFacts) -> Emulation:
    """What QEMU needs of a board; InputError: it is not emulated."""
    if facts.qemu is None:
        raise InputError(f"{facts.name} is not emulated: its {boards.FILE} has no [qemu]")
    return facts.qemu


def semihosting(device: str | None, arguments: Sequence[str] = ()) -> list[str]:
    """Options of QEMU that let firmware print, read files and exit by semihosting."""
    words = ["enable=on", "target=native", *([f"chardev={device}"] if device else [])]
    words += [f"arg={qemu.quoted(each)}" for each in arguments]
    return ["-semihosting-config", ",".join(words)]


@dataclass
class _Output:
    data: bytearray = field(default_factory=bytearray)
    ended: bool = False  # by EOT
    heard: bool = False  # the awaited text came, before EOT
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
    """Read until the end, in whatever way that comes."""
    assert process.stdout is not None
    output, deadline, runs = _Output(), Deadline(timeout, process), True
    while runs and not (output.ended or output.heard):
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
        output.heard = until is not None and _hears(until.encode(), output, len(data), log)
        if output.ended and not output.heard:
            output.exit_code = _code_after(process, after)
        elif runs and not output.heard and deadline.expired() and process.poll() is None:
            raise BoardError(f"the firmware did not end within {timeout:g} s; {_last(output)}")
    return output


def _hears(until: bytes, output: _Output, new: int, log: IO[bytes]) -> bool:
    """Is the text in the `new` last bytes of the output, or lately on stderr?"""
    if until in output.data[-(new + len(until)) :]:
        return True
    return until.decode() in _without_qemu(qemu.read_log(log, _LATELY))


def _without_qemu(said: str) -> str:
    """What the firmware said on its stderr."""
    lines = said.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("qemu"))


def _last(output: _Output) -> str:
    """What the firmware printed last, for an error."""
    last = output.data[-_TAIL:].decode(errors="replace").strip()
    return f"it printed last: {last!r}" if last else "it printed nothing"


def _code_after(process: "subprocess.Popen[bytes]", after: bytes) -> int:
    """The exit code that comes after END: one byte, and nothing more."""
    assert process.stdout is not None
    deadline = Deadline(_CODE_S, process)
    while len(after) < 2 and process.poll() is None and not deadline.expired():
        if select.select([process.stdout], [], [], STEP_S)[0]:
            after += os.read(process.stdout.fileno(), 65536)
    return after[0] if len(after) == 1 else 0
