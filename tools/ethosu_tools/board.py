# SPDX-License-Identifier: MIT
"""A MicroPython board at the end of a serial line, real or emulated: one face for both.

    with open_board("/dev/ttyACM0") as board:      # any pyserial port or URL
        board.exec("import ethosu")
        print(board.eval("ethosu.reserve()"))

The serial protocol is mpremote's.
"""

import contextlib
import io
import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

import serial
from mpremote.transport import TransportError, TransportExecError
from mpremote.transport_serial import SerialTransport

from .closeable import Closeable
from .errors import BoardError, BoardLinkError, BoardTimeoutError, RemoteError
from .qemu import Machine
from .ui import Update

BAUDRATE = 115200
BOOT_TIMEOUT_S = 10.0
EMULATED_BOOT_TIMEOUT_S = 30.0  # the host may be busy
# mpremote polls in reads of this length, so time-outs are as coarse as this.
_READ_TIMEOUT_S = 1.0
# A board that has sent nothing for so long has said what it had to say.
_QUIET_S = 0.2
_QUIET_TRIES = 25

OnOutput = Callable[[bytes], None]


class Board(Closeable):
    """Runs Python on a board through its raw REPL."""

    def __init__(self, port: str, *, boot_timeout: float = BOOT_TIMEOUT_S) -> None:
        """Open the port and interrupt whatever runs there."""
        self.port = port
        self._boot_timeout = boot_timeout
        self._transport = self._open()
        self._enter(boot_timeout)

    def exec(
        self, code: str | bytes, *, timeout: float = 10, on_output: OnOutput | None = None
    ) -> str:
        """Run code and return what it printed; RemoteError when it raised.

        `timeout` bounds the silence between two characters. `on_output` gets each byte of the
        output as it comes; the returned text is then empty.
        """
        self.start(code)
        return self.finish(timeout=timeout, on_output=on_output)

    def eval(self, expression: str, *, timeout: float = 10) -> Any:
        """Value of an expression that has a literal form."""
        import ast

        text = self.exec(f"print(repr({expression}))", timeout=timeout).strip()
        try:
            return ast.literal_eval(text)
        except (SyntaxError, ValueError):
            raise BoardError(f"the board's {expression} has no literal value: {text}") from None

    def start(self, code: str | bytes) -> None:
        """Start code and come back at once; `finish` has to follow."""
        with self._translated("starting code"):
            self._transport.exec_raw_no_follow(code)

    def finish(self, *, timeout: float = 10, on_output: OnOutput | None = None) -> str:
        """Wait for code that was started, as `exec` does."""
        with self._translated("running code"):
            output, error = self._transport.follow(timeout, on_output)
        if error:
            raise RemoteError(error.decode(errors="replace"))
        return "" if on_output else str(output.decode(errors="replace"))

    def inject(self, data: bytes) -> None:
        r"""Type bytes at the board's console, such as b"\x03" (Ctrl-C), whatever it is doing."""
        with self._translated("typing"):
            self._transport.serial.write(data)

    def soft_reset(self) -> None:
        """Begin with a fresh interpreter; no boot code runs."""
        with self._translated("soft reset"):
            self._transport.enter_raw_repl(soft_reset=True)

    def reset(self) -> None:
        """Reset the whole board."""
        self.start("import machine; machine.reset()")
        self._reconnect()

    def interrupt(self) -> None:
        """Stop what runs and come back to the raw REPL, keeping the interpreter's state."""
        with self._translated("interrupting"):
            self._transport.enter_raw_repl(soft_reset=False)

    def write_file(
        self,
        path: str,
        data: bytes,
        *,
        chunk: int = 4096,
        progress: Update | None = None,
    ) -> None:
        """Write a file of the board; `progress` is told bytes done and bytes in all."""
        with self._translated(f"writing {path}"):
            self._transport.fs_writefile(path, data, chunk, progress)

    def read_file(self, path: str, *, chunk: int = 4096) -> bytes:
        """Read a file of the board."""
        with self._translated(f"reading {path}"):
            return bytes(self._transport.fs_readfile(path, chunk))

    def file_hash(self, path: str) -> bytes | None:
        """SHA-256 of a file of the board, None when there is no such file."""
        with self._translated(f"reading {path}"):
            if not self._transport.fs_exists(path):
                return None
            return bytes(self._transport.fs_hashfile(path, "sha256", 4096))

    def close(self) -> None:
        """Leave the board at its friendly REPL and close the port; safe to call again."""
        with contextlib.suppress(OSError, TransportError):
            self._transport.exit_raw_repl()
        with contextlib.suppress(OSError, TransportError):
            self._transport.close()

    def _failure_details(self) -> str:
        """What else is known when the board fails."""
        return ""

    def _open(self) -> SerialTransport:
        try:
            return SerialTransport(self.port, BAUDRATE, timeout=_READ_TIMEOUT_S)
        except (TransportError, OSError, ValueError) as error:
            raise BoardLinkError(
                f"{self.port} cannot be opened: there is no such port, or another program has it"
            ) from error

    def _enter(self, timeout: float) -> None:
        """Reach the raw REPL of a board that may still be booting."""
        deadline = time.monotonic() + timeout
        attempts = 0
        while True:
            attempts += 1
            try:
                self._ask_for_raw_repl()
                break
            except BoardTimeoutError:
                if time.monotonic() >= deadline:
                    raise
        if attempts > 1:
            self._settle()

    def _ask_for_raw_repl(self) -> None:
        with self._translated("waiting for the board's prompt"):
            self._transport.enter_raw_repl(soft_reset=False, timeout_overall=1)

    def _settle(self) -> None:
        """Let late answers to earlier attempts pass, so that the next answer is to what we ask."""
        port = self._transport.serial
        with self._translated("waiting for the board's prompt"):
            for _ in range(_QUIET_TRIES):
                time.sleep(_QUIET_S)
                if not port.in_waiting:
                    break
                port.read(port.in_waiting)
        self._ask_for_raw_repl()

    def _reconnect(self) -> None:
        """Find the prompt again after a reset; a port that goes away with it is opened anew."""
        deadline = time.monotonic() + self._boot_timeout
        while True:
            try:
                self._enter(self._boot_timeout)
                return
            except BoardLinkError:
                if time.monotonic() >= deadline:
                    raise
            with contextlib.suppress(BoardLinkError):
                self.close()
                self._transport = self._open()
            time.sleep(_QUIET_S)

    @contextlib.contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        """Turn the transport's errors into ours, and keep it from printing."""
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                yield
        except TransportExecError as error:
            raise RemoteError(error.error_output) from error
        except TransportError as error:
            raise BoardTimeoutError(
                f"{what}: the board at {self.port} gave no proper answer{self._failure_details()}"
            ) from error
        except (serial.SerialException, struct.error) as error:
            raise BoardLinkError(
                f"{what}: the link to {self.port} failed{self._failure_details()}"
            ) from error
        except OSError as error:
            raise BoardError(f"{what}: {error}") from error


class QemuBoard(Board):
    """An emulated board; its memory can be read and written without the serial line."""

    def __init__(self, machine: Machine, *, boot_timeout: float = EMULATED_BOOT_TIMEOUT_S) -> None:
        """Take over a machine that was just started."""
        self.machine = machine
        try:
            super().__init__(machine.port, boot_timeout=boot_timeout)
        except BaseException:
            machine.close()
            raise

    def reset(self) -> None:
        """Press the reset button, which helps even when the firmware hangs."""
        self.machine.reset()
        self._reconnect()

    def close(self) -> None:
        """Close the port and end the emulator."""
        super().close()
        self.machine.close()

    def _failure_details(self) -> str:
        state = "runs" if self.machine.running() else f"ended ({self.machine.process.returncode})"
        return f"; QEMU {state}, its log ends: {self.machine.log_tail()}"


def open_board(
    where: str = "qemu",
    *,
    npu: str = "ethos-u55-128",
    npu1: str | None = None,
    console: str = "fast",
) -> Board | QemuBoard:
    """Open the board at a serial port or pyserial URL, or start an emulated one ("qemu")."""
    if where == "qemu":
        return QemuBoard(Machine(npu, console=console, npu1=npu1))
    return Board(where)
