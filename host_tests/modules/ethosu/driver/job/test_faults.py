# SPDX-License-Identifier: MIT
"""The driver handles each NPU fault, with a real command stream on the simulator."""

import ctypes as c
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from host_tests.modules.ethosu.driver import cbuild
from host_tests.modules.ethosu.driver.streams import Call, npu_calls

NPUS = ("ethos-u55-128", "ethos-u85-256")

# The injected fault, the number of times, and the driver's error for the affected inference.
FAULTS = {
    "irq-lost": ({"irq-lost": 1}, "NPU finished, but no interrupt came within 10000 ms"),
    "irq-late": ({"irq-late": 1}, "NPU finished, but no interrupt came within 10000 ms"),
    "hang": ({"hang": 1}, "inference took longer than 10000 ms: running"),
    "bus-error": ({"bus-error": 1}, "of the command stream: bus error at command on port M1"),
    "parse-error": ({"parse-error": 1}, "command parse error"),
    "watchdog": ({"watchdog": 1}, "watchdog"),
    "ecc-error": ({"ecc-error": 1}, "memory error (ECC)"),
    "branch-error": ({"branch-error": 1}, "branch out of range"),
    # The NPU's state seems lost, so it is reset at power-up, and again after a failure.
    "prot-stuck": ({"prot-stuck": 2}, "NPU is in protection state"),
    "reset-stuck": ({"prot-stuck": 1, "reset-stuck": 1}, "NPU reset did not complete: in reset"),
    "power-refused": ({"power-refused": 1}, "protection state 0x0, 0x1"),
    "reset-stuck at recovery": ({"hang": 1, "reset-stuck": 1}, "NPU reset did not complete"),
}

# Faults with no effect on callers.
HARMLESS = ("irq-spurious", "power-lost", "reset-slow")

# STATUS bits that are reserved on other products.
OWN = {"watchdog": "ethos-u55-128", "branch-error": "ethos-u85-256"}
CASES = [(npu, fault) for npu in NPUS for fault in FAULTS if OWN.get(fault, npu) == npu]


LINE = 32


@dataclass
class Host:
    """A sim_host in this process, with the regions of one NPU call in its memory."""

    library: c.CDLL
    driver: int
    call: Call
    regions: list[c.Array] = field(default_factory=list)

    def alloc(self, size: int) -> c.Array:
        """Allocate memory that the NPU can access."""
        address = self.library.sim_host_alloc(c.c_size_t(max(size, 1)))
        return (c.c_uint8 * size).from_address(address)

    def load(self) -> None:
        """Copy payload and regions to memory accessible to the NPU."""
        self.payload = self.alloc(len(self.call.payload))
        self.payload[:] = self.call.payload
        # NPU outputs have their own cache lines.
        self.regions = [self.alloc(-(-size // LINE) * LINE) for size in self.call.sizes[:3]]
        self.regions[0][: len(self.call.constants)] = self.call.constants

    def invoke(self, seed: int) -> tuple[int, bytes]:
        """Run once on random scratch; returns the driver's result and the scratch."""
        random = np.random.default_rng(seed)
        size = len(self.regions[1])
        self.regions[1][:] = random.integers(0, 256, size, dtype=np.uint8).tobytes()
        count = len(self.regions)
        bases = (c.c_uint64 * count)(*(c.addressof(region) for region in self.regions))
        sizes = (c.c_size_t * count)(*(len(region) for region in self.regions))
        result = self.library.ethosu_invoke_v3(
            c.c_void_p(self.driver), self.payload, len(self.payload), bases, sizes, count, None
        )
        return result, bytes(self.regions[1])

    def error(self) -> str:
        """Return the driver's message for its last failure."""
        text = c.create_string_buffer(200)
        fault = self.library.ethosu_ext_last_error(c.c_void_p(self.driver))
        self.library.ethosu_ext_describe(c.c_void_p(fault), text, c.c_size_t(len(text)))
        return text.value.decode()


@pytest.fixture(scope="module")
def library() -> c.CDLL:
    """Return the library of sim_host."""
    library = c.CDLL(str(cbuild.shared_library()))
    for name in ("sim_host_alloc", "sim_host_open", "ethosu_ext_last_error"):
        getattr(library, name).restype = c.c_void_p
    library.sim_host_log.restype = c.c_char_p
    library.sim_host_inject.restype = c.c_bool
    return library


@pytest.fixture(params=NPUS)
def host(request, library, compiled, small_models) -> Iterator[Host]:
    """Return a reserved NPU with a small model loaded."""
    npu = request.param
    (call,) = npu_calls(compiled(small_models["small_cnn"], npu))
    driver = library.sim_host_open(0, npu.encode())
    assert driver, library.sim_host_log()
    assert library.ethosu_ext_reserve_this(c.c_void_p(driver), c.c_uint64(0)) == 0
    host = Host(library, driver, call)
    host.load()
    yield host
    library.sim_host_close(0)
    for memory in (host.payload, *host.regions):
        library.sim_host_free(c.byref(memory))


def test_every_fault_is_tested() -> None:
    """The tables have every fault except those with separate tests."""
    text = (cbuild.REPO / "tools/npu_sim/device/npu_faults.c").read_text()
    rows = [line for line in text.splitlines() if line.startswith("    [NPU_FAULT_")]
    names = {row.split('"')[1] for row in rows}
    injected = {name for faults, _ in FAULTS.values() for name in faults}
    assert names == {*injected, *HARMLESS, "dead"}


@pytest.mark.parametrize("threaded", [False, True], ids=["in the call", "on a thread"])
def test_inferences_repeat(host, threaded) -> None:
    """Equal inputs give equal memory on any executor, without writes outside."""
    golden = host.invoke(1)
    assert golden[0] == 0
    host.library.sim_host_use_thread(0, threaded)
    assert host.invoke(2)[1] != golden[1]
    assert host.invoke(1) == golden
    assert host.library.sim_host_damaged_guards() == 0


@pytest.mark.parametrize(("host", "fault"), CASES, indirect=["host"])
def test_each_fault_ends_in_its_error_and_the_next_inference_is_right(host, fault) -> None:
    """Each fault gives its documented error, then a bit-exact result."""
    golden = host.invoke(1)
    assert golden[0] == 0
    faults, message = FAULTS[fault]
    for name, count in faults.items():
        assert host.library.sim_host_inject(0, name.encode(), count)
    assert host.invoke(1)[0] == -1
    assert message in host.error()
    for name in faults:
        assert host.library.sim_host_inject(0, name.encode(), 0)
    assert host.invoke(1) == golden
    assert host.invoke(1) == golden


@pytest.mark.parametrize("fault", HARMLESS)
def test_tolerated_faults_change_nothing(host, fault) -> None:
    """Tolerated faults, also a spurious interrupt while idle, do not change results."""
    golden = host.invoke(1)
    assert host.library.sim_host_inject(0, fault.encode(), 1)
    # A slow reset only has an effect on an NPU that has lost its state, and so is reset.
    assert host.library.sim_host_inject(0, b"prot-stuck", fault == "reset-slow")
    host.library.sim_host_interrupt(0)
    assert host.invoke(1) == golden
    assert host.invoke(1) == golden


@pytest.mark.parametrize("reads", range(1, 12))
def test_an_npu_that_reads_as_ones_for_a_while_is_survived(host, reads) -> None:
    """An inference may fail while all registers read as ones, but the next one is right."""
    golden = host.invoke(1)
    assert host.library.sim_host_inject(0, b"dead", reads)
    host.invoke(1)
    assert host.library.sim_host_inject(0, b"dead", 0)
    assert host.invoke(1) == golden


def test_the_board_rejects_unknown_npus_and_faults(library) -> None:
    """An unknown config or fault, or a third NPU, gives an error and a log line."""
    assert not library.sim_host_open(0, b"ethos-u56-1")
    assert b"unknown NPU config" in library.sim_host_log()
    assert not library.sim_host_open(2, NPUS[0].encode())
    assert b"unknown NPU number" in library.sim_host_log()
    assert not library.sim_host_inject(0, b"meteorite", 1)
    assert library.sim_host_log() == b""


def test_memory_of_the_board_has_guards(library) -> None:
    """A write past a block is detected; an oversized block is rejected."""
    assert library.sim_host_alloc(c.c_size_t(1 << 40)) is None
    address = library.sim_host_alloc(c.c_size_t(100))
    assert library.sim_host_damaged_guards() == 0
    (c.c_uint8 * 101).from_address(address)[100] = 1
    assert library.sim_host_damaged_guards() == 1
    library.sim_host_free(c.c_void_p(address))
    assert library.sim_host_damaged_guards() == 0


def test_an_npu_that_runs_non_secure_reaches_no_secure_memory(host) -> None:
    """An NPU with a wrong PROT gets a bus error from memory that accepts secure accesses only."""
    driver = c.c_void_p(host.driver)
    registers = c.byref(c.c_uint8.in_dll(host.library, "sim_host_npus"))
    for secure, message in ((False, "bus error"), (True, None)):
        host.library.ethosu_deinit(driver)
        assert host.library.ethosu_init(driver, registers, None, c.c_size_t(0), secure, True) == 0
        assert host.library.ethosu_ext_reserve_this(driver, c.c_uint64(0)) == 0
        result, _ = host.invoke(1)
        assert result == (0 if secure else -1)
        assert message is None or message in host.error()
        assert (b"non-secure access" in host.library.sim_host_log()) is not secure
