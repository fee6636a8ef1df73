# SPDX-License-Identifier: MIT
"""An emulated board: a QEMU process with our NPU plugin, and its memory mapped here.

The guest's memories are memory files that this process maps too, so that models and tensors reach
the board without a serial line. QEMU ends with this process, however that ends.
"""

import contextlib
import ctypes
import functools
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from . import boards, paths
from . import coherence as coherence_mode
from .boards import Span
from .closeable import Closeable
from .deadline import Deadline
from .errors import BoardError, InputError, NoEmulatorError, SetupError, ToolError
from .files import read_whole
from .qemu_links import Control, GuestMemory
from .romfs import largest, sizes

OLDEST_QEMU = (7, 2)
_QEMU = "qemu-system-arm"

# Magic bytes of an ELF file, and its machine at byte 18 for Arm (EM_ARM).
_ELF = b"\x7fELF"
_ARM = (40).to_bytes(2, "little")

CONSOLES = ("fast", "uart")
# Any text: emulated boards are as their chips, without the emulator's registers.
AS_CHIP_VARIABLE = "ETHOSU_AS_CHIP"
# Count of executed instructions in the plugin's registers: firmware/emulator/emulator_registers.h.
_INSTRUCTIONS = 0x10

# Seconds of emulator time: see deadline.py.
START_TIMEOUT_S = 10.0
CONTROL_TIMEOUT_S = 10.0
_POLL_S = 0.05
_END_S = 2.0  # for a killed process to exit
_FIND_S = 0.01
_TAIL_BYTES = 64 * 1024  # a board in a reset loop writes endlessly
# QEMU's name for the host end of the UART, and the plugin's for its console.
_CONSOLE_LINE = re.compile(r"(?:char device redirected to|ethosu: console) (\S+)")
# QEMU's message, with these options, for an access outside any device and memory.
_UNMAPPED = re.compile(
    r"Invalid (read|write) at addr (0x[0-9A-F]+), size (\d), region '\(null\)', reason: rejected"
)
# Items of QEMU's log; since QEMU 10 that message has its own.
_LOGGED, _OWN_ITEM = ("guest_errors", "invalid_mem"), (10, 0)
# QEMU's own machine reads vectors at address 0 before the image is loaded.
_RESET = re.compile(r"(?:Invalid read at addr 0x[04], size 4, region '\(null\)'.*\n){2}")
_PR_SET_PDEATHSIG = 1
# Loaded here, since little is allowed between fork and exec.
_LIBC = ctypes.CDLL(None)


def check_elf(image: Path) -> Path:
    """Check the image: QEMU would start with anything, without an error."""
    head = read_whole(image)
    for at, expected in ((0, _ELF), (18, _ARM)):
        found = head[at : at + len(expected)]
        if found != expected:
            raise InputError(
                f"{image} is not a firmware image for Arm: expected {expected!r} at byte {at}, "
                f"found {found!r}"
            )
    return image


def runs_as_chip(choice: bool | None = None) -> bool:
    """Whether emulated boards lack the emulator's registers: as given, else as ETHOSU_AS_CHIP."""
    return bool(os.environ.get(AS_CHIP_VARIABLE)) if choice is None else choice


def timing_options(board: boards.BoardFacts, npu: str) -> list[str]:
    """Plugin options for a board whose NPU takes its estimated time."""
    from .estimate import systems

    if not board.estimate:
        return [f"timing=model:{board.clock_mhz}"]
    system = systems.find(board.name, npu)
    spans = ((board.romfs.start, board.romfs.size, system.weights), (0, 1 << 32, system.tensors))
    return [f"timing=model:{round(system.clock_hz / 1e6)}"] + [
        f"npu_memory={start:#x}:{size:#x}:{round(memory.bytes_per_cycle * 1000)}"
        f":{memory.read_latency}:{memory.write_latency}:{memory.burst}"
        for start, size, memory in spans
    ]


def rom_span(board: boards.BoardFacts, image: bytes) -> Span:
    """Memory for a ROM file system image: the board's, else that of the emulator."""
    larger = board.qemu.romfs if board.qemu else None
    spans = [board.romfs, *([larger] if larger else [])]
    for span in spans:
        if len(image) <= span.size:
            return span
    raise InputError(
        f"the files for /rom need {len(image):,} bytes, but /rom of {board.name} has "
        f"{spans[-1].size:,}: {largest(sizes(image))}"
    )


class Machine(Closeable):
    """A running emulated board."""

    def __init__(
        self,
        npu: str | None = None,
        *,
        board: str | None = None,
        console: str | None = None,
        romfs: bytes | None = None,
        firmware: Path | None = None,
        npu1: str | None = None,
        plugin_options: Sequence[str] = (),
        more_options: Sequence[str] = (),
        repeatable: bool = False,
        timed: bool = False,
        coherence: str | None = None,
        as_chip: bool | None = None,
    ) -> None:
        """Start QEMU; `port` is then the name of the console's serial device.

        A board `as_chip` lacks the emulator's registers, and with them the console "fast", which
        is otherwise the default.

        `board` is one of boards.py; `npu` overrides the board's; `npu1` adds a second.
        `plugin_options` are additional options of the plugin, such as "fault=irq-lost:2", and
        `more_options` of QEMU. The clock of a `repeatable` board counts instructions. On a
        `timed` or `repeatable` board, an inference takes the time estimated by `ethosu estimate`,
        unless `plugin_options` set another timing. `coherence` is the mode of the CPU's data cache,
        see coherence.py.
        """
        self.board = boards.chosen(board)
        self._emulation = self.board.emulation
        self.window = self._emulation.window
        self.romfs = rom_span(self.board, romfs or b"")
        if self.romfs != self.board.romfs and (timed or repeatable):
            raise InputError(
                f"the ROM file system has {len(romfs or b''):,} bytes, more than the "
                f"{self.board.romfs.size:,} bytes of memory of {self.board.name} whose timing is "
                "known: omit --timed, or some of the files"
            )
        qemu = find_qemu()
        self._as_chip = runs_as_chip(as_chip)
        console = console or ("uart" if self._as_chip else "fast")
        if self._as_chip and console == "fast":
            raise NoEmulatorError("the console fast is one of the emulator's registers: use uart")
        self.image = firmware or paths.firmware(self.board.name)
        self.npu = npu or self.board.npus[0]
        plugin = [*([f"npu1={npu1}"] if npu1 else []), *plugin_options]
        plugin += ["console=pty"] if console == "fast" else []
        clock = ["-icount", "shift=3,sleep=off"] if repeatable else []
        self._repeatable = repeatable
        # A file, so that it can still be read when QEMU has ended.
        self._log = tempfile.TemporaryFile("w+b", prefix="ethosu-qemu-")  # noqa: SIM115
        with contextlib.ExitStack() as resources:  # closes everything if a later step fails
            self.memory = GuestMemory(self._emulation.memories)
            resources.callback(self.memory.close)
            self._control = Control()
            resources.callback(self._control.close)
            if romfs is not None:
                self.memory.write(self.romfs.start, romfs)
            files = self.memory.files
            plugin += [f"memory={name}:{file}" for name, file in files.items()]
            timed = timed or repeatable
            plugin += ["page=none"] if self._as_chip else []
            words = options(self.board, self.image, self.npu, coherence, timed=timed, plugin=plugin)
            words += ["-serial", "null" if console == "fast" else "pty"]
            words += ["-chardev", f"socket,id=control,fd={self._control.fd}"]
            words += ["-mon", "control,mode=control", "-S"]  # until resumed over QMP
            self.process = start(
                [qemu, *log_options(qemu), *words, *clock, *more_options],
                stdout=self._log,
                stderr=subprocess.STDOUT,
                pass_fds=[*files.values(), self._control.fd],
                start_new_session=True,
            )
            resources.callback(_stop, self.process)
            self.port = self._find_port()
            self._check_start()
            self._finalizer = weakref.finalize(self, resources.pop_all().close)

    def close(self) -> None:
        """End QEMU; may be called repeatedly."""
        self._finalizer()

    def running(self) -> bool:
        """Whether QEMU is still running."""
        return self.process.poll() is None

    def rest(self) -> None:
        """Stop a repeatable board until `wake`: its clock uses a host CPU even while it waits."""
        if self._repeatable and self.running():
            self.process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        """Let the board run again after `rest`."""
        if self._repeatable and self.running():
            self.process.send_signal(signal.SIGCONT)

    def _is_ending(self) -> bool:
        """Whether QEMU has ended or is about to. Its links break before the process has exited."""
        try:
            self.process.wait(_END_S)
        except subprocess.TimeoutExpired:
            return False
        return True

    def reset(self) -> None:
        """Press the board's reset button."""
        self.wake()
        self._control.command("system_reset", self._deadline(CONTROL_TIMEOUT_S), event="RESET")

    def state(self) -> str:
        """State of QEMU, for messages; a waiting CPU executes few instructions."""
        if not self.running():
            return f"ended ({self.process.returncode})"
        self.wake()
        if self._as_chip:
            return "is running"
        try:
            before = self._instructions()
            time.sleep(_POLL_S)
            after = self._instructions()
        except BoardError:
            if self._is_ending():
                return f"ended ({self.process.returncode})"
            return "is stuck: its monitor does not respond"
        count = f"{after:,} instructions so far, {after - before:,} in the last {_POLL_S} s"
        return f"is running, {count}"

    def log(self) -> str:
        """The log: output of QEMU and the plugin, and the firmware's fault reports."""
        return read_log(self._log)

    def log_tail(self, lines: int = 5) -> str:
        """Return the last lines of the log as one line."""
        return summarise_log(read_log(self._log, _TAIL_BYTES), lines)

    def _deadline(self, seconds: float) -> Deadline:
        return Deadline(seconds, self.process)

    def _instructions(self) -> int:
        """The number of instructions executed by the guest, from the plugin's registers."""
        text = self._control.command(
            "human-monitor-command",
            self._deadline(CONTROL_TIMEOUT_S),
            **{"command-line": f"xp /2wx {self._emulation.page + _INSTRUCTIONS:#x}"},
        )
        low, high = (int(word, 16) for word in text.partition(":")[2].split())
        return high << 32 | low

    def _check_start(self) -> None:
        """Wait until the board runs: QEMU prints its port before it loads the plugin."""
        try:
            self._control.command("cont", self._deadline(START_TIMEOUT_S))
        except BoardError as error:
            if not self._is_ending():
                raise
            raise self._failed_start() from error

    def _failed_start(self) -> ToolError:
        if f"board={self.board.name}: expected" in self.log():
            return InputError(
                f"{self.board.name} is not emulated: it has no entry in tools/qemu_plugin/boards; "
                "see boards/README.md"
            )
        return BoardError(
            f"QEMU ended immediately (exit code {self.process.returncode}): {self.log_tail()}"
        )

    def _find_port(self) -> str:
        deadline = self._deadline(START_TIMEOUT_S)
        while True:
            line = _CONSOLE_LINE.search(self.log())
            if line:
                return line[1]
            if not self.running():
                raise self._failed_start()
            if deadline.expired():
                raise BoardError(
                    f"QEMU reported no console within {START_TIMEOUT_S:.0f} s: {self.log_tail()}"
                )
            time.sleep(_FIND_S)


def read_log(file: IO[bytes], limit: int | None = None) -> str:
    """The last `limit` bytes of QEMU's log, with bad accesses in plain words."""
    size = os.fstat(file.fileno()).st_size
    start = 0 if limit is None else max(0, size - limit)
    # QEMU shares the file's position, which must not move.
    text = os.pread(file.fileno(), size - start, start).decode(errors="replace")
    text = text if start else _RESET.sub("", text, count=1)
    return _UNMAPPED.sub(r"\1 of \3 bytes at \2, which is unmapped on this board", text)


def summarise_log(log: str, lines: int = 5) -> str:
    """Return the last lines of a log as one line: QEMU's fatal error, without its register dump."""
    logged = [line.strip() for line in log.splitlines() if line.strip()]
    logged = [line for line in logged if not _CONSOLE_LINE.match(line)]
    fatal = [line for line in logged if line.startswith("qemu: fatal:")]
    return " | ".join(fatal or logged[-lines:]) or "(empty)"


def find_qemu(program: str = _QEMU) -> str:
    """Return the path of a QEMU that is new enough: the program on PATH.

    ETHOSU_QEMU overrides the program for the boards, but not others.
    """
    program = os.environ.get("ETHOSU_QEMU", _QEMU) if program == _QEMU else program
    qemu = shutil.which(program)
    if qemu is None:
        raise SetupError(
            f"{program} is not installed; install Debian's qemu-system-arm: "
            "sudo apt install qemu-system-arm"
        )
    installed = version(qemu)
    if installed < OLDEST_QEMU:
        raise SetupError(
            f"{qemu} is version {installed[0]}.{installed[1]}, but the NPU plugin needs "
            f"{OLDEST_QEMU[0]}.{OLDEST_QEMU[1]} or newer"
        )
    return qemu


@functools.cache
def version(qemu: str) -> tuple[int, int]:
    """The first two numbers of QEMU's version, which takes 0.1 s at each call otherwise."""
    text = subprocess.run([qemu, "--version"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"version (\d+)\.(\d+)", text)
    if match is None:
        raise SetupError(f"{qemu} does not report a version; set ETHOSU_QEMU to a QEMU")
    return int(match[1]), int(match[2])


@functools.cache
def log_options(qemu: str) -> tuple[str, ...]:
    """Options that log errors of the program, with the items that this QEMU has."""
    if version(qemu) < _OWN_ITEM:  # saves a start of QEMU
        return "-d", _LOGGED[0]
    text = subprocess.run([qemu, "-d", "help"], capture_output=True, text=True, check=False).stdout
    has = {line.partition(" ")[0] for line in text.splitlines()}
    return "-d", ",".join(item for item in _LOGGED if item in has or item == _LOGGED[0])


def options(
    board: boards.BoardFacts,
    image: Path,
    npu: str,
    coherence: str | None,
    *,
    timed: bool = False,
    plugin: Sequence[str] = (),
) -> list[str]:
    """QEMU's options for a board that runs this image; `plugin`: further ones of the plugin."""
    own = npu in board.npus and not board.emulation.any_npu
    words = [*([] if own else [f"npu={npu}"]), f"coherence={coherence_mode.chosen(coherence)}"]
    words += timing_options(board, npu) if timed else []
    return [
        *machine_options(board.emulation.machine, board.name, [*words, *plugin]),
        *("-device", f"loader,file={quoted(check_elf(image))}"),
    ]


def machine_options(machine: str, board: str, plugin: Sequence[str]) -> list[str]:
    """QEMU's options for its machine, as the plugin's board of this name."""
    words = [paths.qemu_plugin(), f"board={board}", *plugin]
    return ["-machine", machine, "-display", "none", "-plugin", ",".join(map(quoted, words))]


def quoted(value: object) -> str:
    """Escape a value for QEMU's option lists, in which a comma begins the next option."""
    return str(value).replace(",", ",,")


def start(command: Sequence[str], **settings: Any) -> subprocess.Popen[bytes]:
    """Start QEMU without input, to end with this process; `settings` are those of Popen."""
    try:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, preexec_fn=die_with_parent, **settings
        )
    except OSError as error:
        raise SetupError(f"{command[0]} cannot be started: {error.strerror}") from error


def die_with_parent() -> None:
    """Have the kernel end this process when its parent ends, however that ends."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
    process.wait()
