# SPDX-License-Identifier: MIT
"""Tests the vector copy (ethosu_copy.h) on an emulated Cortex-M55; the PC uses the other."""

from pathlib import Path

import pytest

from host_tests.kit import sharing
from host_tests.tools.qemu_plugin import guest, releases


@pytest.fixture(scope="module")
def program(repo, tmp_path_factory):
    path = tmp_path_factory.mktemp("copy") / "copy.elf"
    guest.build(
        path, Path(__file__).with_name("copy_vectors.c"), repo / "modules/ethosu/driver/include"
    )
    return path


def test_every_small_size_from_and_to_any_alignment(program, build_dir):
    sharing.make("tools/qemu_plugin")
    plugin = build_dir / "qemu_plugin/libethosu_qemu.so"
    found = guest.Guest(releases.installed(), plugin, program).run("copy_vectors")
    assert found.code == 0 and found.values == {"copies": 4 * 6 * 201, "wrong": 0}
