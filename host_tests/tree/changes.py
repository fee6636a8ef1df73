# SPDX-License-Identifier: MIT
"""Counts the product's files that name each existing example of a usual change.

python -m host_tests.tree.changes [CHANGE]    the table of CONTRIBUTING.md; the files of one change
"""

import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ethosu_tools.cli import discover

REPO = Path(__file__).resolve().parents[2]
MODULE = REPO / "modules/ethosu"
# MicroPython's own ports have boards of the same names.
PRODUCT = (":!*.md", ":!*.svg", ":!host_tests", ":!modules/ethosu/ports")


def _found(pattern: str, path: Path) -> list[Any]:
    return sorted(set(re.findall(pattern, path.read_text(), re.MULTILINE)))


def boards(on_a_chip: bool) -> list[str]:
    """List boards whose chip another folder describes, or the others."""
    files = (REPO / "boards").glob("*/board.toml")
    return sorted(
        path.parent.name
        for path in files
        if bool(re.search(r"^chip = ", path.read_text(), re.MULTILINE)) == on_a_chip
    )


def kernels() -> list[str]:
    """List CPU operators whose names are not common words."""
    return _found(r"^KERNEL\((\w+_\w+)", MODULE / "runtime/kernels/kernels.def")


def operations() -> list[str]:
    """List functions that perform commands of the NPU."""
    return _found(r"^OPERATION\(.*, (npu_\w+)\)$", REPO / "tools/npu_sim/core/commands.def")


def products() -> list[tuple[str, int]]:
    """List NPU families, with MACs."""
    rows = _found(r"^(U\d\d)\((\d+),", REPO / "tools/npu_sim/device/products.def")
    return [(family, int(macs)) for family, macs in rows]


def _of_product(product: tuple[str, int]) -> str:
    family, macs = product
    log2 = macs.bit_length() - 1
    return (
        rf"^{family}\({macs},|^ETHOSU_EXT_PRODUCT\({family}, [0-9], {log2},"
        rf'|^ *"ethos-{family.lower()}-{macs}": '
    )


def methods() -> list[str]:
    """List methods of Model with unique names."""
    rows = r"MP_QSTR_([a-z]\w+)\), MP_ROM_PTR\(&model_"
    common = {"cancel", "info", "method", "reset", "run"}
    return sorted({*_found(rows, MODULE / "binding/model/model_object.c")} - common)


def kinds() -> list[str]:
    """List kinds of model files."""
    return _found(r"\{ETHOSU_FILE_(\w+), \"\w", MODULE / "runtime/file/file_kind.c")


def errors() -> list[str]:
    """List reasons for errors of the driver."""
    return _found(r"^ETHOSU_EXT_ERROR\(\d+, (\w+),", MODULE / "driver/include/ethosu_errors.def")


def devices() -> list[tuple[str, str]]:
    """UARTs and DMA controllers of the emulator: sort and kind."""
    return _found(r"^(UART|DMA)\((\w+),", REPO / "tools/qemu_plugin/board/devices.def")


def _of_device(device: tuple[str, str]) -> str:
    sort, kind = device
    name = f"{sort.lower()}_{kind}"
    return rf"^{sort}\({kind},|\bvoid {name}_create\(|\bdma_operations {name}\b"


@dataclass(frozen=True)
class Change:
    """A usual kind of change, and how to find examples of it in the tree."""

    name: str
    examples: Callable[[], list]
    pattern: Callable[[Any], str]
    """Extended regular expression of the lines that name the example."""
    own: str = ""
    """Glob pattern of files that belong to the example even if they do not name it."""

    def files(self) -> list[set[str]]:
        """Find files that name each example, except tests, Markdown and pictures."""
        examples = self.examples()
        patterns = [self.pattern(example) for example in examples]
        options = [option for pattern in patterns for option in ("-e", pattern)]
        lines = subprocess.run(
            ["git", "grep", "-E", "--untracked", *options, "--", *PRODUCT],
            cwd=REPO, capture_output=True, text=True, check=False,
            env=os.environ | {"LC_ALL": "C"},  # five times as fast as with UTF-8
        ).stdout.splitlines()  # fmt: skip
        named = [line.partition(":") for line in lines]
        counted = [
            {file for file, _, line in named if re.search(pattern, line)} for pattern in patterns
        ]
        if self.own:
            for example, files in zip(examples, counted, strict=True):
                own = REPO.glob(self.own.format(example))
                files |= {str(path.relative_to(REPO)) for path in own if path.suffix != ".md"}
        return counted

    def count(self) -> int:
        """Files that nine in ten of the examples need at most: a median would hide the worst."""
        counts = sorted(map(len, self.files()))
        return counts[math.ceil(0.9 * len(counts)) - 1]


CHANGES = (
    Change("a board on a known chip", lambda: boards(True), r"\b{}\b".format, "boards/{}/*"),
    Change("a board on a new chip", lambda: boards(False), r"\b{}\b".format, "boards/{}/*"),
    Change("an operator for the CPU", kernels, r'^[A-Z_]+\({0}[,)]|"{0}"'.format),
    Change("an operation of the simulator", operations, r"\b{}\b".format),
    Change("a product of a known family", products, _of_product),
    Change("a UART or DMA controller of the emulator", devices, _of_device),
    Change(
        "a command of `ethosu`", lambda: discover(),
        r"commands\.{0}\b|commands import .*\b{0}\b".format,
        "tools/ethosu_tools/**/{}.py",
    ),
    Change("a kind of model file", kinds, r"ETHOSU_FILE_{0}\b|^{0} = Kind\(".format),
    Change("a method of `Model`", methods, r"MP_QSTR_{0}\b|^    (async )?def {0}\(".format),
    Change(
        "a reason for a driver's error", errors,
        r"E_{0}\b|^ETHOSU_EXT_ERROR\([0-9]+, {0},".format,
    ),
)  # fmt: skip


def main() -> None:
    """Print the counts, or the files of the changes whose names contain an argument."""
    for change in CHANGES:
        if len(sys.argv) == 1:
            print(f"{change.count()}  {change.name}")
        elif sys.argv[1] in change.name:
            for example, files in zip(change.examples(), change.files(), strict=True):
                print(f"{example}: {' '.join(sorted(files))}")


if __name__ == "__main__":
    main()
