# SPDX-License-Identifier: MIT
"""Put ulab's source into build/ulab/<commit>, and print its path.

The commit is pinned in micropython.toml; git verifies its content.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import tomllib
from pathlib import Path

from fetch_micropython import PINS, ROOT, SourceError, locked, run, say


def find() -> Path:
    """Find the source of the pinned commit; fetch it if necessary."""
    pin = tomllib.loads(PINS.read_text())["ulab"]
    tree = ROOT / "build" / "ulab" / pin["commit"]
    with locked(tree.parent):
        if (tree / "code" / "micropython.mk").is_file():
            return tree
        say(f"fetching {pin['commit'][:10]} from {pin['address']} …", "ulab")
        with tempfile.TemporaryDirectory(dir=tree.parent) as folder:
            fresh = Path(folder) / "tree"
            git = ["git", "-C", str(fresh)]
            run(["git", "init", "-q", str(fresh)], "git init")
            run([*git, "fetch", "-q", "--depth=1", pin["address"], pin["commit"]], "git fetch")
            run([*git, "checkout", "-q", "FETCH_HEAD"], "git checkout")
            commit = run([*git, "rev-parse", "HEAD"], "git rev-parse").strip()
            if commit != pin["commit"]:
                raise SourceError(f"the commit is {commit}, expected {pin['commit']}")
            shutil.rmtree(tree, ignore_errors=True)
            fresh.rename(tree)
    return tree


def main() -> int:
    """Print the path of the source tree, or one sentence on stderr."""
    try:
        print(find())
    except SourceError as error:
        say(f"{error}. Fetch it by hand, and set ULAB_DIR to it.", "ulab")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
