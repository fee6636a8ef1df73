# SPDX-License-Identifier: MIT
"""Each fault of npu_faults.h happens as often as requested, and as on silicon.

The driver's tests inject faults into whole inferences; these check their effect on registers.
"""

import pytest

from host_tests.tools.npu_sim import hardware
from host_tests.tools.npu_sim.hardware import (
    STATUS_END,
    STATUS_WEIGHT_FAULT,
    Hardware,
    Outcome,
    Register,
)

NAMES = (
    *("irq-lost", "irq-late", "irq-spurious", "hang", "bus-error", "parse-error", "watchdog"),
    *("ecc-error", "branch-error", "power-refused", "power-lost", "reset-stuck", "reset-slow"),
    *("prot-stuck", "dead"),
)
RUN, POWER_Q = 1, 8
STOP = bytes((0, 0, 0xFF, 0xFF))
RESETTING, ECC, BRANCH = 1 << 3, 1 << 8, 1 << 9


class Faults:
    """The C functions on one state, in front of an NPU."""

    def __init__(self, npu):
        ffi, self._library = hardware.internal("npu_faults.h")
        self.happened = []
        self._happens = ffi.callback(
            "void(void *, const char *)",
            lambda _, name: self.happened.append(ffi.string(name).decode()),
        )
        self.state = ffi.new("struct npu_faults *", {"happens": self._happens})
        self.npu = npu
        self._handle = ffi.cast("npu_t *", npu.handle)

    def __call__(self, function, *arguments):
        return getattr(self._library, f"npu_faults_{function}")(self.state, *arguments)

    def inject(self, name, count=1):
        return self("inject", name.encode(), count)

    def read(self, register):
        return self("read", self._handle, register)

    def write(self, register, value):
        return self("write", self._handle, register, value)

    def run(self, command=RUN):
        """Execute a stream of one command, STOP; `command` starts it."""
        stream = self.npu.add(STOP)
        self.write(Register.QBASE, stream.address)
        self.write(Register.QSIZE, len(STOP))
        self("begin")
        self.write(Register.CMD, command)
        outcome = self.npu.execute()
        self("end")
        return outcome


@pytest.fixture
def faults(npu_library):
    with Hardware("ethos-u55-128") as npu:
        yield Faults(npu)


def test_names(faults):
    assert all(faults.inject(name) for name in NAMES)
    assert not faults.inject("no-such-fault")


def test_no_fault_occurs_unless_injected(faults):
    faults.run()
    assert faults("deliver") and not faults("release_held", Register.RESET)
    assert faults.read(Register.STATUS) & STATUS_END
    assert faults.read(Register.QSIZE) == len(STOP)
    assert faults.happened == []


def test_a_dead_npu_reads_as_all_ones_and_loses_writes(faults):
    faults.inject("dead", 2)
    assert faults.read(Register.QSIZE) == 0xFFFFFFFF
    faults.write(Register.QSIZE, 64)
    assert [faults.read(Register.QSIZE) for _ in range(2)] == [0xFFFFFFFF, 0]
    faults.write(Register.QSIZE, 64)
    assert faults.read(Register.QSIZE) == 64
    assert faults.happened == ["dead"]


def test_refused_power_lasts_until_it_is_released(faults):
    def works():
        faults.write(Register.QSIZE, 64)
        return faults.read(Register.QSIZE) == 64

    faults.inject("power-refused")
    faults.write(Register.CMD, 0)
    assert not works()
    faults.write(Register.CMD, 0)
    assert not works(), "requesting it again does not help"
    faults.write(Register.CMD, POWER_Q)
    faults.write(Register.CMD, 0)
    assert works()
    assert faults.happened == ["power-refused"]


def test_lost_power_loses_the_registers_of_an_idle_npu(faults):
    faults.inject("power-lost")
    faults.write(Register.REGIONCFG, 5)
    faults.write(Register.CMD, 0)
    assert faults.read(Register.REGIONCFG) == 5
    faults.write(Register.CMD, POWER_Q)
    assert faults.read(Register.REGIONCFG) == 0
    faults.write(Register.REGIONCFG, 5)
    faults.write(Register.CMD, POWER_Q)
    assert faults.read(Register.REGIONCFG) == 5, "it was to happen once"
    assert faults.happened == ["power-lost"]


def test_a_run_in_progress_keeps_the_power(faults):
    faults.inject("power-lost")
    assert faults.run(RUN | POWER_Q) == Outcome.STOPPED
    assert faults.read(Register.QSIZE) == len(STOP)
    assert faults.happened == []


def test_a_stuck_reset_ends_with_the_next(faults):
    faults.inject("reset-stuck")
    faults.write(Register.RESET, 0)
    assert all(faults.read(Register.STATUS) == RESETTING for _ in range(5000))
    faults.write(Register.RESET, 0)
    assert faults.read(Register.STATUS) == 0
    assert faults.happened == ["reset-stuck"]


def test_a_slow_reset_ends_when_it_was_polled_long_enough(faults):
    faults.inject("reset-slow")
    faults.write(Register.RESET, 0)
    reads = [faults.read(Register.STATUS) for _ in range(1051)]
    assert reads == [RESETTING] * 1049 + [0, 0]
    assert faults.happened == ["reset-slow"]


def test_a_stuck_protection_state_is_the_other(faults):
    faults.inject("prot-stuck")
    faults.write(Register.RESET, 1)
    assert [faults.read(Register.PROT), faults.read(Register.PROT)] == [0, 1]
    assert faults.happened == ["prot-stuck"]


def test_a_parse_error_is_a_stream_cut_short(faults):
    faults.inject("parse-error")
    for expected in (4, 64):
        faults.write(Register.QSIZE, 64)
        assert faults.read(Register.QSIZE) == expected
    assert faults.happened == ["parse-error"]


@pytest.mark.parametrize(
    ("name", "bit"),
    [("watchdog", STATUS_WEIGHT_FAULT), ("ecc-error", ECC), ("branch-error", BRANCH)],
)
def test_forced_status_bits_last_until_a_reset(faults, name, bit):
    faults.inject(name)
    faults.run()
    assert faults.read(Register.STATUS) & (bit | STATUS_END) == bit
    assert faults.happened == [name]
    faults.write(Register.RESET, 0)
    assert faults.read(Register.STATUS) == 0


def test_faults_of_a_run_are_set_at_its_start(faults):
    for name in ("hang", "bus-error", "irq-spurious"):
        faults.inject(name)
    for expected in (True, False):
        faults("begin")
        run = faults.state.run
        assert (run.hang, run.bus_error, run.spurious) == (expected,) * 3


def test_a_run_continues_when_its_hang_is_withdrawn(faults):
    faults.inject("hang")
    faults("begin")
    faults.inject("irq-lost", 0)
    assert faults.state.run.hang
    faults.inject("hang", 0)
    assert not faults.state.run.hang


def test_a_late_interrupt_is_delivered_at_reset_and_a_lost_one_never(faults):
    faults.inject("irq-late")
    assert not faults("deliver")
    assert not faults("release_held", Register.CMD)
    assert faults("release_held", Register.RESET) and not faults("release_held", Register.RESET)
    faults.inject("irq-lost")
    assert not faults("deliver") and not faults("release_held", Register.RESET)


def test_a_hardware_reset_keeps_only_pending_faults(faults):
    faults.inject("watchdog")
    faults("end")
    faults.inject("dead")
    faults("reset")
    assert faults.state.status_set == 0
    assert faults.read(Register.STATUS) == 0xFFFFFFFF
