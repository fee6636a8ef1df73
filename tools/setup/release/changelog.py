# SPDX-License-Identifier: MIT
"""Prints what CHANGELOG.md says of a version, as the text of its release: changelog.py v0.2.0.

It needs no package. It refuses a tag that is not the version of pyproject.toml, or has no date yet.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def entry(text: str, version: str) -> tuple[str, str]:
    """Return the date of a version, or what stands in its place, and the lines of its entry."""
    parts = re.split(r"^## (\S+) \(([^)]*)\)\n", text, flags=re.MULTILINE)
    for name, date, lines in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        if name == version:
            return date, lines.strip() + "\n"
    raise ValueError(f"CHANGELOG.md has no entry for {version}")


def release(root: Path, tag: str) -> str:
    """Return the text of a release; ValueError if the tree is not that of the tag."""
    version = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    if tag != f"v{version}":
        raise ValueError(f"the tag is {tag}, and the version in pyproject.toml {version}")
    date, lines = entry((root / "CHANGELOG.md").read_text(), version)
    if not _DATE.fullmatch(date):
        raise ValueError(f"CHANGELOG.md has no date for {version}, but: {date}")
    return lines


if __name__ == "__main__":
    try:
        print(release(ROOT, sys.argv[1]), end="")
    except ValueError as error:
        sys.exit(f"error: {error}")
