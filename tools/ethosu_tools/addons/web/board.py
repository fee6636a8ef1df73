# SPDX-License-Identifier: MIT
"""Runs a board as a WebAssembly instance (tools/web/board).

node runs it on a pseudo-terminal; without node, and on other systems than Linux, wasmtime runs it
on a TCP port.
"""

import contextlib
import importlib.util
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from ...base import helper_process, paths
from ...base.closeable import Closeable
from ...base.errors import BoardError, InputError, NotHereError, SetupError
from ...link.board import Board
from ...link.emulator.emulator_log import Excerpt
from ...model import romfs

# To compile the board for the first time takes seconds.
_START_S = 120.0
_STOP_S = 5.0
# The link fails a moment before the process that had the port has ended.
_END_S = 1.0
_LOG_BYTES = 2000
# As in tools/web/board/memory.S.
ROMFS_BYTES = 0x2000100
_FIRMWARE = "build/firmware/WEB"


def image_file(name: str = "ethosu.wasm") -> Path:
    """The firmware of board WEB; "wasmtime.wasm" has the exceptions that wasmtime knows."""
    return paths.built(paths.root() / _FIRMWARE / name, "web")


def _node() -> Path:
    """The program that runs the board in node; a wheel has none."""
    return paths.root() / "tools/web/board/js/node.mjs"


class WebBoard(Closeable):
    """A running board; `port` works with `--on`, and with mpremote if it is `shared`."""

    def __init__(
        self,
        npus: Sequence[str] = ("ethos-u55-128",),
        *,
        rom: bytes | None = None,
        shared: bool = False,
    ) -> None:
        """Start the board with these NPUs and this ROMFS image.

        A TCP port takes only programs that know the word in `port`, unless it is `shared`.
        """
        image = romfs.build({}) if rom is None else rom
        if len(image) > ROMFS_BYTES:
            raise InputError(
                f"the ROMFS image has {len(image):,} bytes, but the board WEB has room for "
                f"{ROMFS_BYTES:,}"
            )
        with contextlib.ExitStack() as resources:
            folder = tempfile.TemporaryDirectory(prefix="ethosu-web-")
            file = Path(resources.enter_context(folder)) / "rom.img"
            file.write_bytes(image)
            self._log = Excerpt(_LOG_BYTES)
            node = shutil.which("node") if sys.platform == "linux" and _node().is_file() else None
            words = [",".join(npus), str(file)]
            if node:
                self.process, self.port = self._in_node(resources, node, words)
            else:
                word = "" if shared else secrets.token_hex()
                self.process, self.port = self._in_wasmtime(resources, words, word)
            self._resources = resources.pop_all()

    def _in_node(
        self, resources: contextlib.ExitStack, node: str, words: list[str]
    ) -> tuple[subprocess.Popen[bytes], str]:
        if sys.platform != "linux":
            raise NotHereError("a board in node")
        import pty
        import tty

        # The slave stays open, so that output before a client connects is not lost.
        master, slave = pty.openpty()
        resources.callback(os.close, slave)
        with open(master, "wb"):  # noqa: PTH123  # closes it
            tty.setraw(slave)
            os.set_blocking(master, False)
            process = subprocess.Popen(
                [node, str(_node()), str(image_file()), str(master), *words],
                pass_fds=[master],
                stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,  # only the command gets Ctrl-C of the terminal
            )
        self._follow(resources, process)
        return process, os.ttyname(slave)

    def _in_wasmtime(
        self, resources: contextlib.ExitStack, words: list[str], word: str
    ) -> tuple[subprocess.Popen[bytes], str]:
        image = image_file("wasmtime.wasm")
        if not importlib.util.find_spec("wasmtime"):
            raise SetupError(
                "neither node nor the package wasmtime, one of which runs the board WEB, is "
                "installed: pip install 'ethosu-tools[wasm]'"
            )
        module = f"{__package__}.instance"
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", module, str(image), *words],
            stdin=subprocess.PIPE,  # it ends with this process
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._follow(resources, process)
        assert process.stdin and process.stdout
        resources.enter_context(process.stdin)
        resources.enter_context(process.stdout)
        with contextlib.suppress(OSError):  # it has ended
            process.stdin.write(f"{word}\n".encode())
            process.stdin.flush()
        if not (port := _first_line(process)):
            raise BoardError(
                f"the board WEB did not start, for which it has {_START_S:g} s: {self.log_tail()}"
            )
        return process, f"socket://{word}{'@' * bool(word)}127.0.0.1:{port}"

    def _follow(self, resources: contextlib.ExitStack, process: subprocess.Popen[bytes]) -> None:
        """Keep what a process prints to stderr, until it ends; closing `resources` ends it."""
        assert process.stderr
        self._thread = threading.Thread(target=_keep, args=[process.stderr, self._log], daemon=True)
        self._thread.start()
        resources.callback(self._thread.join, _STOP_S)
        resources.callback(_stop, process)

    def log_tail(self) -> str:
        """Return the end of the error output of a process that has ended."""
        self._thread.join(_STOP_S)
        return self._log.end(_LOG_BYTES).decode(errors="replace").strip() or "it printed nothing"

    def close(self) -> None:
        """Stop the board; may be called repeatedly."""
        self._resources.close()


class WebLink(Board):
    """The link to such a board, whose errors say what the process said when it ended."""

    def __init__(self, web: WebBoard) -> None:
        """Open the board's port."""
        self._web = web
        super().__init__(web.port)

    def _failure_details(self) -> str:
        try:
            self._web.process.wait(_END_S)
        except subprocess.TimeoutExpired:
            return ""
        return f"; its process has ended: {self._web.log_tail()}"


def _first_line(process: subprocess.Popen[bytes]) -> str:
    """Return what a process prints first; "" if it ends before, by itself or after _START_S."""
    assert process.stdout
    limit = threading.Timer(_START_S, process.kill)
    limit.start()
    try:
        return process.stdout.readline().decode().strip()
    finally:
        limit.cancel()


def _keep(source: IO[bytes], log: Excerpt) -> None:
    with source:
        while data := os.read(source.fileno(), _LOG_BYTES):
            log.take(data)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        helper_process.end(process)
