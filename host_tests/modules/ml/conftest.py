# SPDX-License-Identifier: MIT
"""A fixture for firmware with ulab, from ULAB_DIR, else from the pinned source."""

import os
from pathlib import Path

import pytest
from ethosu_tools import boards

from host_tests.firmware.storage.test_imports import fresh
from host_tests.kit import needs, sharing
from host_tests.modules.ethosu.binding.tensor.test_ulab import ulab

__all__ = ["fresh", "ulab"]


@pytest.fixture(scope="session")
def ulab_firmware(emulator_only, build_dir) -> Path:
    source = os.environ.get("ULAB_DIR")
    name = boards.chosen().name
    done = sharing.try_make(
        "firmware", f"BOARD={name}", f"ULAB_DIR={source}" if source else "ULAB=yes"
    )
    if done.returncode and "ulab's source is missing" in done.stderr and not source:
        needs.missing("NOT TESTED WITH ULAB: its source could not be fetched; set ULAB_DIR to it")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    return build_dir / f"firmware/{name}-ulab/firmware.elf"
