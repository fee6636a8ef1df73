# SPDX-License-Identifier: MIT
"""The board that is a WebAssembly instance (boards/WEB), run by node on a pseudo-terminal."""

import contextlib
import os
import pty
import shutil
import subprocess
import tempfile
import tty
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from . import paths, romfs
from .closeable import Closeable
from .errors import BoardError

_STOP_S = 5.0


def find_node() -> str:
    """The node that runs it; raises BoardError when there is none."""
    node = shutil.which("node")
    if node is None:
        raise BoardError("node is missing, which runs the board WEB: apt-get install nodejs")
    return node


class WebBoard(Closeable):
    """A running board; `port` is what `--on` and mpremote take."""

    def __init__(
        self, npus: Sequence[str] = ("ethos-u55-128",), *, rom: bytes | None = None
    ) -> None:
        """Start it with these NPUs and this ROMFS image."""
        self._folder = tempfile.TemporaryDirectory(prefix="ethosu-web-")
        image = Path(self._folder.name) / "rom.img"
        image.write_bytes(romfs.build({}) if rom is None else rom)
        master, slave = pty.openpty()
        tty.setraw(slave)
        os.set_blocking(master, False)
        self.port = os.ttyname(slave)
        self._slave = slave  # kept open: what the board writes before somebody listens is not lost
        self._errors: IO[bytes] = tempfile.TemporaryFile()
        words = [find_node(), str(paths.web_runner()), str(paths.web_image()), str(master), ",".join(npus), str(image)]
        self._process = subprocess.Popen(words, pass_fds=[master], stderr=self._errors)
        os.close(master)

    def running(self) -> bool:
        """Has it not ended?"""
        return self._process.poll() is None

    def wait(self) -> None:
        """Wait for its end, which is a failure: a board runs for ever."""
        self._process.wait()
        self._errors.seek(0)
        raise BoardError(f"the board WEB ended: {self._errors.read().decode(errors='replace')}")

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with contextlib.suppress(OSError):
            os.close(self._slave)
        self._errors.close()
        self._folder.cleanup()
