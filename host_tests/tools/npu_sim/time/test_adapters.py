# SPDX-License-Identifier: MIT
"""Adapters at the NPU's ports change the estimate, and nothing else.

The stream is that of test_traffic.py, for which Arm publishes the counters of its Fast Model. That
system has timing adapters, with the values in ADAPTERS.
"""

import pytest

from host_tests.tools.npu_sim.assembler import Stream
from host_tests.tools.npu_sim.hardware import Hardware, Outcome
from host_tests.tools.npu_sim.time.test_traffic import FAST_MODEL_CYCLES, counters

SRAM, FLASH = 0, 1  # enum npu_port
# ExecuTorch's values for Ethos_U55_High_End_Embedded with Shared_Sram (corstone_utils.cmake): 4,000
# words of 8 bytes in each period of 4,000 cycles, and 50 words in each period of 400 cycles.
ADAPTERS = {SRAM: (8000, 32, 32), FLASH: (1000, 64, 0)}
SIZE = 1 << 16


def cycles(adapters, memories=()):
    return counters(list(memories), adapters)[3]


def copy(config, adapter=(0,), port=SRAM, memories=()):
    """Return the cycles of a copy of SIZE bytes at port M0, with commands at M1."""
    stream = Stream(config).defaults(DMA0_DST_REGION=1, DMA0_LEN=SIZE).op("DMA_START").stop()
    with Hardware(config) as device:
        regions = [device.add(SIZE), device.add(SIZE)]
        assert not memories or device.set_memories(memories)
        device.set_adapter(port, *adapter)
        device.start(device.add(stream), [region.address for region in regions], regions=0)
        assert device.execute() is Outcome.STOPPED, device.log
        return device.cycles


def test_with_arms_adapters_the_cycles_are_near_those_of_arms_fast_model():
    """With Arm's adapters, and memories that take no time, cycles are near Arm's Fast Model's."""
    *moved, taken = counters([], ADAPTERS)
    *without, least = counters([])
    assert taken == pytest.approx(FAST_MODEL_CYCLES, rel=0.03)
    assert least < taken
    assert moved == without, "adapters move no byte"


def test_half_the_bandwidth_takes_twice_as_long_if_the_memory_is_the_limit():
    slow, half = cycles({FLASH: (62,)}), cycles({FLASH: (31,)})
    assert half / slow == pytest.approx(2, rel=0.1)


def test_half_the_bandwidth_changes_little_if_the_macs_are_the_limit():
    assert cycles({FLASH: (4000,)}) == pytest.approx(cycles({}), rel=0.01)


def test_an_adapter_is_in_front_of_its_own_port_only():
    plain = copy("ethos-u55-128")
    assert copy("ethos-u55-128", (0, 500, 500), FLASH) == plain
    assert copy("ethos-u55-128", (0, 500, 500), SRAM) == plain + 500


@pytest.mark.parametrize("latencies", [(300, 0), (0, 300), (300, 300), (300, 200)])
def test_a_latency_delays_a_copy_once(latencies):
    """A latency delays a copy once, since reads and writes overlap."""
    assert copy("ethos-u65-256", (0, *latencies)) == copy("ethos-u65-256") + 300


@pytest.mark.parametrize(("latency", "more"), [(40, 0), (100, 0), (130, 30)])
def test_a_latency_is_the_least_one_not_one_more(latency, more):
    """A latency is a minimum, as in Arm's header: slower memory keeps its own."""
    memory = [{"millibytes": 1 << 20, "read_latency": 100, "write_latency": 100, "burst": 1}]
    plain = copy("ethos-u55-128", memories=memory)
    assert copy("ethos-u55-128", (0, latency, latency), memories=memory) == plain + more


def test_the_slower_of_adapter_and_memory_limits_the_bandwidth():
    memory = [{"millibytes": 2000, "burst": 1}]
    plain = copy("ethos-u55-128", memories=memory)
    assert copy("ethos-u55-128", (4000,), memories=memory) == plain
    assert copy("ethos-u55-128", (1000,), memories=memory) - plain == pytest.approx(
        SIZE // 2, abs=100
    )


@pytest.mark.parametrize(
    ("config", "interfaces"), [("ethos-u55-128", 1), ("ethos-u65-256", 1), ("ethos-u85-256", 2)]
)
def test_each_axi_interface_of_the_port_has_an_adapter(config, interfaces):
    assert copy(config, (500,)) == pytest.approx(2 * SIZE / interfaces, rel=0.01)


@pytest.mark.parametrize("config", ["ethos-u55-128", "ethos-u85-256"])
def test_an_adapter_does_not_make_a_port_faster(config):
    assert copy(config, (1 << 20,)) == copy(config)
