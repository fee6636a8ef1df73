# SPDX-License-Identifier: MIT
"""Faults by name (npu_faults.h): each happens as often as it was asked for, and as silicon would.

The driver's tests inject them into whole inferences; here is what each does at the registers.
"""

import ctypes as c

import pytest

from host_tests.tools.npu_sim import hardware
from host_tests.tools.npu_sim.hardware import STATUS_END, STATUS_WEIGHT_FAULT, Register

NAMES = (
    *("irq-lost", "irq-late", "irq-spurious", "hang", "bus-error", "parse-error", "watchdog"),
    *("ecc-error", "branch-error", "power-refused", "reset-stuck", "prot-stuck", "dead"),
)
POWER_Q = 8
RESETTING, ECC, BRANCH = 1 << 3, 1 << 8, 1 << 9


HAPPENS = c.CFUNCTYPE(None, c.c_void_p, c.c_char_p)


class State(c.Structure):
    """struct npu_faults."""

    _fields_ = (
        ("due", c.c_uint * len(NAMES)),
        *((name, c.c_bool) for name in ("bus_error", "hang", "spurious")),
        *((name, c.c_bool) for name in ("asked", "off", "irq_held")),
        ("status_set", c.c_uint32),
        ("status_clear", c.c_uint32),
        ("happens", HAPPENS),
        ("context", c.c_void_p),
        ("dead_told", c.c_bool),
    )


class Faults:
    """The C functions on one state."""

    def __init__(self, library):
        self.happened = []
        happens = HAPPENS(lambda _, name: self.happened.append(name.decode()))
        self.state = State(happens=happens)
        self._library = library

    def __call__(self, function, *arguments):
        return getattr(self._library, f"npu_faults_{function}")(c.byref(self.state), *arguments)

    def inject(self, name, count=1):
        return self("inject", name.encode(), count)

    def read(self, register, value=0):
        return self("read", int(register), value)

    def write(self, register, value):
        word = c.c_uint32(value)
        return word.value if self("write", int(register), c.byref(word)) else None


@pytest.fixture
def faults(npu_library):
    library = c.CDLL(str(hardware.library_path()))
    library.npu_faults_read.restype = c.c_uint32
    for name in ("inject", "write", "deliver", "take_held"):
        getattr(library, f"npu_faults_{name}").restype = c.c_bool
    return Faults(library)


def test_names(faults):
    assert all(faults.inject(name) for name in NAMES)
    assert not faults.inject("no-such-fault")


def test_nothing_happens_unasked(faults):
    faults("begin")
    faults("end")
    assert faults("deliver") and not faults("take_held", int(Register.RESET))
    assert faults.read(Register.STATUS, STATUS_END) == STATUS_END
    assert faults.write(Register.QSIZE, 64) == 64


def test_a_dead_npu_reads_as_all_ones_so_often(faults):
    faults.inject("dead", 2)
    assert [faults.read(Register.ID, 5) for _ in range(3)] == [0xFFFFFFFF, 0xFFFFFFFF, 5]
    assert faults.happened == ["dead"]


def test_refused_power_lasts_until_it_is_released(faults):
    faults.inject("power-refused")
    assert faults.write(Register.CMD, 0) is None
    assert faults.write(Register.QSIZE, 64) is None and faults.read(Register.ID, 5) == 0
    assert faults.write(Register.CMD, 0) is None, "asking on does not help"
    assert faults.write(Register.CMD, POWER_Q) == POWER_Q
    assert faults.write(Register.CMD, 0) == 0 and faults.read(Register.ID, 5) == 5
    assert faults.happened == ["power-refused"]


def test_a_stuck_reset_ends_with_the_next(faults):
    faults.inject("reset-stuck")
    faults.write(Register.RESET, 0)
    assert faults.read(Register.STATUS) == RESETTING
    faults.write(Register.RESET, 0)
    assert faults.read(Register.STATUS) == 0
    assert faults.happened == ["reset-stuck"]


def test_a_stuck_protection_state_is_the_other(faults):
    faults.inject("prot-stuck")
    assert [faults.read(Register.PROT, 1), faults.read(Register.PROT, 1)] == [0, 1]
    assert faults.happened == ["prot-stuck"]


def test_a_parse_error_is_a_stream_cut_short(faults):
    faults.inject("parse-error")
    assert [faults.write(Register.QSIZE, 64), faults.write(Register.QSIZE, 64)] == [4, 64]
    assert faults.happened == ["parse-error"]


@pytest.mark.parametrize(
    ("name", "bit"),
    [("watchdog", STATUS_WEIGHT_FAULT), ("ecc-error", ECC), ("branch-error", BRANCH)],
)
def test_forced_status_bits_last_until_a_reset(faults, name, bit):
    faults.inject(name)
    faults("end")
    assert faults.read(Register.STATUS, STATUS_END) == bit
    assert faults.happened == [name]
    faults.write(Register.RESET, 0)
    assert faults.read(Register.STATUS, STATUS_END) == STATUS_END


def test_what_a_run_is_to_suffer(faults):
    for name in ("hang", "bus-error", "irq-spurious"):
        faults.inject(name)
    for expected in (True, False):
        faults("begin")
        state = faults.state
        assert (state.hang, state.bus_error, state.spurious) == (expected,) * 3


def test_a_late_interrupt_comes_with_the_reset_a_lost_one_never(faults):
    faults.inject("irq-late")
    assert not faults("deliver")
    assert not faults("take_held", int(Register.CMD))
    assert faults("take_held", int(Register.RESET)) and not faults("take_held", Register.RESET)
    faults.inject("irq-lost")
    assert not faults("deliver") and not faults("take_held", int(Register.RESET))


def test_a_hardware_reset_keeps_only_what_is_still_to_happen(faults):
    faults.inject("watchdog")
    faults("end")
    faults.inject("dead")
    faults("reset")
    assert faults.state.status_set == 0
    assert faults.read(Register.ID, 5) == 0xFFFFFFFF
