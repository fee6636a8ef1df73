# SPDX-License-Identifier: MIT
"""A fake board on a pseudo terminal: MicroPython's raw REPL protocol around CPython's exec.

Its faults are those of real links: silence, garbage, a late answer, a board that disappears in
mid-sentence, one that does not stop sending. A lying board answers with `fault`; a `Lie` follows
the protocol, including hashes, and falsifies the values.
"""

import ast
import builtins
import functools
import hashlib
import importlib
import io
import os
import re
import subprocess
import time
import traceback
from dataclasses import dataclass
from types import SimpleNamespace

from host_tests.kit.stand_ins import Terminal

CTRL_A, CTRL_C, CTRL_D = b"\x01", b"\x03", b"\x04"
PASTE_REQUEST = b"\x05A\x01"
TRICKLE_S = 0.1
# The tools send this to check that a board responds; faults in answers begin after it.
PROOF = re.compile(rb"print\('[0-9a-f]{8}'\)")


@dataclass(frozen=True)
class Lie:
    """The answers to each request, as text, and to each exchange of data."""

    value: str
    data: bytes = b""


BANNER = (
    b"MicroPython v1.25.0 on 2026-01-01; a board with a CPU\r\n"
    b'Type "help()" for more information.\r\n'
)
REPORT = (
    b"\r\n*** Fault: BusFault, exception 5, in the main program\r\n  cause: bus error\r\n"
    b"  address: 0x12345678\r\n  r12 00000000  sp  20000000  lr  01000201  pc  01000200\r\n"
    b"*** The board resets; boot.py and main.py are skipped once.\r\n"
)


@dataclass(frozen=True)
class Restart:
    """The board restarts when it gets a program, and sends this; `runs`: main.py does not end."""

    sends: bytes = b""
    runs: bool = False


class FakeBoard(Terminal):
    """Serves one client at `port` until closed."""

    def __init__(self, fault=None, names=None):
        self.fault = fault
        self.names = dict(names or {})
        self.hangs = False
        self.is_friendly = False
        self.sys = SimpleNamespace()
        super().__init__()

    def serve(self):
        if self.fault == "flood":
            self._flood()
        elif self.fault == "trickle":
            self._trickle()
        elif isinstance(self.fault, tuple):  # ("says", text to repeat)
            while not self.closing.wait(TRICKLE_S):
                self._send(self.fault[1])
        elif self.fault != "silent":
            self._serve_raw_repl()

    def _flood(self):
        """Send faster than any reader, from a process that shares no lock with the reader."""
        with subprocess.Popen(["yes", "garbage"], stdout=self.master) as process:
            self.closing.wait()
            process.kill()

    def _trickle(self):
        while not self.closing.wait(TRICKLE_S):
            os.write(self.master, b".")

    def _send(self, data):
        os.write(self.master, b"\xff?garbage" if self.fault == "garbage" else data)

    def _serve_raw_repl(self):
        pending = b""
        while True:
            pending += os.read(self.master, 4096)
            if self.fault == "stubborn" and self.hangs:
                pending = b""
            if self.is_friendly:
                pending = self._serve_friendly_repl(pending)
            if PASTE_REQUEST in pending:
                pending = pending.replace(PASTE_REQUEST, b"")
                self._send(b"R\x00")
            if CTRL_A in pending:
                pending = b""
                if self.fault == "late":
                    self.fault = None
                    time.sleep(2.5)
                self._send(b"raw REPL; CTRL-B to exit\r\n>")
            while CTRL_D in pending:
                code, _, pending = pending.partition(CTRL_D)
                self._run(code.replace(CTRL_C, b"").replace(b"\r", b""))

    def restart(self):
        """Reset the board, whose main.py ends at once or with Ctrl-C."""
        self.is_friendly = True
        self._send(self.fault.sends)
        if not self.fault.runs:
            self._send(BANNER + b">>> ")

    def _serve_friendly_repl(self, pending):
        """Serve until raw mode is requested; returns the input from there."""
        if self.fault.runs and CTRL_C in pending:
            self.fault = Restart()
            self._send(b"KeyboardInterrupt: \r\n" + BANNER + b">>> ")
        elif CTRL_A in pending and not self.fault.runs:
            self.is_friendly, self.fault = False, None
            return pending
        elif not self.fault.runs:
            self._send(b"\r\n>>> " * pending.count(b"\r"))
        return b""

    def _run(self, code):
        if not code:
            self._send(b"OK\r\nMPY: soft reboot\r\nraw REPL; CTRL-B to exit\r\n>")
            return
        if PROOF.fullmatch(code):
            self._send(b"OK" + code[7:-2] + b"\r\n" + CTRL_D + CTRL_D + b">")
            return
        if self.fault == "stubborn":
            self.hangs = True
            self._send(b"OK")
            return
        if isinstance(self.fault, Restart):
            self._send(b"OK")
            self.restart()
            return
        if self.fault == "vanish":
            master, self.master = self.master, -1
            os.close(master)
            raise OSError
        if self.fault in ("flood_in_answer", "trickle_in_answer"):
            self._send(b"OK")
            self._flood() if self.fault == "flood_in_answer" else self._trickle()
        if isinstance(self.fault, Lie) and code.startswith((b"_ask(", b"_exchange(")):
            self._lie(code)
            return
        if isinstance(self.fault, bytes):
            self._send(b"OK" + self.fault + CTRL_D + CTRL_D + b">")
            return
        out, error = io.TextIOWrapper(io.BytesIO(), write_through=True), ""
        self.names["print"] = functools.partial(print, file=out)
        self.names["__builtins__"] = {**vars(builtins), "__import__": self._import}
        self.sys.stdout = out
        try:
            exec(code, self.names)
        except Exception:
            error = traceback.format_exc()
        self._send(b"OK" + out.buffer.getvalue() + CTRL_D + error.encode() + CTRL_D + b">")

    def _import(self, name, *others):
        """Import a module for the board's program; its `sys` has the board's output."""
        module = importlib.__import__(name, *others)
        return self.sys if name == "sys" else module

    def _lie(self, code):
        """Answer like the functions of board_code.py."""
        arguments = ast.parse(code, mode="eval").body.args
        digest = ast.literal_eval(arguments[-1])
        mark = digest[:4].hex().encode()
        found = self.fault.value.encode() if code.startswith(b"_ask(") else self.fault.data
        self._send(b"OK")
        if code.startswith(b"_exchange("):
            self._send(b"\x06" + mark)
            for _ in range(ast.literal_eval(arguments[1])):
                os.read(self.master, 1)
        proof = hashlib.sha256(digest + found).digest()
        self._send(b"\x02" + mark + b"%08x" % len(found) + found + proof + CTRL_D + CTRL_D + b">")
