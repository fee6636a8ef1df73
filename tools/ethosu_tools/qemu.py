# SPDX-License-Identifier: MIT
"""An emulated board: a QEMU process with our NPU plugin, and its memory mapped here.

The guest's memories are memory files that this process maps too, so that models and tensors reach
the board without a serial line. QEMU ends with this process, for whatever reason it ends.
"""

import contextlib
import ctypes
import json
import mmap
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from . import boards, paths
from . import coherence as coherence_mode
from .boards import Span
from .closeable import Closeable
from .deadline import Deadline
from .errors import BoardError, InputError, SetupError
from .files import read_whole
from .romfs import largest, sizes

OLDEST_QEMU = (7, 2)
_QEMU = "qemu-system-arm"

# Magic bytes of an ELF file, and its machine at byte 18 for Arm (EM_ARM).
_ELF = b"\x7fELF"
_ARM = (40).to_bytes(2, "little")

CONSOLES = ("fast", "uart")
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
_NOTHING_THERE = re.compile(
    r"Invalid (read|write) at addr (0x[0-9A-F]+), size (\d), region '\(null\)', reason: rejected"
)
GUEST_ERRORS = ("-d", "guest_errors")
# QEMU's own machine reads vectors at address 0 before the image is loaded.
_RESET = re.compile(r"(?:Invalid read at addr 0x[04], size 4, region '\(null\)'.*\n){2}")
_PR_SET_PDEATHSIG = 1
# Loaded here, since little is allowed between fork and exec.
_LIBC = ctypes.CDLL(None)


class GuestMemory:
    """Guest memories mapped into this process, addressed by guest address."""

    def __init__(self, memories: Mapping[str, Span]) -> None:
        """Make a memory file for each, with the plugin's name for it."""
        self._spans = memories
        self.files: dict[str, int] = {}
        self._maps: dict[str, mmap.mmap] = {}
        try:
            for name, span in memories.items():
                self.files[name] = os.memfd_create(f"ethosu-{name}")
                os.ftruncate(self.files[name], span.size)
                self._maps[name] = mmap.mmap(self.files[name], span.size)
        except BaseException:
            self.close()
            raise

    def write(self, address: int, data: bytes | bytearray | memoryview) -> None:
        """Write bytes at a guest address."""
        memory, start = self._find(address, len(data))
        memory[start : start + len(data)] = bytes(data)

    def read(self, address: int, size: int) -> bytes:
        """Read bytes from a guest address."""
        memory, start = self._find(address, size)
        return memory[start : start + size]

    def close(self) -> None:
        """Unmap the memory."""
        for memory in self._maps.values():
            memory.close()
        for file in self.files.values():
            os.close(file)

    def _find(self, address: int, size: int) -> tuple[mmap.mmap, int]:
        for name, span in self._spans.items():
            if span.holds(address, size):
                return self._maps[name], address - span.start
        raise ValueError(
            f"{size} bytes at {address:#x} are not in the guest's {', '.join(self._spans)}"
        )


class Control:
    """QEMU's control channel (QMP)."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()
        self._ours.settimeout(_POLL_S)
        self._received = b""
        self._ready = False

    @property
    def fd(self) -> int:
        """The end of the channel passed to QEMU."""
        return self._theirs.fileno()

    def command(
        self, name: str, deadline: Deadline, *, event: str | None = None, **arguments: object
    ) -> Any:
        """Execute a QEMU command; wait for its result, and for the event, if any.

        Earlier events do not count, such as those of a reset by the guest itself.
        """
        if not self._ready:
            self._ready = True
            self.command("qmp_capabilities", deadline)
        missing = {"return"} | ({event} if event else set())
        result = None
        try:
            self._drop_old()
            self._ours.sendall(json.dumps({"execute": name, "arguments": arguments}).encode())
            while missing:
                reply = self._reply(deadline)
                if "error" in reply:
                    raise BoardError(f"QEMU refuses {name}: {reply['error'].get('desc')}")
                result = reply.get("return", result)
                missing -= {"return"} if "return" in reply else {reply.get("event")}
        except (OSError, ValueError) as error:
            raise BoardError(f"QEMU does not answer to {name}") from error
        return result

    def _drop_old(self) -> None:
        """Discard earlier messages from QEMU."""
        while select.select([self._ours], [], [], 0)[0]:
            if not self._ours.recv(65536):
                break
        self._received = b""

    def close(self) -> None:
        """Close both ends."""
        self._ours.close()
        self._theirs.close()

    def _reply(self, deadline: Deadline) -> dict[str, Any]:
        """The next line from QEMU."""
        while b"\n" not in self._received:
            try:
                self._received += self._ours.recv(65536)
            except TimeoutError:
                if deadline.expired():
                    raise
        line, _, self._received = self._received.partition(b"\n")
        reply: dict[str, Any] = json.loads(line)
        return reply


def check_elf(image: Path) -> Path:
    """Check the image: QEMU would start with anything, without an error."""
    head = read_whole(image)
    for at, expected in ((0, _ELF), (18, _ARM)):
        found = head[at : at + len(expected)]
        if found != expected:
            raise InputError(
                f"{image} is no firmware image for Arm: expected {expected!r} at byte {at}, "
                f"found {found!r}"
            )
    return image


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


def rom_place(board: boards.BoardFacts, image: bytes) -> Span:
    """Address of a ROM file system image: the board's, else one of the emulator's."""
    more = board.qemu.romfs if board.qemu else None
    places = [board.romfs, *([more] if more else [])]
    for place in places:
        if len(image) <= place.size:
            return place
    raise InputError(
        f"the files for /rom need {len(image):,} bytes, /rom of {board.name} has "
        f"{places[-1].size:,}: {largest(sizes(image))}"
    )


class Machine(Closeable):
    """A running emulated board."""

    def __init__(
        self,
        npu: str | None = None,
        *,
        board: str | None = None,
        console: str = "fast",
        romfs: bytes | None = None,
        firmware: Path | None = None,
        npu1: str | None = None,
        plugin_options: Sequence[str] = (),
        more_options: Sequence[str] = (),
        repeatable: bool = False,
        timed: bool = False,
        coherence: str | None = None,
    ) -> None:
        """Start QEMU; `port` is then the name of the console's serial device.

        `board` is one of boards.py; `npu` overrides the board's; `npu1` adds a second.
        `plugin_options` are further ones of the plugin, such as "fault=irq-lost:2", `more_options`
        of QEMU. A `repeatable` board's time follows its instructions, not the host's clock. On a
        `timed` or `repeatable` board, an inference takes the time estimated by `ethosu estimate`,
        unless `plugin_options` set another timing. `coherence` is the mode of the CPU's data cache,
        see coherence.py.
        """
        self.board = boards.chosen(board)
        if self.board.qemu is None:
            raise InputError(f"{self.board.name} is not emulated: its {boards.FILE} has no [qemu]")
        self._emulation = self.board.qemu
        self.window = self._emulation.window
        self.romfs = rom_place(self.board, romfs or b"")
        if self.romfs != self.board.romfs and (timed or repeatable):
            raise InputError(
                f"the ROM file system holds {len(romfs or b''):,} bytes, more than the memory of "
                f"{self.board.name} whose timing is known ({self.board.romfs.size:,} bytes): leave "
                "out --timed, or files"
            )
        mode = coherence_mode.chosen(coherence)
        qemu = find_qemu()
        image = check_elf(firmware or paths.firmware(self.board.name))
        self.npu = npu or self.board.npus[0]
        plugin = [str(paths.qemu_plugin()), f"board={self.board.name}", f"npu={self.npu}"]
        plugin += [f"coherence={mode}", *([f"npu1={npu1}"] if npu1 else [])]
        if repeatable or timed:
            plugin += timing_options(self.board, self.npu)
        plugin += plugin_options
        more = ["-icount", "shift=3,sleep=off"] if repeatable else []
        self._repeatable = repeatable
        # A file, so that it can still be read when QEMU has ended.
        self._log = tempfile.TemporaryFile("w+b", prefix="ethosu-qemu-")  # noqa: SIM115
        with contextlib.ExitStack() as made:  # closes everything if a later step fails
            self.memory = GuestMemory(self._emulation.memories)
            made.callback(self.memory.close)
            self._control = Control()
            made.callback(self._control.close)
            if romfs is not None:
                self.memory.write(self.romfs.start, romfs)
            files = self.memory.files
            plugin += [f"memory={name}:{file}" for name, file in files.items()]
            options = _options(self._emulation.machine, image, plugin, console, self._control.fd)
            self.process = _start(
                [qemu, *options, *more, *more_options],
                self._log,
                pass_fds=[*files.values(), self._control.fd],
            )
            made.callback(_stop, self.process)
            self.port = self._find_port()
            self._check_start()
            self._finalizer = weakref.finalize(self, made.pop_all().close)

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

    def _ends(self) -> bool:
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
        try:
            before = self._instructions()
            time.sleep(_POLL_S)
            after = self._instructions()
        except BoardError:
            if self._ends():
                return f"ended ({self.process.returncode})"
            return "is stuck: its monitor does not answer"
        return f"runs, {after:,} instructions so far, {after - before:,} in the last {_POLL_S} s"

    def log(self) -> str:
        """The log: output of QEMU and the plugin, and the firmware's fault reports."""
        return read_log(self._log)

    def log_tail(self, lines: int = 5) -> str:
        """Return the last lines of the log as one line."""
        return last_words(read_log(self._log, most=_TAIL_BYTES), lines)

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
            if not self._ends():
                raise
            raise self._ended_at_once() from error

    def _ended_at_once(self) -> BoardError:
        return BoardError(
            f"QEMU ended at once (exit code {self.process.returncode}): {self.log_tail()}"
        )

    def _find_port(self) -> str:
        deadline = self._deadline(START_TIMEOUT_S)
        while True:
            found = _CONSOLE_LINE.search(self.log())
            if found:
                return found[1]
            if not self.running():
                raise self._ended_at_once()
            if deadline.expired():
                raise BoardError(
                    f"QEMU named no console within {START_TIMEOUT_S:.0f} s: {self.log_tail()}"
                )
            time.sleep(_FIND_S)


def read_log(file: IO[bytes], most: int | None = None) -> str:
    """The last `most` bytes of QEMU's log; bad accesses as sentences."""
    size = os.fstat(file.fileno()).st_size
    start = 0 if most is None else max(0, size - most)
    # QEMU shares the file's position, which must not move.
    text = os.pread(file.fileno(), size - start, start).decode(errors="replace")
    text = text if start else _RESET.sub("", text, count=1)
    return _NOTHING_THERE.sub(r"\1 of \3 bytes at \2, where this board has nothing", text)


def last_words(log: str, lines: int = 5) -> str:
    """Return the last lines of a log as one line: QEMU's fatal error, without its register dump."""
    found = [line.strip() for line in log.splitlines() if line.strip()]
    found = [line for line in found if not _CONSOLE_LINE.match(line)]
    fatal = [line for line in found if line.startswith("qemu: fatal:")]
    return " | ".join(fatal or found[-lines:]) or "nothing was logged"


def find_qemu(program: str = _QEMU) -> str:
    """Return the path of a QEMU that is new enough: the program on PATH.

    ETHOSU_QEMU overrides the program for the boards, but not others.
    """
    wanted = os.environ.get("ETHOSU_QEMU", _QEMU) if program == _QEMU else program
    qemu = shutil.which(wanted)
    if qemu is None:
        raise SetupError(
            f"{wanted} is not installed; install Debian's qemu-system-arm: "
            "sudo apt install qemu-system-arm"
        )
    found = version(qemu)
    if found < OLDEST_QEMU:
        raise SetupError(
            f"{qemu} is version {found[0]}.{found[1]}, but the NPU plugin needs "
            f"{OLDEST_QEMU[0]}.{OLDEST_QEMU[1]} or newer"
        )
    return qemu


def version(qemu: str) -> tuple[int, int]:
    """The first two numbers of QEMU's version."""
    text = subprocess.run([qemu, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"version (\d+)\.(\d+)", text)
    if found is None:
        raise SetupError(f"{qemu} does not say its version; set ETHOSU_QEMU to a QEMU")
    return int(found[1]), int(found[2])


def _options(
    machine: str, image: Path, plugin: Sequence[str], console: str, control_fd: int
) -> list[str]:
    serial = "pty"
    if console == "fast":
        plugin = [*plugin, "console=pty"]
        serial = "null"
    return [
        *("-machine", machine),
        *("-plugin", ",".join(map(quoted, plugin))),
        *("-device", f"loader,file={quoted(image)}"),
        *("-serial", serial),
        *("-chardev", f"socket,id=control,fd={control_fd}", "-mon", "control,mode=control"),
        *("-display", "none"),
        *GUEST_ERRORS,
        "-S",  # until resumed over QMP
    ]


def quoted(value: object) -> str:
    """Escape a value for QEMU's option lists, in which a comma begins the next option."""
    return str(value).replace(",", ",,")


def _start(command: list[str], log: IO[bytes], pass_fds: Sequence[int]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=pass_fds,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
    except OSError as error:
        raise SetupError(f"{command[0]} cannot be started: {error.strerror}") from error


def die_with_parent() -> None:
    """Have the kernel end this process when its parent ends, for whatever reason."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
    process.wait()
