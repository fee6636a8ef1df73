# SPDX-License-Identifier: MIT
"""Puts files on a board, loads models there, and starts code that fails or never ends."""

import hashlib
import time
from pathlib import Path

import pytest
from ethosu_tools.base.errors import RemoteError
from ethosu_tools.link.board import Board
from ethosu_tools.model.arrays import Array
from ethosu_tools.sim.oracle import Oracle

MODEL = "/model.tflite"
# The board reads the file and compares: an earlier test may have written anything there.
_HAS = """
import hashlib
try:
    with open({path!r}, 'rb') as file: print(hashlib.sha256(file.read()).digest() == {digest!r})
except OSError: print(False)
import gc
file = hashlib = None
gc.collect()"""


def keep_file(board: Board, path: str, data: bytes) -> None:
    """Write a file unless the board has it from an earlier test: to check is four times as fast."""
    code = _HAS.format(path=path, digest=hashlib.sha256(data).digest())
    if board.exec(code).strip() != "True":
        board.write_file(path, data)


def load(board: Board, compiled: Path, name: str = "m") -> None:
    """Put a compiled model on the board and load it there under this name."""
    keep_file(board, MODEL, compiled.read_bytes())
    board.exec(f"import ethosu\n{name} = ethosu.Model({MODEL!r})")


def put(board: Board, example: tuple[Oracle, Array, Array]) -> None:
    """Define input `x` and expected output `golden` of the fixture `example` on the board."""
    _, x, golden = example
    board.exec(
        "import gc\nfrom array import array\n"
        f"x, golden = array('b', {x.tobytes()!r}), {golden.tobytes()!r}"
    )


def restart(board: Board) -> None:
    """Reset the board by its own program: reset() of an emulated one presses the button."""
    board.start("import machine; machine.reset()")
    board.reconnect()


def raised(board: Board, code: str) -> str:
    """Return the exception that code raises on the board: "OSError 110 message"."""
    return board.exec(
        "try:\n" + "".join(f"    {line}\n" for line in code.splitlines()) + "    print('nothing')\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, *error.args)\n"
    ).strip()


class _HeardError(Exception):
    """The board has printed the text that the test waits for."""


def run_until(board: Board, text: bytes, code: str) -> None:
    """Run code until it prints this text; the code keeps running, or the board restarts."""
    heard = bytearray()

    def on_output(data: bytes) -> None:
        heard.extend(data)
        if text in heard:
            raise _HeardError

    board.start(code)
    with pytest.raises(_HeardError):
        board.finish(on_output=on_output)


def interrupt(board: Board, code: str, after: float = 0.2) -> None:
    """Start code that never returns, and interrupt it with Ctrl-C, by default once it waits."""
    board.start(f"print('begun')\n{code}")

    def on_output(data: bytes) -> None:
        if data.endswith(b"\n"):
            time.sleep(after)
            board.inject(b"\x03")

    with pytest.raises(RemoteError, match="KeyboardInterrupt"):
        board.finish(timeout=10, on_output=on_output)
