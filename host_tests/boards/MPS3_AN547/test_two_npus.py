# SPDX-License-Identifier: MIT
"""Two NPUs of a board are reserved and run at the same time, and fail independently."""

import contextlib
import json
import signal
import subprocess
import sys

from ethosu_tools.link.board import Board

from host_tests.kit import board_models

from .conftest import NPUS


def test_both_npus_are_listed(each):
    assert each.eval("ethosu.npus()") == list(NPUS)
    each.exec("a, b = ethosu.reserve(npu=0), ethosu.reserve(npu=1)")
    assert each.eval("[a.info()['config'], b.info()['config']]") == list(NPUS)
    assert board_models.raised(each, "ethosu.reserve(npu=1, timeout_ms=0)").startswith(
        "OSError 16 "
    )


def test_each_is_found_by_its_config(two_npus):
    found = two_npus.eval(f"[ethosu.reserve(npu=name).info()['config'] for name in {NPUS}]")
    assert found == list(NPUS)


def test_results_are_exact_with_both_npus_running(each, jobs):
    jobs(each)
    each.exec(
        "rights = 0\n"
        "for _ in range(50):\n"
        "    for job in jobs: job.start()\n"
        "    rights += sum(job.wait() for job in jobs)"
    )
    assert each.eval("rights") == 100


def test_both_run_at_the_same_time(two_npus, jobs):
    jobs(two_npus)
    two_npus.exec("for name in ('npu.hang', 'npu1.hang'): emulator.fault(name)")
    two_npus.exec("for job in jobs: job.start()")
    assert two_npus.eval("[job.running() for job in jobs]") == [1, 1]
    for index in range(2):
        assert board_models.raised(two_npus, f"jobs[{index}].wait(20)").startswith("OSError 110 ")
    assert two_npus.eval("[job.run() for job in jobs]") == [True, True]


def test_one_npu_continues_while_the_other_hangs(each, jobs):
    jobs(each)
    each.exec("emulator.fault('npu1.hang')\njobs[1].start()")
    assert each.eval("[jobs[0].run() for _ in range(20)]") == [True] * 20
    assert each.eval("jobs[1].running()") == 1
    assert board_models.raised(each, "jobs[1].wait(20)").startswith("OSError 110 ")
    assert each.eval("[job.run() for job in jobs]") == [True, True]


def test_failure_of_one_npu_does_not_affect_the_other(two_npus, jobs):
    jobs(two_npus)
    for fault in ("bus-error", "parse-error", "irq-spurious", "watchdog"):
        two_npus.exec(f"emulator.fault('npu1.{fault}')\njobs[0].start()\njobs[1].start()")
        assert two_npus.eval("jobs[0].wait()"), fault
        two_npus.exec("try: jobs[1].wait()\nexcept OSError: pass")
    assert two_npus.eval("jobs[0].npu.info()['resets']") == 1, "the one at set-up"
    assert two_npus.eval("[job.run() for job in jobs]") == [True, True]


def test_command_with_a_second_npu():
    """`ethosu qemu --npu1` starts a board with two NPUs and reports both."""
    command = [sys.executable, "-m", "ethosu_tools.cli", "qemu", "--json", "--npu1", NPUS[1]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        said = ""
        for line in process.stdout:
            said += line
            if line.startswith("}"):
                break
        data = json.loads(said)
        with contextlib.closing(Board(data["port"])) as board:
            assert board.eval("__import__('ethosu').npus()") == [data["npu"], data["npu1"]]
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0
