# SPDX-License-Identifier: MIT
"""Runs an emulated board: a QEMU process with our NPU plugin; its memory is mapped here.

The guest's memories are memory files that this process maps, too, so that models and tensors reach
the board without a serial line. QEMU ends with this process, even if this process is killed.
"""

import contextlib
import ctypes
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...base import helper_process, paths
from ...base.closeable import Closeable
from ...base.deadline import Deadline, is_stopped
from ...base.errors import (
    BoardError,
    InputError,
    NoEmulatorError,
    NotHereError,
    SetupError,
    ToolError,
)
from ...base.files import read_whole
from ...boards import targets
from ...boards.facts import BoardFacts, Span
from ...boards.setup import BoardSetup, emulated
from ...model.romfs import largest, sizes
from .emulator_log import EmulatorLog
from .qemu_links import Control, GuestMemory

_QEMU = "qemu-system-arm"

# Magic bytes of an ELF file, and its machine at byte 18 for Arm (EM_ARM).
_ELF = b"\x7fELF"
_ARM = (40).to_bytes(2, "little")

# Count of executed instructions in the plugin's registers: firmware/emulator/emulator_registers.h.
_INSTRUCTIONS = 0x10

# Seconds of emulator time: see deadline.py.
START_TIMEOUT_S = 10.0
_TELL_TIMEOUT_S = 60.0
CONTROL_TIMEOUT_S = 10.0
_POLL_S = 0.05
_END_S = 10.0  # for a process to exit whose links broke, also on a busy machine
_FIND_S = 0.01
# The plugin's answer to the argument tell=qemu, and the form of all lines of the plugin.
_TOLD = re.compile(r"ethosu: QEMU version (\d+)\.(\d+)\.(\d+) with plugin API (\d+)")
_SAID = re.compile(r"^ethosu: (.*)", re.MULTILINE)
# QEMU's name for the host end of the UART, and the plugin's for its console.
_CONSOLE_LINE = re.compile(r"(?:char device redirected to|ethosu: console) (\S+)")
# QEMU's message, with these options, for an access outside any device and memory.
_UNMAPPED = re.compile(
    r"Invalid (read|write) at addr (0x[0-9A-F]+), size (\d), region '\(null\)', reason: rejected"
)
# Items of QEMU's log; since QEMU 10, the above message has an item of its own.
_LOGGED, _OWN_ITEM = ("guest_errors", "invalid_mem"), (10, 0)
# QEMU's own machine reads vectors at address 0 before the image is loaded.
_RESET = re.compile(r"(?:Invalid read at addr 0x[04], size 4, region '\(null\)'.*\n){2}")
_PR_SET_PDEATHSIG = 1
# The C library is loaded here, since little is allowed between fork and exec.
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def check_elf(image: Path) -> Path:
    """Check the image, because QEMU would start any file without an error."""
    head = read_whole(image)
    for at, expected in ((0, _ELF), (18, _ARM)):
        found = head[at : at + len(expected)]
        if found != expected:
            raise InputError(
                f"{image} is not a firmware image for Arm: expected {expected!r} at byte {at}, "
                f"found {found!r}"
            )
    return image


def timing_options(setup: BoardSetup) -> list[str]:
    """Return plugin options for a board whose NPU takes its estimated time."""
    board = setup.board
    if not board.estimate:
        return [f"timing=model:{board.clock_mhz}"]
    system = setup.system
    return [f"timing=model:{round(system.clock_hz / 1e6)}"] + [
        f"npu_memory={start:#x}:{size:#x}:{round(memory.bytes_per_cycle * 1000)}"
        f":{memory.read_latency}:{memory.write_latency}:{memory.burst}"
        for memory, start, size in system.spans(board.romfs)
    ]


def rom_span(board: BoardFacts, image: bytes) -> Span:
    """Return the memory for a ROM file system image: the board's, else the emulator's."""
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
        setup: BoardSetup | None = None,
        *,
        romfs: bytes | None = None,
        plugin_options: Sequence[str] = (),
        more_options: Sequence[str] = (),
        repeatable: bool = False,
        timed: bool = False,
    ) -> None:
        """Start QEMU; `port` is then the name of the console's serial device.

        `setup` comes from `boards.setup.emulated`; by default it is the default board. The console
        "fast" is the default, except with `as_chip`, which lacks it.

        `plugin_options` are additional options of the plugin, such as "fault=irq-lost:2", and
        `more_options` of QEMU. The clock of a `repeatable` board counts instructions. On a
        `timed` or `repeatable` board, an inference takes the time estimated by `ethosu check`,
        unless `plugin_options` set another timing.
        """
        self.setup = setup = setup or emulated()
        self.board, self.npu = setup.board, setup.npu
        self._emulation = self.board.emulation
        self.window = self._emulation.window
        self.romfs = rom_span(self.board, romfs or b"")
        if self.romfs != self.board.romfs and (timed or repeatable):
            raise InputError(
                f"the ROM file system has {len(romfs or b''):,} bytes, more than the "
                f"{self.board.romfs.size:,} bytes of memory of {self.board.name} whose timing is "
                "known: omit --timed, or some of the files"
            )
        console = setup.console or ("uart" if setup.as_chip else "fast")
        if setup.as_chip and console == "fast":
            raise NoEmulatorError("the console fast is one of the emulator's registers: use uart")
        self.image = setup.firmware
        qemu = find_qemu()
        plugin = [*plugin_options, *(["console=pty"] if console == "fast" else [])]
        clock = ["-icount", "shift=3,sleep=off"] if repeatable else []
        self._repeatable = repeatable
        with contextlib.ExitStack() as resources:  # closes everything if a later step fails
            self._log = resources.enter_context(EmulatorLog())
            self.memory = GuestMemory(self._emulation.memories)
            resources.callback(self.memory.close)
            self._control = Control()
            resources.callback(self._control.close)
            if romfs is not None:
                self.memory.write(self.romfs.start, romfs)
            files = self.memory.files
            plugin += [f"memory={name}:{file}" for name, file in files.items()]
            words = options(setup, timed=timed or repeatable, plugin=plugin)
            words += ["-serial", "null" if console == "fast" else "pty"]
            words += ["-chardev", f"socket,id=control,fd={self._control.fd}"]
            words += ["-qmp", "chardev:control", "-S"]  # until resumed over QMP
            self.process = start(
                [qemu, *log_options(qemu), *words, *clock, *more_options],
                stdout=self._log,
                stderr=subprocess.STDOUT,
                pass_fds=[*files.values(), self._control.fd],
                start_new_session=True,
            )
            resources.callback(helper_process.end, self.process)
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
        if sys.platform == "linux" and self._repeatable and self.running():
            self.process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        """Let the board run again after `rest`."""
        if sys.platform == "linux" and self._repeatable and self.running():
            self.process.send_signal(signal.SIGCONT)

    def _is_ending(self) -> bool:
        """Whether QEMU has ended or is about to. Its links break before the process has exited."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_END_S)
        return not self.running()

    def reset(self) -> None:
        """Press the board's reset button."""
        self.wake()
        self._control.command("system_reset", self._deadline(CONTROL_TIMEOUT_S), event="RESET")

    def state(self) -> str:
        """Describe QEMU's state, for messages; a waiting CPU executes few instructions."""
        if not self.running():
            return f"ended ({self.process.returncode})"
        self.wake()
        if is_stopped(self.process.pid):
            return "is stopped: after the signal SIGCONT, it goes on"
        if self.setup.as_chip:
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

    def log(self, since: int = 0) -> str:
        """Return the log: output of QEMU and the plugin, and the firmware's fault reports.

        `since` omits what was in the log when it had this size. A long log loses its middle, see
        emulator_log.py.
        """
        return in_plain_words(self._log.text(since))

    def log_size(self) -> int:
        """Return the size of the log in bytes, for `log`."""
        return self._log.size()

    def log_tail(self, lines: int = 5) -> str:
        """Return the last lines of the log as one line."""
        return summarise_log(self.log(), lines)

    def _deadline(self, seconds: float) -> Deadline:
        return Deadline(seconds, self.process)

    def _instructions(self) -> int:
        """Read the number of instructions executed by the guest from the plugin's registers."""
        text = self._control.command(
            "human-monitor-command",
            self._deadline(CONTROL_TIMEOUT_S),
            **{"command-line": f"xp /2wx {self._emulation.page + _INSTRUCTIONS:#x}"},
        )
        low, high = (int(word, 16) for word in text.partition(":")[2].split())
        return high << 32 | low

    def _check_start(self) -> None:
        """Wait until the board runs, because QEMU prints its port before it loads the plugin."""
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


def in_plain_words(log: str) -> str:
    """Replace QEMU's messages about bad accesses in a log by plain words."""
    text = _RESET.sub("", log, count=1)
    return _UNMAPPED.sub(r"\1 of \3 bytes at \2, which is unmapped on this board", text)


def summarise_log(log: str, lines: int = 5) -> str:
    """Return the last lines of a log as one line: QEMU's fatal error, without its register dump."""
    logged = [line.strip() for line in log.splitlines() if line.strip()]
    logged = [line for line in logged if not _CONSOLE_LINE.match(line)]
    fatal = [line for line in logged if line.startswith("qemu: fatal:")]
    return " | ".join(fatal or logged[-lines:]) or "(empty)"


def find_qemu(program: str = _QEMU) -> str:
    """Return the path of a QEMU that runs the plugin: the program on PATH.

    ETHOSU_QEMU overrides the program for the boards, but not others.
    """
    if sys.platform != "linux":
        raise NotHereError("an emulated board")
    program = os.environ.get("ETHOSU_QEMU", _QEMU) if program == _QEMU else program
    qemu = shutil.which(program)
    if qemu is None:
        raise SetupError(
            f"{program} is not installed; install Debian's qemu-system-arm: "
            "sudo apt install qemu-system-arm"
        )
    identify(qemu)
    return qemu


class Identity(NamedTuple):
    """A QEMU's version and plugin API, as reported by the plugin."""

    version: tuple[int, int, int]
    api: int  # level of the plugin API


@functools.cache
def identify(qemu: str) -> Identity:
    """Let the plugin identify a QEMU; this starts no machine.

    If the plugin does not run there, its reason becomes the error. QEMU takes 0.1 s to answer.
    """
    ask = ["-machine", "none", "-display", "none"]
    ask += ["-plugin", f"{quoted(paths.qemu_plugin())},tell=qemu"]
    process = start([qemu, *ask], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        text = process.communicate(timeout=_TELL_TIMEOUT_S)[0].decode(errors="replace")
    except subprocess.TimeoutExpired:
        helper_process.end(process)
        raise SetupError(
            f"{qemu} did not tell its version within {_TELL_TIMEOUT_S:.0f} s"
        ) from None
    if told := _TOLD.search(text):
        major, minor, micro, api = map(int, told.groups())
        return Identity((major, minor, micro), api)
    said = _SAID.search(text)
    reason = said[1] if said else f"it does not run the NPU plugin: {summarise_log(text, 1)}"
    raise SetupError(f"{qemu}: {reason}")


@functools.cache
def log_options(qemu: str) -> tuple[str, ...]:
    """Return options that log errors of the program, with the items that this QEMU has."""
    if identify(qemu).version < _OWN_ITEM:  # saves a start of QEMU
        return "-d", _LOGGED[0]
    text = subprocess.run([qemu, "-d", "help"], capture_output=True, text=True, check=False).stdout
    has = {line.partition(" ")[0] for line in text.splitlines()}
    return "-d", ",".join(item for item in _LOGGED if item in has or item == _LOGGED[0])


def options(setup: BoardSetup, *, timed: bool = False, plugin: Sequence[str] = ()) -> list[str]:
    """Return QEMU's options to run a board's image; `plugin` has further options of the plugin."""
    fixed = targets.npus_of(setup.board) == setup.board.npus
    words = [] if fixed else [f"npu={setup.npu}"]
    words += [f"coherence={setup.coherence}"]
    words += timing_options(setup) if timed else []
    words += [f"npu1={setup.npu1}"] if setup.npu1 else []
    words += ["page=none"] if setup.as_chip else []
    return [
        *machine_options(setup.board.emulation.machine, setup.name, [*words, *plugin]),
        *("-device", f"loader,file={quoted(check_elf(setup.firmware))}"),
    ]


def machine_options(machine: str, board: str, plugin: Sequence[str]) -> list[str]:
    """Return QEMU's options for its machine, as the plugin's board of this name."""
    words = [paths.qemu_plugin(), f"board={board}", *plugin]
    return ["-machine", machine, "-display", "none", "-plugin", ",".join(map(quoted, words))]


def quoted(value: object) -> str:
    """Escape a value for QEMU's option lists, in which a comma begins the next option."""
    return str(value).replace(",", ",,")


def start(command: Sequence[str], **settings: Any) -> subprocess.Popen[bytes]:
    """Start QEMU without input, to end with this process; `settings` are those of Popen."""
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            preexec_fn=functools.partial(die_with_parent, os.getpid()),
            **settings,
        )
    except OSError as error:
        raise SetupError(f"{command[0]} cannot be started: {error.strerror}") from error


def die_with_parent(parent: int) -> None:
    """Have the kernel end this process whenever its parent ends."""
    if sys.platform != "linux":
        return
    if _LIBC:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent ended before the request
        os.kill(os.getpid(), signal.SIGKILL)
