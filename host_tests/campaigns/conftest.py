# SPDX-License-Identifier: MIT
"""A small corpus for the campaigns' short forms."""

import pytest

from host_tests.kit import needs

from .common import Unavailable32Error, bits32
from .corpus import GRAPHS_SHORT, corpus


@pytest.fixture(scope="session")
def small_corpus():
    return corpus(GRAPHS_SHORT)


@pytest.fixture(scope="session")
def builds_for_32_bits():
    try:
        bits32()
    except Unavailable32Error as error:
        needs.missing(str(error))
