# SPDX-License-Identifier: MIT
"""Drivers shared by boards, tested on this machine and on each emulated board that uses them."""

from ethosu_tools import boards

from host_tests.kit import matrix

EMULATED = [name for name in boards.names() if boards.load(name).qemu]
WITH_DMA = [name for name in EMULATED if "dma" in boards.table(name)]
# `make test` tests one board per controller.
EACH_DMA = matrix.cases(
    WITH_DMA,
    matrix.one_of_each(WITH_DMA, lambda name: boards.table(name)["dma"].get("driver", name)),
)
