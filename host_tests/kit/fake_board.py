# SPDX-License-Identifier: MIT
"""A fake board on a pseudo terminal: MicroPython's raw REPL protocol around CPython's exec.

Its faults are those of real links: silence, garbage, a late answer, a board that disappears in
mid-sentence, one that does not stop sending. A lying board answers with `fault`; a `Lie` follows
the protocol, including hashes, and falsifies the values.
"""

import functools
import hashlib
import io
import os
import re
import subprocess
import time
import traceback
from ast import literal_eval
from dataclasses import dataclass

from host_tests.kit.stand_ins import Terminal

CTRL_A, CTRL_C, CTRL_D = b"\x01", b"\x03", b"\x04"
PASTE_REQUEST = b"\x05A\x01"
TRICKLE_S = 0.1
# Sent by the tools to check that a board responds; faults in answers begin after it.
PROOF = re.compile(rb"print\('[0-9a-f]{8}'\)")


@dataclass(frozen=True)
class Lie:
    """The answers to each request, as text, and to each exchange of data."""

    value: str
    data: bytes = b""


class FakeBoard(Terminal):
    """Serves one client at `port` until closed."""

    def __init__(self, fault=None, names=None):
        self.fault = fault
        self.names = dict(names or {})
        self.hangs = False
        super().__init__()

    def serve(self):
        if self.fault == "flood":
            self._flood()
        elif self.fault == "trickle":
            self._trickle()
        elif isinstance(self.fault, tuple):  # "says", what it repeats
            while not self.closing.wait(TRICKLE_S):
                self._send(self.fault[1])
        elif self.fault != "silent":
            self._serve_raw_repl()

    def _flood(self):
        """Send faster than anyone can read, from a process that shares no lock with the reader."""
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
        out, error = io.StringIO(), ""
        self.names["print"] = functools.partial(print, file=out)
        try:
            exec(code, self.names)
        except Exception:
            error = traceback.format_exc()
        self._send(b"OK" + out.getvalue().encode() + CTRL_D + error.encode() + CTRL_D + b">")

    def _lie(self, code):
        """Answer like the functions of board_code.py."""
        arguments = code.partition(b"(")[2][:-1]
        if code.startswith(b"_ask("):
            digest = literal_eval(arguments.decode())[1]
            proof = hashlib.sha256(digest + self.fault.value.encode()).hexdigest()
            self._send(f"OK{proof} {self.fault.value}\r\n\x04\x04>".encode())
            return
        _, size, digest = arguments.rsplit(b", ", 2)
        self._send(b"OK\x06")
        for _ in range(int(size)):
            os.read(self.master, 1)
        found = self.fault.data
        proof = hashlib.sha256(literal_eval(digest.decode()) + found).digest()
        self._send(b"\x02%08x" % len(found) + found + proof + CTRL_D + CTRL_D + b">")
