# SPDX-License-Identifier: MIT
"""Everything about a board is in its folder; firmware, module and tools contain no address.

host_tests/tree/test_changes.py searches for the names of boards in the same way.
"""

import re

# Devices of MPS3_AN547, and the beginnings of its memories.
ADDRESS = re.compile(
    r"0x(?:4f000000|48102000|48104000|49303000|41200000"
    r"|6[0-3]000000|68000000|20000000|21000000|213ff000|28000000)u?\b",
    re.IGNORECASE,
)
# The board's emulation contains its addresses, and so does the C example, which uses no board.
EMULATORS = {
    "modules/ethosu/examples/c/main.c",
    "modules/ethosu/examples/c/mps3_an547.ld",
    "tools/sim_host/sim_host.h",
}
# Folders of boards: emulated ones, the files of a chip, the template, those of MicroPython's ports.
BOARDS = (
    *("firmware/chips/", "firmware/template/", "tools/qemu_plugin/boards/"),
    "modules/ethosu/ports/",
)
FOLDERS = ("firmware", "modules", "tools")
SOURCES = ("Makefile", "*.mk", "*.c", "*.h", "*.def", "*.ld", "*.py", "*.sh", "*.toml")


def test_only_emulators_know_a_board_s_addresses(repo):
    paths = [path for folder in FOLDERS for name in SOURCES for path in (repo / folder).rglob(name)]
    assert len(paths) > 300
    known = {str(path.relative_to(repo)) for path in paths if ADDRESS.search(path.read_text())}
    assert {path for path in known if not path.startswith(BOARDS)} == EMULATORS


def test_the_search_finds_the_addresses_of_the_board(repo):
    folder = repo / "boards/MPS3_AN547"
    assert ADDRESS.search((folder / "board.toml").read_text())
