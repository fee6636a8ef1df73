# SPDX-License-Identifier: MIT
"""Drivers that boards share: on this machine, and on each emulated board that has them."""

from typing import Any

from ethosu_tools import board_files, boards, paths


def table(board: str) -> dict[str, Any]:
    """What a board's board.toml says, with what it inherits."""
    folder, _, variant = board.partition("-")
    path = paths.root() / "boards" / folder / board_files.FILE
    return board_files.choose(board_files.read(paths.root(), path), variant)


EMULATED = [name for name in boards.names() if boards.load(name).qemu]
WITH_DMA = [name for name in EMULATED if "dma" in table(name)]
