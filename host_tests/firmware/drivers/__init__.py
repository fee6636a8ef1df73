# SPDX-License-Identifier: MIT
"""Drivers shared by boards, tested on this machine and on each emulated board that uses them."""

from typing import Any

from ethosu_tools import boards
from ethosu_tools.base import paths
from ethosu_tools.boards import files

from host_tests.kit import matrix


def table(board: str) -> dict[str, Any]:
    """Return a board's board.toml, including inherited values."""
    folder, _, variant = board.partition("-")
    path = paths.root() / "boards" / folder / files.FILE
    return files.choose(files.read(paths.root(), path), variant)


EMULATED = [name for name in boards.names() if boards.load(name).qemu]
WITH_DMA = [name for name in EMULATED if "dma" in table(name)]
# `make test` tests one board per controller.
EACH_DMA = matrix.cases(
    WITH_DMA, matrix.one_of_each(WITH_DMA, lambda name: table(name)["dma"].get("driver", name))
)
