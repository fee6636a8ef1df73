# SPDX-License-Identifier: MIT
"""Defines the options of all tests.

`addopts` names this file. Before pytest reads a conftest.py, it takes an unknown option's value for
the path of a test, and then does not find that conftest.py.
"""

from pathlib import Path

import pytest

from host_tests.tools.qemu_plugin import releases


def pytest_addoption(parser: pytest.Parser) -> None:
    """Select the emulator for all tests except those that select one themselves."""
    parser.addoption(
        "--qemu",
        choices=releases.ALL,
        default=releases.INSTALLED,
        help="QEMU that emulates: the installed one, or another release of Debian's",
    )
    parser.addoption(
        "--firmware",
        type=Path,
        metavar="ELF",
        help="image of tests that count instructions (default: the board's)",
    )
    parser.addoption("--seed", type=int, help="seed of the generated case to rerun")
    parser.addoption("--family", help="its family: u55-u65, u55-u65-unsigned, u85")
