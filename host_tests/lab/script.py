# SPDX-License-Identifier: MIT
"""What measures this project itself: `python -m host_tests.lab.NAME` runs a module like a command.

mlperf_tiny   the four models of MLPerf Tiny on all boards (docs/mlperf_tiny.md)
silicon       estimates against measurements of chips
"""

import argparse
from collections.abc import Sequence
from typing import Any

from ethosu_tools import cli
from ethosu_tools.base.errors import ToolError
from ethosu_tools.base.ui import Ui


def main(module: Any, argv: Sequence[str] | None = None) -> None:
    """Run a module that has the functions of a command of `ethosu`; exits if that fails."""
    parser = argparse.ArgumentParser(description=module.__doc__)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    cli.declare(parser, module)
    args = parser.parse_args(argv)
    ui = Ui(as_json=args.json, quiet=False)
    try:
        data = module.execute(args, ui)
    except ToolError as error:
        parser.exit(error.exit_code, f"{error}\n")
    ui.result(data, module.render(data))
