# SPDX-License-Identifier: MIT
"""The console works over the UART."""

import hashlib
import random
import re
import threading

import pytest
from ethosu_tools.base.errors import RemoteError

FLOOD = """
import hashlib, micropython, sys, time
micropython.kbd_intr(-1)
print("go", end="")
time.sleep_ms(1500)  # long enough for the ring to fill up, unless the host is busy
digest, buffer, left = hashlib.sha256(), bytearray(512), {size}
view = memoryview(buffer)
while left:
    count = sys.stdin.buffer.readinto(view[:min(left, 512)])
    digest.update(view[:count])
    left -= count
print(digest.digest().hex(), end="")
"""


def flood(board, size: int) -> None:
    data = random.Random(size).randbytes(size)
    writer = threading.Thread(target=board.inject, args=(data,), daemon=True)
    heard = b""

    def on_output(byte: bytes) -> None:
        nonlocal heard
        heard += byte
        if heard == b"go":
            writer.start()

    board.exec(FLOOD.format(size=size), timeout=60, on_output=on_output)
    writer.join()
    assert heard[2:66].decode() == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("size", [12_000, pytest.param(300_000, marks=pytest.mark.slow)])
def test_nothing_is_lost_at_full_speed(uart_board, size):
    """Nothing is lost when more than ring and UART hold arrives while no program reads."""
    flood(uart_board, size)


def test_banner_names_version_and_board(stock):
    with stock.terminal() as terminal:
        terminal.write(b"\r\x03\x01")
        terminal.read_until(b"raw REPL; CTRL-B to exit\r\n>")
        terminal.write(b"\x02")
        text = terminal.read_until(b'Type "help()"')
    with stock.board() as board:
        _, _, release, _, machine = board.eval("tuple(__import__('os').uname())")
    words = rf"MicroPython v{re.escape(release)} on [-0-9]+; {re.escape(machine)}\r\n"
    assert re.search(words.encode(), text), text


@pytest.mark.parametrize(
    "program",
    [
        "import time; time.sleep(1000)",
        "import time; time.sleep_us(1_000_000_000)",
        "while True: pass",
        "import machine; machine.lightsleep(1_000_000)",
        "import machine\nwhile True: machine.idle()",
        "import sys; sys.stdin.read(1)",
        "import asyncio\nasync def main(): await asyncio.sleep(1000)\nasyncio.run(main())",
        "import select, sys; p = select.poll(); p.register(sys.stdin, 1); p.poll()",
    ],
)
def test_ctrl_c_ends(uart_board, program):
    def on_output(byte: bytes) -> None:
        if byte == b"!":
            uart_board.inject(b"\x03")

    with pytest.raises(RemoteError, match="KeyboardInterrupt"):
        uart_board.exec("print('!')\n" + program, on_output=on_output)
    assert uart_board.eval("6 * 7") == 42
