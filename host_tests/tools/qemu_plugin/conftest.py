# SPDX-License-Identifier: MIT
"""Fixtures; each test that uses `guest` runs with every release of QEMU."""

from pathlib import Path

import pytest

from host_tests.kit import matrix, needs, sharing
from host_tests.tools.qemu_plugin import releases
from host_tests.tools.qemu_plugin.guest import Guest, build


@pytest.fixture(
    scope="session", params=matrix.cases(releases.ALL, {releases.INSTALLED, releases.NEWEST})
)
def qemu(request: pytest.FixtureRequest) -> Path:
    """Return qemu-system-arm of one release."""
    return needs.qemu(request.param)


@pytest.fixture(scope="session")
def plugin(build_dir: Path) -> Path:
    """Return the plugin, up to date."""
    sharing.make("tools/qemu_plugin")
    return build_dir / "qemu_plugin/libethosu_qemu.so"


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the bare-metal test program."""
    path = tmp_path_factory.mktemp("guest") / "guest.elf"
    build(path)
    return path


@pytest.fixture(scope="session")
def guest(qemu: Path, plugin: Path, program: Path) -> Guest:
    """Return everything needed to run a scenario."""
    return Guest(qemu, plugin, program)
