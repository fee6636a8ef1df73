# SPDX-License-Identifier: MIT
"""Runs a part of the conformance tests at length: python -m host_tests.conformance NAME [OPTIONS]

NAME is a folder here, or a campaign; without one, all are listed. NAME --help lists its options.
"""

import ast
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main(words: list[str]) -> int:
    """Run a folder's program; exit status 2 if there is none of this name."""
    parts = {path.parent.name: path for path in sorted(HERE.glob("*/__main__.py"))}
    name = words[0] if words else ""
    if name in parts and name != "campaigns":
        sys.argv = [f"{__package__} {name}", *words[1:]]
        runpy.run_module(f"{__package__}.{name}", run_name="__main__")
        return 0
    from .campaigns import __main__ as campaigns  # its imports take a second

    if name in ("campaigns", *campaigns.CAMPAIGNS):
        return campaigns.main(words[name == "campaigns" :])
    out = sys.stderr if words else sys.stdout
    for each, path in parts.items():
        says = ast.get_docstring(ast.parse(path.read_text())) or ""
        print(f"{each:12} {says.splitlines()[0]}", file=out)
    print(f"{'':12} campaigns: {' '.join(campaigns.CAMPAIGNS)}", file=out)
    return 2 if words else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
