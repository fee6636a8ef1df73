# SPDX-License-Identifier: MIT
"""Threads, interrupts on threads, two NPUs: the driver under ThreadSanitizer."""

from pathlib import Path

import pytest

from modules.ethosu.driver import cbuild


@pytest.fixture(scope="module")
def stress(tmp_path_factory) -> Path:
    """The program of c/stress.c, with a system's own mutexes and semaphores."""
    program = tmp_path_factory.mktemp("stress") / "stress"
    sources = ["stress.c", "pthread_hooks.c"]
    archives = (cbuild.DRIVER, cbuild.BOARD, cbuild.SIM)
    return cbuild.link(program, "thread", sources, *archives)


def test_four_threads_share_two_npus(stress) -> None:
    """Run, cancel, time out, release at random: no race, every begin ended, results right."""
    cbuild.run([stress, 150])


@pytest.mark.slow
def test_four_threads_share_two_npus_for_long(stress) -> None:
    """The same, many times."""
    cbuild.run([stress, 5000])
