# SPDX-License-Identifier: MIT
"""Runs any firmware on an emulated board with an NPU, to its end.

Output on the UART or by semihosting is passed on as it arrives. The run ends with the exit call of
semihosting, at a text that a test waits for, or at the time-out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...base.errors import BoardError, UsageError
from ...boards.setup import BoardSetup
from . import emulator_run, qemu
from .emulator_run import Limits, Reason, Stream

TIMEOUT_S = 60.0
# A symbol that exists only in this project's firmware.
OURS = "firmware_main"
# The plugin's last line before it ends QEMU: fatal() in tools/qemu_plugin/base/message.c.
FATAL = "ethosu: fatal: "
_TAIL = 200


@dataclass(frozen=True)
class Ended:
    """The end of a run: `exit_code` comes from semihosting or follows EOT; it is 0 after `until`.

    Output after the awaited text has no effect. Long output and logs lose their middle; a line says
    how much is left out.
    """

    exit_code: int
    output: str
    log: str


def is_ours(image: Path) -> bool:
    """Whether an image is this project's firmware, with a prompt that the tools can use."""
    return f"\0{OURS}\0".encode() in image.read_bytes()


def run(
    setup: BoardSetup,
    *,
    until: str | None = None,
    timeout: float = TIMEOUT_S,
    arguments: Sequence[str] = (),
    timed: bool = False,
    vectors: int | None = None,
    files: Path | None = Path(),
    on_output: Callable[[bytes], object] = lambda data: None,
) -> Ended:
    """Run the setup's image (ELF) from reset; semihosting accesses only `files`, a folder.

    `until` is a text on the output or on stderr that ends the run
    with exit code 0. The character EOT always ends the run, and the byte after it is the exit code.
    `timeout` is in seconds of a `Deadline`. `arguments` are the command line for semihosting.
    `vectors` is the address of the vector table
    after a reset, if it is not the board's. Without `files`, there is no semihosting at all.

    Raises BoardError at the time-out, if QEMU fails, or if the firmware ends successfully without
    `until`; the message contains the last output.
    """
    program = qemu.find_qemu()
    plugin = [] if vectors is None else [f"vectors={vectors:#x}"]
    plugin += semihosting_files(files)
    command = [
        program,
        *qemu.log_options(program),
        *qemu.options(setup, timed=timed, plugin=plugin),
        *OUTPUT,
        *("-serial", f"chardev:{OUT}"),
        *semihosting(OUT, [setup.firmware.name, *arguments], enabled=files is not None),
    ]
    stream = Stream(on_output, texts=[until] if until else ())
    limits = Limits(until, processor_s=timeout)
    outcome = emulator_run.run(lambda paths: command, [stream], limits)
    last, errors = last_output(stream), outcome.log.strip()
    if outcome.reason is Reason.PROCESSOR_TIME:
        end = f"; on stderr: {errors[-_TAIL:]!r}" if errors else ""
        raise BoardError(f"the firmware did not end within {timeout:g} s; {last}{end}")
    code = 0
    if outcome.reason is Reason.EXIT:
        code = exit_code(outcome)
    elif outcome.reason is Reason.EOT and len(outcome.after) == 1:
        code = outcome.after[0]
    if until and code == 0 and outcome.reason is not Reason.TEXT:
        raise BoardError(f"the firmware ended without {until!r}; {last}")
    return Ended(code, stream.kept.data().decode(errors="replace"), outcome.log)


# UARTs and semihosting share QEMU's stdout to keep their order. It is named as a file, since QEMU
# makes "stdio" non-blocking, and then firmware loses what it prints while the pipe is full.
OUT = "out"
OUTPUT = ("-chardev", f"file,id={OUT},path=/dev/stdout,mux=on")


def semihosting_files(folder: Path | None, option: str = "--semihosting") -> list[str]:
    """Return the plugin's option for the folder to which semihosting is restricted."""
    if folder is not None and not folder.is_dir():
        raise UsageError(f"{option}: {folder} is no folder")
    return [] if folder is None else [f"files={folder.absolute()}"]


def semihosting(
    device: str | None, arguments: Sequence[str] = (), *, enabled: bool = True
) -> list[str]:
    """Return QEMU's options that let firmware print, use files and exit by semihosting."""
    if not enabled:
        return ["-semihosting-config", "enable=off"]
    words = ["enable=on", "target=native", *([f"chardev={device}"] if device else [])]
    words += [f"arg={qemu.quoted(argument)}" for argument in arguments]
    return ["-semihosting-config", ",".join(words)]


def exit_code(outcome: emulator_run.Outcome) -> int:
    """Return the firmware's exit code; BoardError if QEMU itself failed."""
    if outcome.code < 0 or (outcome.code and _is_from_qemu(outcome.log)):
        raise BoardError(f"QEMU ended with {outcome.code}: {qemu.summarise_log(outcome.log)}")
    return outcome.code


def _is_from_qemu(errors: str) -> bool:
    """Whether QEMU or its plugin printed an error, except about a module of another QEMU."""
    return any(
        line.startswith(FATAL)
        or ("qemu-system" in line and "failed to initialize module" not in line)
        for line in errors.splitlines()
    )


def last_output(stream: Stream) -> str:
    """Return the end of the output, for an error message."""
    last = stream.kept.end(_TAIL).decode(errors="replace").strip()
    return f"its last output: {last!r}" if last else "it printed nothing"
