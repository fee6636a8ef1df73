# SPDX-License-Identifier: MIT
"""Stand-ins for programs, for a board's file, and for a device on a serial line."""

import contextlib
import os
import sys
import threading
import tty

# The start of a board.toml; variants and sections may follow.
BOARD = """\
title = "a board"
core = "Cortex-M55"
clock_mhz = 100
npus = ["ethos-u55-128"]
npu_registers = [{ base = 0x40000000, irq = 1 }]
interrupts = { count = 8, priority_bits = 3 }
micropython = { board = "B", mcu = "M", platform = "b" }
memories = []
regions = {}
uart = { base = 0x41000000, irq = 2, baud = 115200 }
romfs = { start = 0x1000, size = 0x1000 }
"""


def program(path, text, interpreter=sys.executable):
    """Write an executable script; returns its path."""
    path.write_text(f"#!{interpreter}\n{text}")
    path.chmod(0o755)
    return path


class Terminal:
    """A pseudo terminal: `port` for the tools, `master` for the device that `serve` acts as."""

    def __init__(self):
        self.closing = threading.Event()
        self.master, self.slave = os.openpty()
        tty.setraw(self.slave)
        self.port = os.ttyname(self.slave)
        self.thread = threading.Thread(target=self._act, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closing.set()
        # Without an open slave the server's read fails, so the server ends before its descriptor of
        # the master can be reused for another file.
        with contextlib.suppress(OSError):
            os.close(self.slave)
        self.thread.join(timeout=10)
        with contextlib.suppress(OSError):
            os.close(self.master)

    def _act(self):
        with contextlib.suppress(OSError):
            self.serve()

    def serve(self):
        """Act as the device, until `closing` is set or the terminal is closed."""


class Echo(Terminal):
    """A loopback that continues reading only after its echo was read."""

    def serve(self):
        while True:
            os.write(self.master, os.read(self.master, 4096))
