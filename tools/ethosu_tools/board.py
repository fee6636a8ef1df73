# SPDX-License-Identifier: MIT
"""A MicroPython board at the end of a serial line, real or emulated: one face for both.

    with open_board("/dev/ttyACM0") as board:      # any pyserial port or URL
        board.exec("import ethosu")
        print(board.eval("ethosu.reserve()"))

The serial protocol is mpremote's. It has no checksum: `exec` and `eval` believe what arrives. `ask`
and all that is built on it (files, models, tensors) carry hashes both ways, so that damage on the
line ends in an error and never in a wrong result.
"""

import contextlib
import hashlib
import io
import os
import re
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import serial
from mpremote.transport import TransportError

from . import board_code
from .board_code import literal
from .board_log import BoardLog, News, last_lines
from .closeable import Closeable
from .deadline import Deadline
from .errors import BoardError, BoardLinkError, BoardTimeoutError, RemoteError
from .files import LARGEST
from .locks import Lock
from .port import ANSWER_TIMEOUT_S, OnOutput, StepError, Transport
from .qemu import Machine
from .ui import Update

BOOT_TIMEOUT_S = 10.0
# A board that boots is asked for its prompt so often.
_PROMPT_TIMEOUT_S = 1.0
# A board that sent so many reports sends one at each start.
_REPORT, _REPORTS = re.compile(rb"\*\*\* (?:Fault|Fatal): "), 3
# A board that has sent nothing for so long has said what it had to say.
_QUIET_S = 0.2
_QUIET_TRIES = 10
# The whole of a step may take so many times the longest silence, and a slow line so long per byte.
_SILENCES = 10
_SLOWEST_BYTES_PER_S = 500.0
# A slow processor takes its time for a large file.
_HASH_TIMEOUT_S = 120.0
# Files go over the line in such pieces, in smaller ones where a board has little memory.
_PIECE_BYTES = 64 * 1024
_SMALLEST_PIECE = 1024
# A piece takes this share of the memory that is free: it is there several times at once.
_PIECE_SHARE = 8
# A program that took too long has this time to end after a Ctrl-C.
_STOP_TIMEOUT_S = 3.0


class Board(Closeable):
    """Runs Python on a board through its raw REPL."""

    def __init__(
        self,
        port: str,
        *,
        boot_timeout: float = BOOT_TIMEOUT_S,
        process: "subprocess.Popen[Any] | None" = None,
    ) -> None:
        """Open the port and interrupt whatever runs there.

        All time-outs are seconds of the board; `process` is its emulator, if it has one.
        """
        self.port = port
        self.log = BoardLog()
        self._process = process
        self._deadline = partial(Deadline, process=process)
        self._boot_timeout = boot_timeout
        self._can_ask = False
        self._is_lost = False  # where the board is in the protocol is not known
        # Nobody else knows the port of an emulator that this process started.
        self._lock = Lock(port) if process is None else None
        try:
            self._transport = self._open()
        except BaseException:
            self._unlock()
            raise
        try:
            self._enter(boot_timeout)
        except BaseException:
            self.close()
            raise

    def begin_log(self) -> None:
        """Forget what the board has said so far."""
        self.log.begin()

    def said(self) -> str:
        """Return what the board has said since then: output, tracebacks, reports of faults."""
        return self.log.text()

    def wanted(self) -> bool:
        """Does another worker of this run of pytest wait for the board?"""
        return self._lock is not None and self._lock.wanted()

    def exec(
        self,
        code: str | bytes,
        *,
        timeout: float = 10,
        overall: float | None = None,
        on_output: OnOutput | None = None,
    ) -> str:
        """Run code and return what it printed; RemoteError when it raised.

        `timeout` bounds the silence between two characters, `overall` the whole (default: ten
        times the silence). `on_output` gets each byte of the output as it comes; the returned text
        is then empty, and nothing but `overall` bounds the whole.
        """
        self.log.ran(code)
        self.start(code)
        return self.finish(timeout=timeout, overall=overall, on_output=on_output)

    def eval(self, expression: str, *, timeout: float = 10) -> Any:
        """Value of an expression that has a literal form."""
        return literal(self.exec(f"print(repr({expression}))", timeout=timeout).strip())

    def ask(self, code: str, *, timeout: float = 10) -> Any:
        """Run code; return what it assigned to `_answer`, a value that has a literal form.

        The code runs only if it arrived as it was sent, and only once; the answer carries a hash
        of both. BoardLinkError says that something was damaged.
        """
        request = f"#{os.urandom(4).hex()}\n{code}".encode()
        self.log.ran(request)
        digest = hashlib.sha256(request).digest()
        lines = self._ask(f"_ask({request!r}, {digest!r})", timeout).splitlines()
        proof, _, text = (lines or [""])[-1].partition(" ")
        if proof != hashlib.sha256(digest + text.encode()).hexdigest():
            raise BoardLinkError(f"what came from {self.port} was damaged on the way")
        return literal(text)

    def _define(self) -> None:
        """Have the functions of `ask` and `exchange` on the board."""
        if not self._can_ask:
            self._run(board_code.DEFINITIONS)
            self._can_ask = True

    def _ask(self, call: str, timeout: float) -> str:
        """What a call of the board's `_ask` prints; it is defined where it is missing."""
        self._define()
        try:
            return self._run(call, timeout)
        except RemoteError as error:
            if error.kind == "NameError" and "'_ask'" in error.text:  # the board was reset
                self._run(board_code.DEFINITIONS)
                return self._run(call, timeout)
            self._check_sent(error)
            raise

    def _run(self, code: str, timeout: float = 10) -> str:
        """Run code of ours, whose output is no user's."""
        self.start(code)
        return self._finish(timeout, _SILENCES * timeout)

    def _check_sent(self, error: RemoteError) -> None:
        """Note what the board raised, unless it is that data were damaged."""
        if board_code.DAMAGED in error.text:
            raise BoardLinkError(f"what was sent to {self.port} was {board_code.DAMAGED}") from None
        self.log.printed(error.output)
        self.log.raised(error.traceback)

    def exchange(self, data: bytes, work: str, *, timeout: float = 10) -> bytes:
        """Send bytes to the board, which calls the function `work` with them; return its bytes.

        Nothing is encoded but what would stop the board's program, so this is the fast way for much
        data. Hashes go both ways, as with `ask`.
        """
        digest = hashlib.sha256(data).digest()
        sent = data.replace(b"\x1b", b"\x1b[").replace(b"\x03", b"\x1bC")
        self._define()
        self.start(f"_exchange({work}, {len(sent)}, {digest!r})")
        seconds = _SILENCES * timeout + len(data) / _SLOWEST_BYTES_PER_S
        port, found = self._transport.serial, b""
        with self._translated("sending data", seconds, stops=True):
            if port.wait_for(board_code.READY, ANSWER_TIMEOUT_S):
                port.write(sent)
                if port.wait_for(board_code.ANSWER, timeout):
                    size = int(port.read_exactly(board_code.DIGITS, timeout), 16)
                    found = port.read_exactly(size + board_code.HASH_BYTES, timeout)
        try:
            self.log.printed(self._finish(timeout, _SILENCES * timeout))
        except RemoteError as error:
            self._check_sent(error)
            raise
        answer, proof = found[: -board_code.HASH_BYTES], found[-board_code.HASH_BYTES :]
        if proof != hashlib.sha256(digest + answer).digest():
            raise BoardLinkError(f"what came from {self.port} was damaged on the way")
        return answer

    def piece_bytes(self) -> int:
        """How many bytes the board takes in one `exchange`."""
        size = self.ask(
            board_code.PIECE_BYTES.format(
                most=_PIECE_BYTES, least=_SMALLEST_PIECE, share=_PIECE_SHARE
            )
        )
        if not isinstance(size, int) or not 0 < size <= _PIECE_BYTES:
            raise BoardError(
                f"expected a number of bytes up to {_PIECE_BYTES}, found {size!r:.100}"
            )
        return size

    def start(self, code: str | bytes) -> None:
        """Start code and come back at once; `finish` has to follow."""
        if self._is_lost:
            self._enter(_STOP_TIMEOUT_S)
        seconds = _SILENCES * ANSWER_TIMEOUT_S + len(code) / _SLOWEST_BYTES_PER_S
        with self._translated("starting code", seconds):
            self._transport.exec_raw_no_follow(code)

    def finish(
        self,
        *,
        timeout: float = 10,
        overall: float | None = None,
        on_output: OnOutput | None = None,
    ) -> str:
        """Wait for code that was started, as `exec` does."""
        if overall is None and on_output is None:
            overall = _SILENCES * timeout
        try:
            printed = self._finish(timeout, overall, on_output)
        except RemoteError as error:
            self.log.printed(error.output)
            self.log.raised(error.traceback)
            raise
        self.log.printed(printed)
        return printed

    def _finish(
        self, timeout: float, overall: float | None, on_output: OnOutput | None = None
    ) -> str:
        with self._translated("running code", overall, stops=True):
            output, error = self._transport.follow(timeout, on_output)
        printed = "" if on_output else str(output.decode(errors="replace"))
        if error:
            raise RemoteError(error.decode(errors="replace"), printed)
        return printed

    def inject(self, data: bytes) -> None:
        r"""Type bytes at the board's console, such as b"\x03" (Ctrl-C), whatever it is doing."""
        with self._translated("typing", _SILENCES * ANSWER_TIMEOUT_S):
            self._transport.serial.write(data)

    def soft_reset(self) -> None:
        """Begin with a fresh interpreter; no boot code runs."""
        try:
            self._soft_reset()
        except BoardTimeoutError:  # an answer to something earlier may have come between
            self._settle()
            self._soft_reset()

    def _soft_reset(self) -> None:
        with self._translated("soft reset", _SILENCES * ANSWER_TIMEOUT_S):
            self._transport.enter_raw_repl(soft_reset=True)
            self._prove_prompt(ANSWER_TIMEOUT_S)
        self._is_lost = False

    def reset(self) -> None:
        """Reset the whole board."""
        self.start("import machine; machine.reset()")
        self._reconnect()

    def interrupt(self) -> None:
        """Stop what runs and come back to the raw REPL, keeping the interpreter's state."""
        with self._translated("interrupting", _SILENCES * ANSWER_TIMEOUT_S):
            self._transport.enter_raw_repl(soft_reset=False)
        self._is_lost = False

    def write_file(self, path: str, data: bytes, *, progress: Update | None = None) -> None:
        """Write a file of the board; `progress` is told bytes done and bytes in all."""
        piece = self.piece_bytes()
        self.ask(f"_file = open({path!r}, 'wb')")
        for at in range(0, len(data), piece):
            self.exchange(data[at : at + piece], "lambda data: b'%d' % _file.write(data)")
            if progress:
                progress(min(at + piece, len(data)), len(data))
        self.ask("_file.close()")

    def read_file(self, path: str, *, opener: str = "open") -> bytes:
        """Read a file of the board, which opens it with `opener`."""
        size = self.ask(
            f"_file = {opener}({path!r}, 'rb')\n_answer = _file.seek(0, 2)\n_file.seek(0)"
        )
        if not isinstance(size, int) or not 0 <= size <= LARGEST:
            raise BoardError(f"the size of {path} on the board is none: {size!r:.100}")
        data, most = bytearray(), self.piece_bytes()
        while len(data) < size:
            expected = min(most, size - len(data))
            piece = self.exchange(b"", f"lambda _: _file.read({expected})")
            if len(piece) != expected:
                raise BoardError(f"expected {expected:,} bytes of {path}, found {len(piece):,}")
            data += piece
        self.ask("_file.close()")
        return bytes(data)

    def file_hash(self, path: str) -> bytes | None:
        """SHA-256 of a file of the board, None when there is no such file."""
        found = self.ask(board_code.FILE_HASH.format(path=path), timeout=_HASH_TIMEOUT_S)
        return found if isinstance(found, bytes) else None

    @contextlib.contextmanager
    def lent(self) -> Iterator[str]:
        """Leave the port to another program for the time of the `with` statement."""
        with contextlib.suppress(OSError, TransportError):
            self._transport.exit_raw_repl()
        self._close_port()
        if self._lock is not None and self._lock.lends:
            yield self._lock.port
        else:
            self._unlock()
            yield self.port
            self._lock = Lock(self.port) if self._process is None else None
        self._transport = self._open()
        self._enter(self._boot_timeout)

    def close(self) -> None:
        """Leave the board at its friendly REPL and close the port; safe to call again."""
        self._transport.serial.begin(ANSWER_TIMEOUT_S)
        with contextlib.suppress(OSError, TransportError):
            self._transport.exit_raw_repl()
        self._close_port()
        self._unlock()

    def _close_port(self) -> None:
        with contextlib.suppress(OSError, TransportError):
            self._transport.close()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()

    def _failure_details(self) -> str:
        """What else is known when the board fails."""
        return ""

    def _open(self) -> Transport:
        return Transport(self._lock.port if self._lock else self.port, self._deadline)

    def _enter(self, timeout: float) -> None:
        """Reach the raw REPL of a board that may still be booting."""
        tries = max(1, round(timeout / _PROMPT_TIMEOUT_S))
        self._transport.serial.forget()
        for attempt in range(1, tries + 1):
            try:
                if attempt > 1:
                    self._settle()
                self._ask_for_raw_repl()
                self._is_lost = False
                return
            except BoardTimeoutError as error:
                history = self._transport.serial.history
                ended = self._deadline(None).expired() or len(_REPORT.findall(history)) >= _REPORTS
                if attempt == tries or ended:
                    sent = last_lines(history) or "nothing"
                    raise BoardTimeoutError(f"{error}; it sent: {sent}") from None

    def _ask_for_raw_repl(self) -> None:
        with self._translated("waiting for the board's prompt", 2 * _PROMPT_TIMEOUT_S):
            self._transport.enter_raw_repl(soft_reset=False, timeout_overall=_PROMPT_TIMEOUT_S)
            self._prove_prompt(_PROMPT_TIMEOUT_S)

    def _prove_prompt(self, timeout: float) -> None:
        """See that the board answers to us: it may be a late answer that we took for one."""
        self._can_ask, self._transport.use_raw_paste = False, True
        word = os.urandom(4).hex()
        output, _ = self._transport.exec_raw(f"print({word!r})", timeout)
        if output.strip() != word.encode():
            raise TransportError(f"expected {word}, found {output!r}")

    def _settle(self) -> None:
        """Let late answers to earlier attempts pass, so that the next answer is to what we ask."""
        port = self._transport.serial
        with self._translated("waiting for the board's prompt", _QUIET_TRIES * _QUIET_S):
            for _ in range(_QUIET_TRIES):
                time.sleep(_QUIET_S)
                if not port.in_waiting:
                    break
                port.read(port.in_waiting)

    def _reconnect(self) -> None:
        """Find the prompt again after a reset; a port that goes away with it is opened anew."""
        deadline = self._deadline(self._boot_timeout)
        while True:
            try:
                self._enter(self._boot_timeout)
                return
            except BoardLinkError:
                if deadline.expired():
                    raise
            with contextlib.suppress(BoardLinkError):
                self._close_port()
                self._transport = self._open()
            time.sleep(_QUIET_S)

    @contextlib.contextmanager
    def _translated(
        self, what: str, seconds: float | None, *, stops: bool = False
    ) -> Iterator[None]:
        """Give a step so long in all; turn its errors into ours, and keep it from printing.

        With `stops` a program runs in it, which is interrupted when its time is over.
        """
        port = self._transport.serial
        port.begin(seconds)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                yield
        except serial.SerialException:
            raise BoardLinkError(
                f"{what}: the link to {self.port} failed{self._failure_details()}"
            ) from None
        except OSError as error:
            raise BoardError(f"{what}: {error}") from None
        except (TransportError, *board_code.NONSENSE) as error:
            self._is_lost = True
            self.log.heard(port.heard)
            found = str(error) if isinstance(error, StepError) else "gave no proper answer"
            if self._process is not None and self._process.poll() is not None:
                found = "is gone"
            elif stops:
                found += f"; {self._stop()}"
            details = self._failure_details() if self._is_lost else ""
            raise BoardTimeoutError(f"{what}: the board at {self.port} {found}{details}") from None

    def _stop(self) -> str:
        """Interrupt a program that took too long, and say whether that helped."""
        port = self._transport.serial
        port.begin(_STOP_TIMEOUT_S)
        try:
            port.write(b"\x03")
            output, error = self._transport.follow(_STOP_TIMEOUT_S)
        except (OSError, TransportError):
            return "Ctrl-C does not stop the program: reset the board"
        self.log.printed(output.decode(errors="replace"))
        self.log.raised(error.decode(errors="replace"))
        self._is_lost = False
        return "the program was stopped by Ctrl-C"


class QemuBoard(Board):
    """An emulated board; its memory can be read and written without the serial line."""

    def __init__(self, machine: Machine, *, boot_timeout: float = BOOT_TIMEOUT_S) -> None:
        """Take over a machine that was just started."""
        self.machine = machine
        self._news = News()
        try:
            super().__init__(machine.port, boot_timeout=boot_timeout, process=machine.process)
        except BaseException:
            machine.close()
            raise
        machine.rest()

    def begin_log(self) -> None:
        """Forget what the board, its firmware's fault reports and QEMU have said so far."""
        super().begin_log()
        self._news.begin(self.machine.log())

    def said(self) -> str:
        """Return what the board and, after that, QEMU have said since then."""
        text = super().said()
        more = [line for line in self._news.lines(self.machine.log()) if line not in text]
        return text + "".join(f"{line}\n" for line in more)

    def reset(self) -> None:
        """Press the reset button, which helps even when the firmware hangs."""
        self.machine.reset()
        self._reconnect()

    def close(self) -> None:
        """Close the port and end the emulator."""
        self.machine.wake()
        super().close()
        self.machine.close()

    @contextlib.contextmanager
    def lent(self) -> Iterator[str]:
        """Leave the port to another program for the time of the `with` statement."""
        self.machine.wake()
        with super().lent() as port:
            yield port

    @contextlib.contextmanager
    def _translated(
        self, what: str, seconds: float | None, *, stops: bool = False
    ) -> Iterator[None]:
        self.machine.wake()
        with super()._translated(what, seconds, stops=stops):
            yield

    def _finish(
        self, timeout: float, overall: float | None, on_output: OnOutput | None = None
    ) -> str:
        try:
            return super()._finish(timeout, overall, on_output)
        finally:
            self.machine.rest()

    def _soft_reset(self) -> None:
        super()._soft_reset()
        self.machine.rest()

    def _failure_details(self) -> str:
        return f"; QEMU {self.machine.state()}, its log ends: {self.machine.log_tail()}"


def open_board(
    where: str = "qemu",
    *,
    board: str | None = None,
    npu: str | None = None,
    npu1: str | None = None,
    console: str = "fast",
) -> Board | QemuBoard:
    """Open the board at a serial port or pyserial URL, or start an emulated one ("qemu")."""
    if where == "qemu":
        return QemuBoard(Machine(npu, board=board, console=console, npu1=npu1))
    return Board(where)
