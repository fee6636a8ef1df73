# SPDX-License-Identifier: MIT
"""Fixtures: our own programs, and those next to the tree."""

from pathlib import Path

import pytest

from host_tests.kit import needs, sharing

from . import made

OPTIONS = {
    "u55": ("--accelerator-config", "ethos-u55-128"),
    "u55 COP2": ("--accelerator-config", "ethos-u55-128", "--cop-format", "COP2"),
    "u65 dedicated": (
        *("--accelerator-config", "ethos-u65-256", "--system-config", "Ethos_U65_High_End"),
        *("--memory-mode", "Dedicated_Sram"),
    ),
    "u65 dedicated COP2": (
        *("--accelerator-config", "ethos-u65-256", "--system-config", "Ethos_U65_High_End"),
        *("--memory-mode", "Dedicated_Sram", "--cop-format", "COP2"),
    ),
    "u85": ("--accelerator-config", "ethos-u85-256"),
    "u85 separate": (
        *("--accelerator-config", "ethos-u85-256", "--cop-format", "COP2"),
        "--separate-io-regions",
    ),
}


@pytest.fixture(scope="session")
def raw(vela, small_models):
    """Vela's raw output of small_cnn: `raw("u55")` for options by name or an NPU."""
    made_of = {}

    def get(name: str):
        if name not in made_of:
            options = OPTIONS.get(name, ("--accelerator-config", name))
            path = vela(small_models["small_cnn"], *options, "--output-format", "raw")
            made_of[name] = made.binary(path)
        return made_of[name]

    return get


@pytest.fixture(scope="session")
def shared_programs() -> Path:
    """Folder of exported programs next to the tree."""
    folder = sharing.REPO.parent / "shared" / "executorch"
    if not folder.is_dir():
        needs.missing(f"{folder} is not there: exported programs are not part of the tree")
    return folder
