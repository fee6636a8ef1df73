# SPDX-License-Identifier: MIT
"""Drivers that boards share: on this machine, and on each emulated board that has them."""

import re

from ethosu_tools import boards, paths


def sources(board: str) -> str:
    """The sources of a board: its folder's, and those of its chip, which board.mk includes."""
    folders = [paths.root() / "boards" / board.partition("-")[0]]
    included = re.search(r"^include \$\(ROOT\)/(.*)$", (folders[0] / "board.mk").read_text(), re.M)
    folders += [(paths.root() / included[1]).parent] if included else []
    files = (path for folder in folders for path in folder.iterdir())
    return "\n".join(path.read_text() for path in files if path.suffix in {".mk", ".c"})


WITH_DMA = [
    name for name in boards.names() if boards.load(name).qemu and "dma_copy.c" in sources(name)
]
