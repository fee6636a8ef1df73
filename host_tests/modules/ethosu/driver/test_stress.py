# SPDX-License-Identifier: MIT
"""Threads, interrupts on threads, two NPUs: the driver under ThreadSanitizer and ASan."""

from pathlib import Path

import pytest

from host_tests.modules.ethosu.driver import cbuild


@pytest.fixture(scope="module", params=["thread", "address"])
def stress(request, tmp_path_factory) -> Path:
    """The program of c/stress.c, with the system's mutexes and semaphores."""
    program = tmp_path_factory.mktemp("stress") / f"stress_{request.param}"
    sources = ["stress.c", "pthread_hooks.c"]
    archives = (cbuild.DRIVER, cbuild.BOARD, cbuild.SIM)
    return cbuild.link(program, request.param, sources, *archives)


def test_four_threads_share_two_npus(stress) -> None:
    """Run, cancel, time out, release at random: no race, every begin has an end, results right."""
    cbuild.run([stress, 150])


def test_an_inference_cancelled_or_released_elsewhere_is_exact_or_an_error(stress) -> None:
    """No thread takes another's result, or waits for a result already taken."""
    cbuild.run([stress, 150, "interfere"])


def test_deinit_ends_running_and_waiting_calls(stress) -> None:
    """When it returns, no thread uses the handle or waits for the removed NPU."""
    cbuild.run([stress, 150, "deinit"])


@pytest.mark.slow
@pytest.mark.parametrize("mode", [[], ["interfere"], ["deinit"]], ids=lambda mode: "".join(mode))
def test_threads_share_npus_for_long(stress, mode) -> None:
    """The same, many times."""
    cbuild.run([stress, 5000, *mode])
