# SPDX-License-Identifier: MIT
"""What add-ons give to the tests of the core: modules in the folders of their tests, by name.

exact_rows.py      hosts, models and rows of exactness/
board_rows.py      IMPORTS, SETUP, DEEP, TYPED, MISTAKES of a package frozen into the firmware
campaign_rows.py   ROWS, campaigns, and MUCH_WORK, files that take long
command_rows.py    BOARD and READ, calls of commands that take a board, or read a file
gone_rows.py       LISTS, builds of tree/make/test_gone.py
matrix_rows.py     NAMES and make(), files of tools/ethosu_tools/test_matrix.py
program_rows.py    model files of another kind, for tests of the module
page_rows.py       PROGRAMS, READERS and INSTALLED of the add-on's page, for pages/
"""

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

_TESTS = Path(__file__).parents[1]


def modules(name: str) -> Iterator[ModuleType]:
    """All modules of this name below host_tests."""
    for path in sorted(_TESTS.rglob(f"{name}.py")):
        parts = path.relative_to(_TESTS.parent).with_suffix("").parts
        yield importlib.import_module(".".join(parts))
