# SPDX-License-Identifier: MIT
"""A board is one folder: what a board's table can answer, no file outside boards/ knows."""

import re
from pathlib import Path

# The board's name, and addresses of its devices and of what its memory.ld defines.
FACTS = re.compile(
    r"MPS3|AN547|0x4f000000|0x48102000|0x48104000|0x49303000|0x41200000"
    r"|0x6[0-3]000000|0x68000000|0x2[01]000000|0x28000000",
    re.IGNORECASE,
)
# Files that may know them, and why.
REASONS = {
    "which board is built, emulated and measured unless another is asked for": {
        "Makefile",
        "firmware/Makefile",
        "tools/ethosu_tools/paths.py",
        "tools/ethosu_tools/bench/copy.py",
        "tools/ethosu_tools/bench/kernels.py",
        "tools/ethosu_tools/bench/overhead.py",
        "tools/ethosu_tools/bench/overlap.py",
    },
    "the emulator: what it adds to QEMU's machine of that name, and where its memories are": {
        "tools/ethosu_tools/qemu.py",
        "tools/qemu_plugin/board.h",
        "tools/qemu_plugin/guest_memory.c",
        "tools/qemu_plugin/machine.c",
        "tools/qemu_plugin/options.c",
    },
    "the simulator in one process: its memory is where the emulated board has DDR": {
        "tools/sim_host/sim_host.h",
    },
}
FOLDERS = ("firmware", "modules", "tools")
# Of sources; pages for people give the board as their example.
NAMES = ("Makefile", "*.mk", "*.c", "*.h", "*.def", "*.ld", "*.py", "*.sh", "*.toml")


def _sources(repo: Path) -> list[Path]:
    found = [repo / "Makefile", repo / "pyproject.toml"]
    for folder in FOLDERS:
        found += [path for name in NAMES for path in (repo / folder).rglob(name)]
    return found


def test_only_these_files_know_the_board(repo):
    known = {
        str(path.relative_to(repo)) for path in _sources(repo) if FACTS.search(path.read_text())
    }
    assert known == set().union(*REASONS.values())


def test_firmware_and_module_know_no_board(repo):
    """The list above may change; this may not."""
    allowed = {name for names in REASONS.values() for name in names}
    product = [name for name in allowed if name.startswith(("modules/", "firmware/"))]
    assert product == ["firmware/Makefile"]
    makefile = (repo / "firmware/Makefile").read_text()
    assert [line for line in makefile.splitlines() if FACTS.search(line)] == [
        "#   make -C firmware BOARD=MPS3_AN547 [MICROPYTHON_VERSION=1.26.1] [BOARD_EMULATOR=no]",
        "BOARD ?= MPS3_AN547",
    ]
