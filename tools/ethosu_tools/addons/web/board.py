# SPDX-License-Identifier: MIT
"""Runs a board as a WebAssembly instance (tools/web/board) in node, on a pseudo-terminal."""

import contextlib
import os
import pty
import shutil
import subprocess
import tempfile
import tty
from collections.abc import Sequence
from pathlib import Path

from ...base import helper_process, paths
from ...base.closeable import Closeable
from ...base.errors import InputError, SetupError
from ...link.emulator.emulator_log import EmulatorLog
from ...model import romfs

_STOP_S = 5.0
_LOG_BYTES = 2000
# As in tools/web/board/memory.S.
ROMFS_BYTES = 0x2000100


def image_file() -> Path:
    """The firmware of board WEB."""
    return paths.built(paths.root() / "build/firmware/WEB/ethosu.wasm", "web")


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
        node = shutil.which("node")
        if node is None:
            raise SetupError(
                "node, which runs the board WEB, is not installed; on Debian: apt-get install "
                "nodejs"
            )
        words = [node, str(paths.root() / "tools/web/board/js/node.mjs"), str(image_file())]
        self._folder = tempfile.TemporaryDirectory(prefix="ethosu-web-")
        file = Path(self._folder.name) / "rom.img"
        file.write_bytes(image)
        # The slave stays open, so that output before a client connects is not lost.
        master, self._slave = pty.openpty()
        tty.setraw(self._slave)
        os.set_blocking(master, False)
        self.port = os.ttyname(self._slave)
        self._errors = EmulatorLog()
        self.process = subprocess.Popen(
            [*words, str(master), ",".join(npus), str(file)],
            pass_fds=[master],
            stdin=subprocess.DEVNULL,
            stderr=self._errors.fileno(),
            start_new_session=True,  # only the command gets Ctrl-C of the terminal
        )
        os.close(master)

    def log_tail(self) -> str:
        """Return the end of node's error output."""
        return self._errors.end(_LOG_BYTES).strip() or "it printed nothing"

    def close(self) -> None:
        """Stop the board."""
        self.process.terminate()
        try:
            self.process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            helper_process.end(self.process)
        with contextlib.suppress(OSError):
            os.close(self._slave)
        self._errors.close()
        self._folder.cleanup()
