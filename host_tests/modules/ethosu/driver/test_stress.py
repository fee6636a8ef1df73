# SPDX-License-Identifier: MIT
"""Threads, interrupts on threads, two NPUs: the driver under ThreadSanitizer and ASan."""

import re
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


def test_settings_change_while_inferences_run(stress) -> None:
    """No plain access is shared with the interrupt handler; a callback gets its own argument."""
    cbuild.run([stress, 150, "settings"])


# Calls of the one who has reserved the NPU or initialises it, and hooks.
OF_THE_HOLDER = {
    *("ethosu_ext_check_fast_memory", "ethosu_request_power", "ethosu_release_power"),
    *("ethosu_ext_pmu_set_event", "ethosu_init", "ethosu_init_ex", "ethosu_wait"),
    *("ethosu_irq_handler", "ethosu_ext_reserve_this", "ethosu_inference_begin"),
    *("ethosu_inference_end", "ethosu_reserve_driver_ex"),
}


def test_every_call_on_a_handle_is_tried_by_another_thread() -> None:
    """What the headers declare for a handle is in c/stress.c, or only its holder may call it."""
    headers = cbuild.REPO / "modules/ethosu/driver/include"
    text = "".join((headers / name).read_text() for name in ("ethosu_driver.h", "ethosu_ext.h"))
    declared = set(re.findall(r"(\w+)\((?:const )?struct ethosu_driver \*drv\b", text))
    called = set(re.findall(r"\b(ethosu_\w+)\(", (cbuild.C / "stress.c").read_text()))
    assert len(declared) > 25
    assert declared - called - OF_THE_HOLDER == set()


def test_deinit_ends_running_and_waiting_calls(stress) -> None:
    """When it returns, no thread uses the handle or waits for the removed NPU."""
    cbuild.run([stress, 150, "deinit"])


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["", "interfere", "settings", "deinit"])
def test_threads_share_npus_for_long(stress, mode) -> None:
    """The same, many times."""
    cbuild.run([stress, 5000, *mode.split()])
