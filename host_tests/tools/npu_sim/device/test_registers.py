# SPDX-License-Identifier: MIT
"""The register window behaves as Arm's interface headers say."""

import re
import subprocess
from pathlib import Path

import pytest

from host_tests.tools.npu_sim.assembler import CONFIGS, Stream, execute
from host_tests.tools.npu_sim.hardware import (
    STATUS_BUS_ERROR,
    STATUS_END,
    STATUS_IRQ,
    STATUS_PARSE_ERROR,
    STATUS_RUNNING,
    Hardware,
    Outcome,
    Register,
)

EXECUTE, ABORT = 1, 2
RUN, CLEAR_IRQ, STOP_REQUEST = 1, 2, 16

IDS = {"u55": 0x10104201, "u65": 0x10066001, "u85": 0x20007001}


@pytest.fixture
def device():
    with Hardware("ethos-u55-128") as npu:
        yield npu


def load(device: Hardware, stream: bytes) -> None:
    device.start(device.add(stream, writable=False), [])


@pytest.mark.parametrize(("config", "word"), CONFIGS.items())
def test_identity(config, word):
    with Hardware(config) as device:
        assert device.read(Register.CONFIG) == word
        expected = IDS[config.split("-")[1]]
        assert device.read(Register.ID) == expected
        device.write(Register.ID, 0)
        assert device.read(Register.ID) == expected
        assert [device.read(0xFF0 + 4 * i) for i in range(4)] == [0x0D, 0xF0, 0x05, 0xB1]


# ID, CONFIG, the peripheral's identification; CMD's clock and power requests.
IDENTITY = {0x000, 0x028, 0xFD0, 0xFE0, 0xFE4, 0xFE8, 0xFF0, 0xFF4, 0xFF8, 0xFFC}
# PMCR, with its number of counters; on U85 also CFG_SRAM_CAP and CFG_EXT_CAP.
NOT_ZERO = {"u55": {0x180}, "u65": {0x180}, "u85": {0x060, 0x064, 0x1180}}


@pytest.mark.parametrize("config", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
def test_no_other_register_holds_anything_after_a_reset(config):
    with Hardware(config) as device:
        found = {
            address: value for address in range(0, 0x2000, 4) if (value := device.read(address))
        }
    assert found.keys() == IDENTITY | {Register.CMD} | NOT_ZERO[config.split("-")[1]]
    assert found[Register.CMD] == 0xC
    assert "u85" in config or found[Register.PMCR] == 4 << 11


def test_run_to_stop(device):
    load(device, Stream().stop())
    assert device.read(Register.STATUS) == STATUS_RUNNING
    assert device.execute() is Outcome.STOPPED
    assert device.read(Register.STATUS) == 0xFFFF << 16 | STATUS_END | STATUS_IRQ
    assert device.irq
    assert device.read(Register.QREAD) == 4
    device.write(Register.CMD, 0xC | CLEAR_IRQ)
    assert not device.irq
    assert device.read(Register.STATUS) == 0xFFFF << 16 | STATUS_END
    device.write(Register.CMD, 0xFFFF << 16 | 0xC)
    assert device.read(Register.STATUS) == STATUS_END
    device.write(Register.QSIZE, 4)
    assert device.read(Register.STATUS) == 0


def test_irq_command_interrupts_without_stopping(device):
    load(device, Stream().op("IRQ", 0x0012).stop())
    assert device.execute() is Outcome.IRQ
    assert device.read(Register.STATUS) == 0x0012 << 16 | STATUS_IRQ | STATUS_RUNNING
    assert device.irq
    device.write(Register.CMD, 0xC | CLEAR_IRQ)
    assert not device.irq
    assert device.execute() is Outcome.STOPPED
    assert device.read(Register.STATUS) >> 16 == 0xFFFF


def test_single_steps(device):
    stream = Stream().defaults().op("DMA_START").op("POOL", 1).op("DMA_START").stop()
    seen = []
    device.observe(lambda operation: seen.append(operation.name))
    device.start(device.add(stream), [device.add(64).address for _ in range(2)])
    outcomes = [device.execute(1) for _ in range(4)]
    assert outcomes == [Outcome.STEPPED] * 3 + [Outcome.STOPPED]
    assert seen == ["NPU_OP_DMA_START", "NPU_OP_POOL", "NPU_OP_DMA_START"]


@pytest.mark.parametrize("how", [(Register.RESET, 0), (Register.CMD, 0xC | STOP_REQUEST)])
def test_reset_and_stop_abort_a_running_stream(device, how):
    load(device, Stream().stop())
    assert device.write(*how) == ABORT
    if how[0] == Register.RESET:
        assert device.read(Register.STATUS) & 8
        assert device.read(Register.CONFIG) == 0, "only STATUS can be read during a reset"
    device.abort()
    assert device.execute() is Outcome.ABORTED
    assert device.read(Register.STATUS) & (STATUS_RUNNING | STATUS_END | STATUS_IRQ) == 0
    load(device, Stream().stop())
    assert device.execute() is Outcome.STOPPED


def test_a_fault_requires_a_reset(device):
    load(device, Stream().raw(0xFFFFFFFF).bytes())
    assert device.execute() is Outcome.PARSE_ERROR
    assert device.read(Register.STATUS) & (STATUS_PARSE_ERROR | STATUS_IRQ)
    assert device.acknowledge() & STATUS_PARSE_ERROR
    load(device, Stream().stop())
    assert device.read(Register.STATUS) & STATUS_RUNNING == 0
    device.write(Register.RESET, 0)
    load(device, Stream().stop())
    assert device.execute() is Outcome.STOPPED


def test_stream_outside_memory_is_a_bus_error_of_the_command_channel(device):
    device.write(Register.QBASE, 0x1000)
    device.write(Register.QSIZE, 16)
    device.write(Register.QCONFIG, 2)
    assert device.write(Register.CMD, RUN) == EXECUTE
    assert device.execute() is Outcome.BUS_ERROR
    status = device.read(Register.STATUS)
    assert status & STATUS_BUS_ERROR
    assert status >> 11 & 0x1F == 1, "interface M1, channel 0"


def test_command_registers_can_be_read_back_unless_the_npu_runs():
    def mirror(device):
        return [device.read(register) for register in (0x93C, 0xAD0, 0xAD4)]

    with Hardware("ethos-u65-512") as device:
        load(device, Stream().set(IFM2_REGION=5, DMA0_LEN=0x1_2345_6780).op("IRQ").stop())
        assert device.execute() is Outcome.IRQ
        assert mirror(device) == [0, 0, 0]
        device.execute()
        assert mirror(device) == [5, 0x23456780, 1]


def test_unknown_registers_are_logged(device):
    assert device.read(0x060) == 0
    device.write(0x0FC, 1)
    device.write(Register.STATUS, 1)
    assert len(device.log) == 3


def counted(
    stream: Stream,
    setup: dict[int, int],
    *registers: int,
    config: str = "ethos-u55-128",
    regions: int = 0,
) -> list[int]:
    """Set registers and run a stream; returns counters, the last of which counts cycles."""
    with Hardware(config) as device:
        for register, value in setup.items():
            device.write(register, value)
        bases = [device.add(1024).address for _ in range(2)]
        device.start(device.add(stream.stop()), bases, regions=regions)
        assert device.execute() is Outcome.STOPPED
        return [*map(device.read, registers), device.cycles]


EVENTS = [Register.PMEVTYPER + 4 * i for i in range(4)]
COUNTERS = [Register.PMEVCNTR + 4 * i for i in range(4)]


def test_performance_counters_count_what_runs():
    stream = Stream().defaults(DMA0_LEN=1024).op("DMA_START")
    setup = {Register.PMCR: 1 | 2 | 4, Register.PMCNTENSET: 1 << 31 | 0xF}
    setup |= dict(zip(EVENTS, (0x23, 0x82, 0x87, 0x30), strict=True))
    cycles, *counters, taken = counted(stream, setup, Register.PMCCNTR, *COUNTERS)
    assert counters == [cycles, 1024 // 8, 1024 // 8, 0]
    assert taken == cycles > 1024 // 8


def test_performance_mask_gates_the_counters():
    def cycles(*mask):
        stream = Stream().defaults()
        for value in mask:
            stream.op("PMU_MASK", value)
        setup = {Register.PMCR: 1 | 8, Register.PMCNTENSET: 1 << 31}
        return counted(stream.op("DMA_START"), setup, Register.PMCCNTR)[0]

    assert cycles() == cycles(1, 0) == 0
    assert cycles(1) > 0


def test_performance_registers_hold_what_is_written():
    with Hardware("ethos-u55-128") as device:
        for set_, clear in ((0x184, 0x188), (0x18C, 0x190), (0x194, 0x198)):
            device.write(set_, 0xFFFFFFFF)
            assert device.read(set_) == device.read(clear) == 1 << 31 | 0xF
            device.write(clear, 1 << 31 | 1)
            assert device.read(set_) == 0xE
            device.write(clear, 0xE)
        device.write(Register.PMCCNTR, 0x12345678)
        device.write(Register.PMCCNTR + 4, 0xFFFFFFFF)
        assert device.read(Register.PMCCNTR) == 0x12345678
        assert device.read(Register.PMCCNTR + 4) == 0xFFFF, "the counter has 48 bits"
        device.write(Register.PMEVCNTR, 7)
        device.write(Register.PMCR, 2)
        assert device.read(Register.PMEVCNTR) == 0
        assert device.read(Register.PMCCNTR) == 0x12345678
        device.write(Register.PMCR, 4)
        assert device.read(Register.PMCCNTR) == 0


def test_performance_counters_of_one_axi_channel():
    """PMCAXI_CHAN selects the channel that counts, as DMA reads and IFM reads show."""

    def beats(channel: int) -> int:
        stream = Stream().defaults(DMA0_LEN=1024).op("DMA_START")
        setup = {0x1AC: 1 << 10 | channel, Register.PMCR: 1, Register.PMCNTENSET: 1}
        return counted(stream, setup | {EVENTS[0]: 0x82}, COUNTERS[0])[0]

    assert beats(4) == 1024 // 8 and beats(1) == 0


PMCCNTR_CFG = 0x1A8
CYCLE, IDLE, ACTIVE, READ_BEAT, MAC_ACTIVE = 0x11, 0x20, 0x23, 0x82, 0x30


@pytest.mark.parametrize(
    ("start", "stop", "counts"),
    [
        *((0, 0, True), (ACTIVE, 0, True), (ACTIVE, IDLE, True), (CYCLE, 0, True)),
        # Events in a stream that computes nothing: none begins, or it ends before time passes.
        *((MAC_ACTIVE, 0, False), (IDLE, 0, False), (0, READ_BEAT, False)),
    ],
)
def test_the_cycle_counter_starts_and_stops_by_events(start, stop, counts):
    stream = Stream().defaults(DMA0_LEN=1024).op("DMA_START")
    setup = {Register.PMCR: 1, Register.PMCNTENSET: 1 << 31, PMCCNTR_CFG: stop << 16 | start}
    cycles, taken = counted(stream, setup, Register.PMCCNTR)
    assert cycles == (taken if counts else 0)


def test_a_job_ends_with_the_npu_idle():
    """A job ends with the NPU idle, so that the stop event holds until the next start event."""
    with Hardware("ethos-u55-128") as device:
        setup = {Register.PMCR: 1, Register.PMCNTENSET: 1 << 31, PMCCNTR_CFG: IDLE << 16}
        for register, value in setup.items():
            device.write(register, value)
        bases = [device.add(1024).address for _ in range(2)]
        stream = device.add(Stream().defaults().op("DMA_START").stop())
        seen = []
        for _ in range(2):
            device.start(stream, bases, regions=0)
            assert device.execute() is Outcome.STOPPED
            device.acknowledge()
            seen.append(device.read(Register.PMCCNTR))
        assert seen[0] == seen[1] > 0


# The PMU's registers of Ethos-U85 are one page higher.
PAGE = 0x1000
SRAM, EXT = 0x80, 0x180
PORTS = {"ethos-u85-256": (2, 1), "ethos-u85-2048": (4, 2)}


@pytest.mark.parametrize("config", PORTS)
@pytest.mark.parametrize("regions", [0x0000, 0x5555], ids=["sram", "ext"])
def test_the_events_of_a_port_add_up_to_those_of_all(config, regions):
    """Events of the ports add up to the total, in both directions; missing ones are 0."""
    both = (SRAM, 0x200, 4, PORTS[config][0]), (EXT, 0x280, 2, PORTS[config][1])
    for event in (0x2, 0x7, 0x0, 0x4):
        for total, first, numbers, ports in both:
            events = [total + event, *(first + 0x10 * i + event for i in range(numbers))]
            stream = Stream(config).defaults(DMA0_LEN=1008).op("DMA_START")
            setup = {PAGE + Register.PMCR: 1, PAGE + Register.PMCNTENSET: 0xFF, 0x040: 0, 0x044: 4}
            setup |= {PAGE + Register.PMEVTYPER + 4 * i: e for i, e in enumerate(events)}
            counters = [PAGE + Register.PMEVCNTR + 4 * i for i in range(len(events))]
            whole, *shares, _ = counted(stream, setup, *counters, config=config, regions=regions)
            assert sum(shares) == whole
            assert max(shares[:ports]) - min(shares[:ports]) <= 1
            assert not any(shares[ports:])
            assert (whole > 0) == (total == (EXT if regions else SRAM)) or event in (0x0, 0x2)


REPO = Path(__file__).resolve().parents[4]
DRIVER = REPO / "modules/ethosu/driver/include"
U5X, U85 = 1, 2


def events_of(family: int) -> dict[str, int]:
    """Return the events of a family in Arm's driver, by name."""
    macros = "#define ETHOSU_EXT_PMU_EVENT(name, number, families) name number families;\n"
    source = macros + (DRIVER / "ethosu_pmu_events.def").read_text()
    command = ["cc", "-E", "-P", "-x", "c", "-"]
    text = subprocess.run(command, input=source, text=True, capture_output=True, check=True).stdout
    rows = [row.split(maxsplit=1) for row in text.split(";") if row.strip()]
    found = {}
    for name, rest in rows:
        number, _, families = rest.rpartition(" ")
        if int(families) & family:
            found[name] = eval(number, {"__builtins__": {}})
    return found


def counted_numbers() -> dict[str, int]:
    """Return the numbers of events that the simulator counts, by their names in pmu.h."""
    text = (REPO / "tools/npu_sim/core/pmu.h").read_text()
    return {name: int(number, 0) for name, number in re.findall(r"NPU_(\w+) = (0x\w+)", text)}


def test_the_page_lists_the_events_that_are_counted():
    numbers = counted_numbers()
    port = {number for name, number in numbers.items() if name.startswith("AXI_")}
    plain = {
        number
        for name, number in numbers.items()
        if name.startswith("EVENT_") and not re.search("IDLE|AXI|SRAM|EXT|PORT|SC0|WD_PARSE", name)
    }
    ports = {
        U5X: [numbers["EVENT_AXI0"], numbers["EVENT_AXI1"]],
        U85: [
            *(numbers["EVENT_AXI0"], numbers["EVENT_AXI1"]),
            *(numbers["EVENT_SRAM0"] + 0x10 * i for i in range(4)),
            *(numbers["EVENT_EXT0"] + 0x10 * i for i in range(2)),
        ],
    }
    parse = {
        U5X: {numbers["EVENT_WD_PARSE_ACTIVE"]},
        U85: {numbers["EVENT_WD_PARSE_ACTIVE_SC0"] + i for i in range(4)},
    }
    page = (REPO / "modules/ethosu/docs/npu.md").read_text()
    rows = dict(re.findall(r"^\| (all|Ethos-U55, U65|Ethos-U85) \| (.*) \|$", page, re.MULTILINE))
    ends = re.findall(r"`(\w+)`", page[page.index("`*` stands for") :].partition(". ")[0])
    for family, title in ((U5X, "Ethos-U55, U65"), (U85, "Ethos-U85")):
        listed = set()
        for name in re.findall(r"`([\w*]+)`", rows["all"] + rows[title]):
            listed |= {name.replace("*", end) for end in ends} if "*" in name else {name}
        for first, last in re.findall(r"`(\w+?)(?:_\*)?` to `(\w+?)(?:_\*)?`", rows[title]):
            stem = first[:-1]
            many = {f"{stem}{i}" for i in range(int(first[-1]), int(last[-1]) + 1)}
            whole = first in listed
            listed |= many if whole else {f"{each}_{end}" for each in many for end in ends}
        counts = plain | parse[family] | {first + at for first in ports[family] for at in port}
        events = events_of(family)
        assert listed == {name for name, number in events.items() if number in counts}


def test_commands_of_arms_header_that_vela_never_writes():
    """Commands of Arm's header that Vela never writes are accepted, such as waits for up to 15."""
    for config in ("ethos-u55-128", "ethos-u65-512", "ethos-u85-256"):
        stream = Stream(config).set(**{f"USER_DEFINED{i}": i for i in range(8)})
        stream.set(DMA0_SIZE0=2, DMA0_SIZE1=3).op("DMA_WAIT", 3 if "u85" in config else 15)
        run = execute(config, stream.stop(), [])
        assert run.outcome is Outcome.STOPPED, run.log


@pytest.mark.parametrize("register", ["IFM_BASE0", "OFM_BASE3", "WEIGHT_BASE", "DMA0_LEN"])
def test_addresses_of_ethos_u55_have_32_bits(register):
    run = execute("ethos-u55-128", Stream().set(**{register: 1 << 32}).stop(), [])
    run.refused("has parameter 0x0001, allowed bits 0x0000")


def test_a_hardware_reset_is_like_new(device):
    load(device, Stream().stop())
    device.write(Register.LOCK, 5)
    device.execute()
    assert device.irq
    device.reset()
    assert not device.irq
    assert device.read(Register.STATUS) == device.read(Register.LOCK) == 0
