# SPDX-License-Identifier: MIT
"""Prints a table of measurements of each board: `make boards-table`.

The argument is the folder with the JUnit files of `make suite-BOARD`, BOARD-RUN.xml. Other sources
are the images, which the script runs to measure a copy, and the tree. A board without a file is
listed as not tested.
"""

import contextlib
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

from ethosu_tools import boards
from ethosu_tools.base import paths
from ethosu_tools.boards import files

from host_tests.firmware.drivers import copy_cost

_RUNS = {"installed": "installed QEMU", "10": "QEMU 10", "11": "QEMU 11", "as-chip": "as chip"}
_HEADS = ["board", *_RUNS.values(), "DMA of 64 KB, cache off; on", "text, bytes", "lines"]
_HEAD = f"| {' | '.join(_HEADS)} |\n{'| --- ' * len(_HEADS)}|"
_ENDS = {"error": "errors", "failure": "failed", "skipped": "skipped"}
_SOURCES = {".c", ".h", ".toml"}


def tests(junit: Path) -> str:
    """Summarise a suite's results: "580 passed, 3 skipped"."""
    if not junit.is_file():
        return "not tested"
    counts = Counter(
        next((_ENDS[child.tag] for child in case if child.tag in _ENDS), "passed")
        for case in ElementTree.parse(junit).getroot().iter("testcase")
    )
    return ", ".join(f"{counts[end]} {end}" for end in sorted(counts)) or "not tested"


def copied(name: str) -> str:
    """Measure a copy by the DMA controller, in CPU instructions: "1.60 %; 49.7 %"."""
    with contextlib.redirect_stdout(None):
        costs = [copy_cost.measure(name, coherence) for coherence in ("off", "strict")]
    return "; ".join(f"{100 * each['reference']['ratio']:.2f} %" for each in costs)


def text_bytes(name: str) -> str:
    """Return the size of the image's text section, as `arm-none-eabi-size` prints it."""
    path = paths.firmware(name).with_suffix(".size")
    return f"{int(path.read_text().split()[6]):,}" if path.is_file() else "not built"


def lines(name: str) -> str:
    """Count the lines of the board's own folder, and of its chip's shared one: "120 + 300"."""
    folders = [paths.root() / "boards" / name.partition("-")[0]]
    chip = boards.load(name).chip
    folders += [paths.root() / files.CHIPS / chip] if chip else []
    return " + ".join(
        str(
            sum(
                len(path.read_text().splitlines())
                for path in each.iterdir()
                if path.suffix in _SOURCES
            )
        )
        for each in folders
    )


def table(folder: Path) -> str:
    """Return the rows of all emulated boards."""
    rows = [_HEAD]
    for name in (facts.name for facts in boards.every() if facts.qemu):
        results = [tests(folder / f"{name}-{run}.xml") for run in _RUNS]
        columns = [f"`{name}`", *results, copied(name), text_bytes(name), lines(name)]
        rows.append(f"| {' | '.join(columns)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))
