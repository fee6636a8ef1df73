# SPDX-License-Identifier: MIT
"""Runs compiled models on a board that is a WebAssembly instance."""

from pathlib import Path

from ...base.ui import Update
from ...boards import targets
from ...link.remote import ROM_NAME, SerialRunner
from ...model import ModelFile, romfs
from .board import WebBoard, WebLink


class WebRunner(SerialRunner):
    """A model in the ROM of a board that is a WebAssembly instance."""

    def __init__(self, model: Path | ModelFile, npu: str | None = None) -> None:
        """Start a board with the model and its data file in its ROM."""
        file = ModelFile.of(model)
        own = file.compiled.npu  # rejects a file that was never compiled
        npu = npu or own or targets.NPUS[0]
        self._web = WebBoard([npu], rom=romfs.build(file.named_files(ROM_NAME)))
        with self._closing_on_error():
            super().__init__(file, WebLink(self._web))

    def _send(self, data: bytes, suffix: str, progress: Update | None) -> str:
        return f"/rom/{ROM_NAME}{suffix}"

    def close(self) -> None:
        """End the board."""
        if hasattr(self, "board"):
            self.board.close()
        self._web.close()
