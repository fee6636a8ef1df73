# SPDX-License-Identifier: MIT
"""Drivers that boards share: on this machine, and on each emulated board that has them."""

import re
from pathlib import Path

from ethosu_tools import boards, paths


def folder(board: str) -> Path:
    """Where a board's files are."""
    return paths.root() / "boards" / board.partition("-")[0]


def _copies_by_dma(board: str) -> bool:
    """As board.mk says, or what it includes."""
    text = (folder(board) / "board.mk").read_text()
    included = re.findall(r"^include \$\(ROOT\)/(.*)$", text, re.MULTILINE)
    return any(
        "dma_copy.c" in part
        for part in (text, *((paths.root() / name).read_text() for name in included))
    )


WITH_DMA = [name for name in boards.names() if boards.load(name).qemu and _copies_by_dma(name)]
