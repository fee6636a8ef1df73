# SPDX-License-Identifier: MIT
"""Runs the driver with threads, interrupts and two NPUs under ThreadSanitizer and ASan."""

import re
from pathlib import Path

import pytest

from host_tests.modules.ethosu.driver import cbuild


@pytest.fixture(scope="module", params=["thread", "address"])
def stress(request, tmp_path_factory) -> Path:
    """Build the program of stress.c, with the system's mutexes and semaphores."""
    program = tmp_path_factory.mktemp("stress") / f"stress_{request.param}"
    sources = ["job/stress.c", "c/pthread_hooks.c"]
    archives = (cbuild.DRIVER, cbuild.BOARD, cbuild.SIM)
    return cbuild.link(program, request.param, sources, *archives)


# Actions of another thread, and what must hold despite them.
MODES = {
    # Random run, cancel, time-out, release: no race, every begin has an end, results are right.
    "four threads share two NPUs": "",
    # No thread takes another's result, or waits for a result already taken.
    "an inference cancelled or released elsewhere is exact or an error": "interfere",
    # No plain access is shared with the interrupt handler; a callback gets its own argument.
    "settings change while inferences run": "settings",
    # After deinit, no thread uses the handle or waits for the removed NPU.
    "deinit ends running and waiting calls": "deinit",
}


@pytest.mark.parametrize("rounds", [150, pytest.param(5000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("mode", MODES)
def test_threads(stress, mode, rounds) -> None:
    cbuild.run([stress, rounds, *MODES[mode].split()])


# Calls that only the thread that reserves or initialises the NPU may make, and hooks.
OF_THE_HOLDER = {
    *("ethosu_ext_check_fast_memory", "ethosu_request_power", "ethosu_release_power"),
    *("ethosu_ext_pmu_set_event", "ethosu_init", "ethosu_init_ex", "ethosu_wait"),
    *("ethosu_irq_handler", "ethosu_ext_reserve_this", "ethosu_inference_begin"),
    *("ethosu_inference_end", "ethosu_reserve_driver_ex"),
}


def test_every_call_on_a_handle_is_tried_by_another_thread() -> None:
    """stress.c calls each function for a handle, unless only its holder may call it."""
    headers = cbuild.REPO / "modules/ethosu/driver/include"
    text = "".join((headers / name).read_text() for name in ("ethosu_driver.h", "ethosu_ext.h"))
    declared = set(re.findall(r"(\w+)\((?:const )?struct ethosu_driver \*drv\b", text))
    called = set(re.findall(r"\b(ethosu_\w+)\(", (cbuild.HERE / "job/stress.c").read_text()))
    assert len(declared) > 25
    assert declared - called - OF_THE_HOLDER == set()
