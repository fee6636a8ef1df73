# SPDX-License-Identifier: MIT
"""A MicroPython board on a serial line, real or emulated, with one interface for both.

    with open_board("/dev/ttyACM0") as board:      # any pyserial port or URL
        board.exec("import ethosu")
        print(board.eval("ethosu.reserve()"))

The serial protocol is mpremote's. It has no checksum, so `exec` and `eval` trust the received data.
`ask` and everything built on it (files, models, tensors) use hashes in both directions, so that
transmission errors raise an exception and never cause a wrong result.
"""

import contextlib
import errno
import hashlib
import io
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import serial
from mpremote.transport import TransportError

from ..base.closeable import Closeable
from ..base.deadline import Deadline
from ..base.errors import (
    BoardError,
    BoardLinkError,
    BoardResetError,
    BoardTimeoutError,
    ExpectError,
    RemoteError,
)
from ..base.files import LARGEST
from ..base.locks import Lock
from ..base.ui import Update
from ..boards.setup import emulated
from . import board_code, board_log, restart
from .board_code import Kind, checked, literal
from .board_log import BoardLog
from .emulator.qemu import Machine, summarise_log
from .expect import Patterns, compiled
from .port import ANSWER_TIMEOUT_S, OnOutput, RestartedError, StepError, Transport, UsbDevice

T = TypeVar("T")
BOOT_TIMEOUT_S = 10.0
# Interval between attempts to get the prompt of a booting board.
_PROMPT_TIMEOUT_S = 1.0
# A board that sent this many fault reports faults at each start.
_REPORTS = 3
_WAITING = "waiting for the board's prompt"
# What the system says of a port whose other end is gone; pyserial passes it on from some calls.
_LINK_ERRORS = (errno.EIO, errno.ENXIO, errno.ENODEV)
# After this silence, the output of a board is considered complete.
_QUIET_S = 0.2
_QUIET_TRIES = 10
# A whole step may take this many times the longest silence, plus the time for its bytes.
_SILENCES = 10
_SLOWEST_BYTES_PER_S = 500.0
# Hashing a large file takes long on a slow processor.
_HASH_TIMEOUT_S = 120.0
# Files are sent in pieces of this size, or in smaller ones if a board has little memory.
_PIECE_BYTES = 64 * 1024
_SMALLEST_PIECE = 1024
# Free memory divided by the size of a piece, of which several copies exist at the same time.
_PIECE_SHARE = 8
# A program may take this long to end after Ctrl-C.
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
        """Open the port and interrupt the running program.

        All time-outs are seconds of the board; `process` is its emulator, if any.
        """
        self.port = port
        self.log = BoardLog()
        self._process = process
        self._deadline = partial(Deadline, process=process)
        self._boot_timeout = boot_timeout
        self._can_ask = False
        self._is_lost = False  # the state of the protocol is unknown
        self._resets = False  # since it was told to; its port may be away
        self._runs = self._is_told = False  # a program runs; its traceback is logged
        # The port of an emulator that this process started is private.
        self._lock = Lock(port) if process is None else None
        self._device: UsbDevice | None = None
        with contextlib.ExitStack() as undone:
            if self._lock:
                undone.callback(self._lock.close)
            self._transport = self._open()
            self._device = UsbDevice.at(self._lock.port) if self._lock else None
            undone.callback(self.close)
            self._enter(boot_timeout)
            undone.pop_all()

    @property
    def is_lost(self) -> bool:
        """Whether the board did not answer as expected, and nothing has reached it since."""
        return self._is_lost

    def begin_log(self) -> None:
        """Clear the log of the board's output."""
        self.log.begin()

    def output(self) -> str:
        """Return the board's output since `begin_log`, with tracebacks and fault reports."""
        return self.log.text()

    def is_awaited(self) -> bool:
        """Whether another worker of this pytest run is waiting for the board."""
        return self._lock is not None and self._lock.is_awaited()

    def exec(
        self,
        code: str | bytes,
        *,
        timeout: float = 10,
        overall: float | None = None,
        on_output: OnOutput | None = None,
    ) -> str:
        """Run code and return its output; raises RemoteError if the code raises.

        `timeout` limits the silence between two characters, `overall` the total time (default: ten
        times `timeout`). `on_output` receives the output as it arrives; the returned text is then
        empty, and only `overall` limits the total time.
        """
        self.log.add_code(code)
        self.start(code)
        return self.finish(timeout=timeout, overall=overall, on_output=on_output)

    def eval(self, expression: str, *, timeout: float = 10) -> Any:
        """Return the value of an expression, which needs a literal form."""
        mark = os.urandom(4).hex()
        code = f"print({mark!r}, repr({expression}), {mark!r}, sep='')"
        self.log.add_code(code)
        self.start(code)
        printed = self._output(timeout, _SILENCES * timeout)
        self.log.add_output(printed.replace(mark, ""))
        *_, value, _ = printed.rsplit(mark, 2) if printed.count(mark) > 1 else (printed, "")
        return literal(value.strip())

    def ask(self, code: str, *, timeout: float = 10, kind: Kind = object) -> Any:
        """Run code; returns the value that it assigned to `_answer`, which needs a literal form.

        The code runs only if it arrived undamaged, and only once; the answer carries a hash of
        both. Raises BoardLinkError if data were damaged, and BoardError for another type than
        `kind`.
        """
        request = f"#{os.urandom(4).hex()}\n{code}".encode()
        self.log.add_code(request)
        digest = hashlib.sha256(request).digest()
        answer = self._request(f"_ask({request!r}", digest, timeout)
        return checked(literal(answer.decode(errors="replace")), kind, self.port)

    def _request(
        self, call: str, digest: bytes, timeout: float, sent: bytes | None = None
    ) -> bytes:
        """Return the answer to a call of `_ask` or `_exchange`; define these again after a reset.

        `call` lacks its last argument; `sent` is what `_exchange` reads, `digest` the hash of the
        request's data.
        """
        call += f", {digest!r})"
        for attempt in (1, 2):
            if not self._can_ask:
                self.start(board_code.DEFINITIONS)
                self._finish(ANSWER_TIMEOUT_S, _SILENCES * ANSWER_TIMEOUT_S)
                self._can_ask = True
            try:
                received = self._answer(call, digest, timeout, sent)
                break
            except RemoteError as error:
                if board_code.DAMAGED in error.text:
                    damage = f"data sent to {self.port} was {board_code.DAMAGED}"
                    raise BoardLinkError(damage) from None
                name = call.partition("(")[0]
                if attempt == 2 or error.kind != "NameError" or f"'{name}'" not in error.text:
                    self.log.add_error(error)
                    raise
            self._can_ask = False  # the board was reset
        answer, proof = received[: -board_code.HASH_BYTES], received[-board_code.HASH_BYTES :]
        if proof != hashlib.sha256(digest + answer).digest():
            raise BoardLinkError(f"data received from {self.port} was damaged")
        return answer

    def _answer(self, call: str, digest: bytes, timeout: float, sent: bytes | None) -> bytes:
        """Return what follows the mark of the answer, b"" without one; the output is logged."""
        what = "running code" if sent is None else "sending data"
        seconds = _SILENCES * timeout + len(sent or b"") / _SLOWEST_BYTES_PER_S
        ready, answer = (board_code.mark(first, digest) for first in board_code.MARKS)
        port, received = self._transport.serial, b""
        self.start(call)
        with self._translated(what, seconds, stops=True):
            if sent is None or port.skip_to(ready, or_end=True):
                port.write(sent or b"")
                if port.skip_to(answer, timeout=timeout, or_end=True):
                    size = int(port.read_exactly(board_code.DIGITS, timeout), 16)
                    received = port.read_exactly(size + board_code.HASH_BYTES, timeout)
        self.log.add_output(self._finish(timeout, _SILENCES * timeout))
        return received

    def exchange(self, data: bytes, work: str, *, timeout: float = 10) -> bytes:
        """Send bytes to the board, which passes them to the function `work`; return its result.

        Only bytes that would stop the board's program are encoded, so this is fast for large data.
        Uses hashes in both directions, as `ask` does.
        """
        sent = data.replace(b"\x1b", b"\x1b[").replace(b"\x03", b"\x1bC")
        call = f"_exchange({work}, {len(sent)}"
        return self._request(call, hashlib.sha256(data).digest(), timeout, sent)

    def piece_bytes(self, needed: int = _PIECE_BYTES) -> int:
        """Maximum number of bytes for one `exchange`, or `needed`, if that is less."""
        if needed <= _SMALLEST_PIECE:
            return _SMALLEST_PIECE
        largest = min(needed, _PIECE_BYTES)
        size = self.ask(
            board_code.PIECE_BYTES.format(
                largest=largest, smallest=_SMALLEST_PIECE, share=_PIECE_SHARE
            )
        )
        if not isinstance(size, int) or not 0 < size <= largest:
            raise BoardError(f"expected a number of bytes up to {largest}, found {size!r:.100}")
        return size

    def start(self, code: str | bytes) -> None:
        """Start code and return at once; call `finish` afterwards."""
        self._come_back()
        if self._is_lost:
            self._enter(_STOP_TIMEOUT_S)
        seconds = _SILENCES * ANSWER_TIMEOUT_S + len(code) / _SLOWEST_BYTES_PER_S
        with self._translated("starting code", seconds, watch=True):
            self._transport.serial.check_idle()
            self._transport.exec_raw_no_follow(code)
        self._runs, self._is_told = True, False
        self.log.console.begin_program()

    def finish(
        self,
        *,
        timeout: float = 10,
        overall: float | None = None,
        on_output: OnOutput | None = None,
    ) -> str:
        """Wait for the started code; the arguments are those of `exec`."""
        if overall is None and on_output is None:
            overall = _SILENCES * timeout
        printed = self._output(timeout, overall, on_output)
        self.log.add_output(printed)
        return printed

    def _output(
        self, timeout: float, overall: float | None, on_output: OnOutput | None = None
    ) -> str:
        """Return the output of the started code; an exception is logged and raised."""
        try:
            return self._finish(timeout, overall, on_output)
        except RemoteError as error:
            if not self._is_told:
                self.log.add_error(error)
            raise

    def _finish(
        self, timeout: float, overall: float | None, on_output: OnOutput | None = None
    ) -> str:
        self._runs = False
        with self._translated("running code", overall, stops=True):
            output, error = self._transport.follow(timeout, on_output)
        printed = "" if on_output else str(output.decode(errors="replace"))
        if error:
            raise RemoteError(error.decode(errors="replace"), printed)
        return printed

    def expect(self, pattern: Patterns, timeout: float = 10) -> re.Match[str]:
        """Wait until the board prints what a regular expression, or one of several, matches.

        Searches what the board has printed since the last match, or since the test's start: a
        finished program, one that runs since `start`, a boot after `reset`. Returns the match,
        which is consumed, and what comes before it; `finish` returns only what follows.
        Half a line may have arrived: end a pattern that takes a whole one with a newline.
        `timeout` is the whole time. ExpectError: it was not printed, or the program has ended.
        """
        return self._expect(compiled(pattern), timeout)

    def expect_exact(self, text: Patterns, timeout: float = 10) -> re.Match[str]:
        """Do the same for a text, or one of several, that is no regular expression."""
        return self._expect(compiled(text, exact=True), timeout)

    def _expect(self, patterns: list[re.Pattern[str]], timeout: float) -> re.Match[str]:
        wanted = " or ".join(repr(each.pattern) for each in patterns)
        deadline, ended = self._deadline(timeout), False
        with self._translated(f"expecting {wanted}", None, watch=self._runs and not self._is_lost):
            while not (found := self.log.console.find(patterns)) and not ended:
                if deadline.expired():
                    break
                ended = self._though_away(self._hear, deadline)
        if found:
            return found
        sent = self._transport.serial.recent
        who = f"expecting {wanted}: the board at {self.port}"
        if self._runs and restart.is_in(sent):
            raise self._restarted(who, sent)
        why = "its program ended" if ended else f"waited {timeout:g} s"
        tail = self.log.console.tail()
        raise ExpectError(f"{who} did not print it ({why}); it printed: {tail or 'nothing'}")

    def _hear(self) -> bool:
        """Log what the board prints now; True if its program has ended."""
        port, raw = self._transport.serial, not self._is_lost
        idle = raw and not self._runs
        data = port.hear_idle() if idle else port.hear(raw=raw)
        self.log.add_output(self.log.console.decode(data))
        traceback = port.ended() if raw and not idle else None
        if traceback and not self._is_told:
            self._is_told = True
            self.log.add_traceback(traceback.decode(errors="replace"))
        return traceback is not None

    def inject(self, data: bytes) -> None:
        r"""Type bytes at the board's console, such as b"\x03" (Ctrl-C), whatever it is doing."""
        with self._translated("typing", _SILENCES * ANSWER_TIMEOUT_S):
            self._though_away(
                lambda: self._transport.serial.write(data), self._deadline(self._boot_timeout)
            )

    def soft_reset(self) -> None:
        """Start a fresh interpreter, without running boot code."""
        self._come_back()
        try:
            self._soft_reset()
        except BoardTimeoutError:  # perhaps due to a late answer to an earlier request
            self._settle()
            self._soft_reset()

    def _soft_reset(self) -> None:
        with self._translated("soft reset", _SILENCES * ANSWER_TIMEOUT_S):
            self._transport.enter_raw_repl(soft_reset=True)
            self._check_prompt(ANSWER_TIMEOUT_S)
        self._is_lost = False

    def reset(self, *, wait: bool = True) -> None:
        """Reset the whole board; `expect` searches what it prints from there on.

        Without `wait`, the board boots and runs its main.py, which the next call of another method
        than `expect` and `inject` interrupts. A USB port that goes away meanwhile is opened again
        by the next call, under another name, too, if the device has a serial number.
        """
        self._reset()
        self._is_lost = self._resets = True
        self._runs = False
        self.log.console.begin()
        if wait:
            self.reconnect()
            self.log.add_boot(self._transport.serial.history)

    def _reset(self) -> None:
        self._come_back()
        # A board with USB of its own may take the port away before it has answered.
        with contextlib.suppress(BoardLinkError):
            self.start("import machine; machine.reset()")

    def interrupt(self) -> None:
        """Stop the running program and return to the raw REPL, keeping the interpreter's state."""
        self._come_back()
        with self._translated("interrupting", _SILENCES * ANSWER_TIMEOUT_S):
            self._transport.enter_raw_repl(soft_reset=False)
        self._is_lost = self._runs = False

    def write_file(self, path: str, data: bytes, *, progress: Update | None = None) -> None:
        """Write a file to the board; `progress` is called with the bytes done and the total."""
        piece = self.piece_bytes(len(data))
        self.ask(f"_file = open({path!r}, 'wb')")
        for at in range(0, len(data), piece):
            self.exchange(data[at : at + piece], "lambda data: b'%d' % _file.write(data)")
            if progress:
                progress(min(at + piece, len(data)), len(data))
        self.ask("_file.close()")

    def read_file(self, path: str, *, opener: str = "open") -> bytes:
        """Read a file from the board, which opens it with `opener`."""
        size = self.ask(
            f"_file = {opener}({path!r}, 'rb')\n_answer = _file.seek(0, 2)\n_file.seek(0)"
        )
        if not isinstance(size, int) or not 0 <= size <= LARGEST:
            raise BoardError(f"the board reported an invalid size of {path}: {size!r:.100}")
        data, largest = bytearray(), self.piece_bytes(size)
        while len(data) < size:
            expected = min(largest, size - len(data))
            piece = self.exchange(b"", f"lambda _: _file.read({expected})")
            if len(piece) != expected:
                raise BoardError(f"expected {expected:,} bytes of {path}, found {len(piece):,}")
            data += piece
        self.ask("_file.close()")
        return bytes(data)

    def file_hash(self, path: str) -> bytes | None:
        """Return the SHA-256 of a file on the board, or None if it does not exist."""
        digest = self.ask(board_code.FILE_HASH.format(path=path), timeout=_HASH_TIMEOUT_S)
        return digest if isinstance(digest, bytes) else None

    @contextlib.contextmanager
    def lent(self) -> Iterator[str]:
        """Lend the port to another program for the duration of the `with` statement."""
        self._come_back()
        with contextlib.suppress(OSError, TransportError):
            self._transport.exit_raw_repl()
        self._close_port()
        try:
            with self._lock.lent() if self._lock else contextlib.nullcontext():
                yield self._place()
        finally:
            self._transport = self._open()
            self._enter(self._boot_timeout)

    def close(self) -> None:
        """Leave the board at its friendly REPL and close the port; safe to call again."""
        self._transport.serial.begin(ANSWER_TIMEOUT_S)
        with contextlib.suppress(OSError, TransportError):
            self._transport.exit_raw_repl()
        self._close_port()
        if self._lock:
            self._lock.close()

    def _close_port(self) -> None:
        with contextlib.suppress(OSError, TransportError):
            self._transport.close()

    def _failure_details(self) -> str:
        """Return further details for error messages."""
        return ""

    def _open(self) -> Transport:
        place = self._place()
        if self._lock:  # a board that came back may have another name
            self._lock.move(place)
        return Transport(place, self._deadline)

    def _place(self) -> str:
        """Return the port to open."""
        if self._device:
            return self._device.port()
        return self._lock.port if self._lock else self.port

    def _enter(self, timeout: float) -> None:
        """Reach the raw REPL of a board that may still be booting."""
        tries = max(1, round(timeout / _PROMPT_TIMEOUT_S))
        self._transport.serial.forget()
        for attempt in range(1, tries + 1):
            try:
                if attempt > 1:
                    self._settle()
                with self._translated(_WAITING, 2 * _PROMPT_TIMEOUT_S):
                    self._transport.enter_raw_repl(
                        soft_reset=False, timeout_overall=_PROMPT_TIMEOUT_S
                    )
                    self._check_prompt(_PROMPT_TIMEOUT_S)
                self._is_lost = self._resets = False
                return
            except BoardTimeoutError as error:
                history = self._transport.serial.history
                faults = len(restart.REPORT.findall(history))
                if attempt == tries or faults >= _REPORTS or self._deadline(None).expired():
                    sent = f"it sent: {board_log.sent(history)}"
                    if faults:
                        text = f"{_WAITING}: the board at {self.port} faults before it; {sent}"
                        raise self._reset_error(text, history, summarise=False) from None
                    raise BoardTimeoutError(f"{error}; {sent}") from None

    def _check_prompt(self, timeout: float) -> None:
        """Check that the board replies to this request, and not to an earlier one."""
        self._can_ask, self._transport.use_raw_paste, self._runs = False, True, False
        word = os.urandom(4).hex()
        output, _ = self._transport.exec_raw(f"print({word!r})", timeout)
        if word.encode() not in output:
            raise TransportError(f"expected {word}, found {output!r}")

    def _settle(self) -> None:
        """Discard late answers to earlier attempts, so that they are not taken for the next one."""
        port = self._transport.serial
        with self._translated(_WAITING, 2 * _QUIET_TRIES * _QUIET_S):
            for _ in range(_QUIET_TRIES):
                time.sleep(_QUIET_S)
                if not port.in_waiting:
                    break
                port.read(port.in_waiting)

    def reconnect(self) -> None:
        """Get the prompt after a reset; a port that disappears meanwhile is opened again."""
        self._resets = True
        enter = partial(self._enter, self._boot_timeout)
        self._though_away(enter, self._deadline(self._boot_timeout))

    def _come_back(self) -> None:
        """Get the prompt of a board that was told to reset."""
        if self._resets:
            self.reconnect()

    def _though_away(self, act: Callable[[], T], deadline: Deadline) -> T:
        """Act, again if the port of a board that resets has gone away and can be opened again."""
        gone = False
        while True:
            try:
                if gone:
                    self._close_port()
                    self._transport = self._open()
                return act()
            except (OSError, BoardLinkError):
                if not self._resets or deadline.expired():
                    raise
            gone = True
            time.sleep(_QUIET_S)

    @contextlib.contextmanager
    def _translated(
        self, what: str, seconds: float | None, *, watch: bool = False, stops: bool = False
    ) -> Iterator[None]:
        """Limit the time of a step, translate its errors, and suppress its output.

        With `watch`, a restart of the board is a BoardResetError. With `stops`, the step runs a
        program, which is interrupted when the time is over.
        """
        port = self._transport.serial
        port.begin(seconds, watch=watch or stops)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                yield
            self.log.add_output(port.take_skipped().decode(errors="replace"))
        except OSError as error:
            if isinstance(error, serial.SerialException) or error.errno in _LINK_ERRORS:
                raise BoardLinkError(
                    f"{what}: the link to {self.port} failed{self._failure_details()}"
                ) from None
            raise BoardError(f"{what}: {error}") from None
        except (TransportError, *board_code.PARSE_ERRORS) as error:
            self._is_lost = True
            sent = port.recent
            self.log.add_received(sent)
            reason = str(error) if isinstance(error, StepError) else "sent no valid response"
            if self._process is not None and self._process.poll() is not None:
                reason, sent = "has ended", b""
            elif stops and not isinstance(error, RestartedError):
                reason += f"; {self._stop()}"
                sent += port.recent
            if (watch or stops) and self._is_lost and restart.is_in(sent):
                raise self._restarted(f"{what}: the board at {self.port}", sent) from None
            details = self._failure_details() if self._is_lost else ""
            raise BoardTimeoutError(f"{what}: the board at {self.port} {reason}{details}") from None

    def _stop(self) -> str:
        """Interrupt a program that took too long, and report whether that helped."""
        port = self._transport.serial
        port.begin(_STOP_TIMEOUT_S, watch=True)
        try:
            port.write(b"\x03")
            output, error = self._transport.follow(_STOP_TIMEOUT_S)
        except (OSError, TransportError):
            self.log.add_received(port.recent)
            return "Ctrl-C does not stop the program; reset the board"
        self.log.add_output(output.decode(errors="replace"))
        self.log.add_traceback(error.decode(errors="replace"))
        self._is_lost = False
        return "the program was stopped by Ctrl-C"

    def _restarted(self, who: str, sent: bytes) -> BoardResetError:
        """Return the error for a board that sent its fault report or its banner."""
        back = "restarted" if restart.BANNER.search(sent) else "has not restarted"
        if restart.REPORT.search(sent):
            return self._reset_error(f"{who} faulted and {back}", sent)
        return BoardResetError(
            f"{who} {back}: machine.reset(), a watchdog, its reset button or its power; the "
            "program's variables are lost"
        )

    def _reset_error(self, text: str, sent: bytes, *, summarise: bool = True) -> BoardResetError:
        """Return the error for a board that faulted, with the last report in `sent`, if any."""
        report = restart.read_report(sent.decode(errors="replace"))
        if report is None:
            return BoardResetError(text)
        functions = report.functions(self._firmware())
        parts = [report.kind, *([report.summary()] if report.causes else [])] if summarise else []
        text = ": ".join([text, *parts]) + (f", in {functions}" if functions else "")
        return BoardResetError(text, report.text, report.address or "", functions)

    def _firmware(self) -> Path | None:
        """Return the .elf that the board runs, if known."""
        return None


class QemuBoard(Board):
    """An emulated board; its memory can be read and written without the serial line."""

    def __init__(self, machine: Machine, *, boot_timeout: float = BOOT_TIMEOUT_S) -> None:
        """Take over a machine that has just been started."""
        self.machine = machine
        self._log_begin = 0
        try:
            super().__init__(machine.port, boot_timeout=boot_timeout, process=machine.process)
        except BaseException:
            machine.close()
            raise
        self._log_begin = machine.log_size()
        machine.rest()

    def begin_log(self) -> None:
        """Clear the log of the board's output, fault reports and QEMU's messages."""
        super().begin_log()
        self._log_begin = self.machine.log_size()

    def output(self) -> str:
        """Return the board's output since `begin_log`, followed by QEMU's messages."""
        text = super().output()
        lines = self.machine.log(self._log_begin).splitlines()
        return text + "".join(f"{line}\n" for line in lines if line.strip() and line not in text)

    def _reset(self) -> None:
        """Press the reset button, which works even if the firmware hangs."""
        self.machine.reset()

    def close(self) -> None:
        """Close the port and end the emulator."""
        self.machine.wake()
        super().close()
        self.machine.close()

    @contextlib.contextmanager
    def lent(self) -> Iterator[str]:
        """Lend the port, while the board is awake."""
        self.machine.wake()
        with super().lent() as port:
            yield port

    @contextlib.contextmanager
    def _translated(
        self, what: str, seconds: float | None, *, watch: bool = False, stops: bool = False
    ) -> Iterator[None]:
        self.machine.wake()
        with super()._translated(what, seconds, watch=watch, stops=stops):
            yield

    def _firmware(self) -> Path | None:
        return self.machine.image

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

    def _expect(self, patterns: list[re.Pattern[str]], timeout: float) -> re.Match[str]:
        try:
            return super()._expect(patterns, timeout)
        finally:
            if not self._runs and not self._is_lost:
                self.machine.rest()

    def _open(self) -> Transport:
        try:
            return super()._open()
        except BoardLinkError as error:  # QEMU may have ended
            raise BoardLinkError(f"{error}{self._failure_details()}") from None

    def _failure_details(self) -> str:
        """Return QEMU's state, and its messages since the start of the board or test."""
        state, log = self.machine.state(), self.machine.log(self._log_begin)
        return f"; QEMU {state}" + (f", its log ends: {summarise_log(log)}" if log.strip() else "")


def open_board(
    where: str = "qemu",
    *,
    board: str | None = None,
    npu: str | None = None,
    npu1: str | None = None,
    console: str | None = None,
) -> Board | QemuBoard:
    """Open the board at a serial port or pyserial URL, or start an emulated one ("qemu")."""
    if where == "qemu":
        return QemuBoard(Machine(emulated(board, npu, console=console, npu1=npu1)))
    return Board(where)
