# SPDX-License-Identifier: MIT
"""What the tests need."""

import shutil

from ethosu_tools.addons.web import board
from ethosu_tools.base.errors import SetupError

from host_tests.kit import needs


def web() -> None:
    """Skip the test if the board WEB was not built."""
    if shutil.which("node") is None:
        needs.missing("node is missing: apt-get install nodejs")
    try:
        board.image_file()
    except SetupError as error:
        needs.missing(str(error))
