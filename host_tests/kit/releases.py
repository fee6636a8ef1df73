# SPDX-License-Identifier: MIT
"""Builds images with other pinned releases of MicroPython than the default."""

import tomllib
from pathlib import Path

from ethosu_tools.base import paths

from host_tests.kit import needs, sharing

_PINS = tomllib.loads((sharing.REPO / "firmware/micropython.toml").read_text())
OTHERS = [release for release in _PINS["release"] if release != _PINS["default"]]


def image(release: str, board: str, *options: str) -> Path:
    """Build a board's image with a release; skips if the source cannot be fetched."""
    done = sharing.try_make(
        "firmware", f"BOARD={board}", f"MICROPYTHON={release}", "MICROPYTHON_DIR=", *options
    )
    if f"MicroPython {release} could not be fetched" in done.stderr:
        needs.missing(f"NOT TESTED WITH MICROPYTHON {release}: it could not be fetched")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return paths.firmware(f"{board}-{release}{'-plain' if 'ETHOSU=no' in options else ''}")
