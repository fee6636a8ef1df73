# SPDX-License-Identifier: MIT
"""Lists the functions of the library: a JSON object with the type of each result.

WebAssembly knows numbers only, so that the tools could not tell a pointer from a size.

Usage: exports.py OUTPUT; CC names the compiler of this machine.
"""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "setup"))
from library_binding import HEADERS, declarations

# Before its parentheses, a declaration has a type and a name.
FUNCTION = re.compile(r"^([a-z_][\w\s]*?[\s*]+)(\w+)\(", re.MULTILINE)
# Besides those of the headers: for the memory of the tools.
OWN = {"malloc": "void *", "free": "void"}


def results(text: str) -> dict[str, str]:
    """Map each function that is declared to the type of its result."""
    return {name: result.strip() for result, name in FUNCTION.findall(text)} | OWN


if __name__ == "__main__":
    names = [name for each in HEADERS.values() for name in each]
    Path(sys.argv[1]).write_text(json.dumps(results(declarations(names)), indent=0) + "\n")
