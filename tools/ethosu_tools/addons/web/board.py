# SPDX-License-Identifier: MIT
"""Runs a board as a WebAssembly instance (tools/web/board).

node runs it on a pseudo-terminal; without node, and on other systems than Linux, wasmtime runs it
on a TCP port.
"""

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ...base import helper_process, paths
from ...base.closeable import Closeable
from ...base.errors import BoardError, InputError, NotHereError, SetupError
from ...model import romfs

_STOP_S = 5.0
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
    """A running board; `port` works with `--on` and mpremote."""

    def __init__(
        self, npus: Sequence[str] = ("ethos-u55-128",), *, rom: bytes | None = None
    ) -> None:
        """Start the board with these NPUs and this ROMFS image."""
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
            self._errors = resources.enter_context(tempfile.TemporaryFile("a+b"))
            node = shutil.which("node") if sys.platform == "linux" and _node().is_file() else None
            words = [",".join(npus), str(file)]
            if node:
                self.process, self.port = self._in_node(resources, node, words)
            else:
                self.process, self.port = self._in_wasmtime(resources, words)
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
        tty.setraw(slave)
        os.set_blocking(master, False)
        process = subprocess.Popen(
            [node, str(_node()), str(image_file()), str(master), *words],
            pass_fds=[master],
            stdin=subprocess.DEVNULL,
            stderr=self._errors,
            start_new_session=True,  # only the command gets Ctrl-C of the terminal
        )
        resources.callback(_stop, process)
        os.close(master)
        return process, os.ttyname(slave)

    def _in_wasmtime(
        self, resources: contextlib.ExitStack, words: list[str]
    ) -> tuple[subprocess.Popen[bytes], str]:
        if not importlib.util.find_spec("wasmtime"):
            raise SetupError(
                "neither node nor the package wasmtime, one of which runs the board WEB, is "
                "installed: pip install 'ethosu-tools[wasm]'"
            )
        module = f"{__package__}.instance"
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", module, str(image_file("wasmtime.wasm")), *words],
            stdin=subprocess.PIPE,  # it ends with this process
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        resources.callback(_stop, process)
        assert process.stdin and process.stdout
        resources.enter_context(process.stdin)
        port = resources.enter_context(process.stdout).readline().decode().strip()
        if not port:
            raise BoardError(f"the board WEB did not start: {self.log_tail()}")
        return process, f"socket://127.0.0.1:{port}"

    def log_tail(self) -> str:
        """Return the end of the error output."""
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - _LOG_BYTES))
        return self._errors.read().decode(errors="replace").strip() or "it printed nothing"

    def close(self) -> None:
        """Stop the board; may be called repeatedly."""
        self._resources.close()


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        helper_process.end(process)
