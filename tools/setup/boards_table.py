# SPDX-License-Identifier: MIT
"""What is measured of each board: `make boards-table`.

Called with the folder of the JUnit files of `make suite-BOARD`, BOARD-QEMU.xml. It believes nothing
but these files, the image, and the tree: a board without a file is listed as not tested.
"""

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

from ethosu_tools import boards, paths

_HEAD = """\
| board | tests on QEMU 7.2 | on QEMU 10 | text, bytes | lines of its folder |
| --- | --- | --- | --- | --- |"""
_QEMUS = ("installed", "newer")
_SOURCES = {".c", ".h", ".ld", ".mk", ".toml", ".ini"}


def tests(junit: Path) -> str:
    """Count what became of a suite's tests: "580 passed, 3 skipped"."""
    if not junit.is_file():
        return "not tested"
    cases = ElementTree.parse(junit).getroot().iter("testcase")
    counts = Counter(
        next((child.tag for child in case if child.tag in _ENDS), "passed") for case in cases
    )
    return ", ".join(f"{counts[kind]} {kind}" for kind in sorted(counts)) or "not tested"


_ENDS = {"error", "failure", "skipped"}


def text_bytes(name: str) -> str:
    """Size of the image's text, as `arm-none-eabi-size` printed it when it was built."""
    path = paths.firmware(name).with_suffix(".size")
    return f"{int(path.read_text().split()[6]):,}" if path.is_file() else "not built"


def lines(name: str) -> int:
    """Lines of the board's own folder; a chip's folder, shared by boards, is not counted."""
    folder = paths.root() / "boards" / name.partition("-")[0]
    files = (path for path in folder.iterdir() if path.suffix in _SOURCES)
    return sum(len(path.read_text().splitlines()) for path in files)


def table(folder: Path) -> str:
    """The rows of all emulated boards."""
    rows = [_HEAD]
    for facts in filter(lambda each: each.qemu, boards.every()):
        found = [tests(folder / f"{facts.name}-{qemu}.xml") for qemu in _QEMUS]
        columns = [f"`{facts.name}`", *found, text_bytes(facts.name), f"{lines(facts.name):,}"]
        rows.append(f"| {' | '.join(columns)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))
