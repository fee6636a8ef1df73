# SPDX-License-Identifier: MIT
"""Every fast path of the simulator equals the plain one: kernels, and whole operations.

`make plain` builds the simulator without them: portable C, and the exact path of each operation.
"""

import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools.sim.trace import Operation

from host_tests.kit import sharing
from host_tests.tools.npu_sim import random_operations_u85 as u85
from host_tests.tools.npu_sim.assembler import PAYLOAD, U85_DEFAULTS, Stream, execute
from host_tests.tools.npu_sim.hardware import Hardware, Outcome, Register, commands, internal
from host_tests.tools.npu_sim.random_operations import CONFIG, KINDS, U85_KINDS, make

# The sanitizers take four times as long.
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")
SEEDS = range(3 if SANITIZED else 15)
each_seeds = pytest.mark.parametrize(
    "seeds", [SEEDS, pytest.param(range(15, 60), marks=pytest.mark.slow)], ids=["some", "more"]
)
OPERATIONS = [(CONFIG, kind) for kind in KINDS] + [(u85.CONFIG, kind) for kind in U85_KINDS]
LANES = 16


@pytest.fixture(scope="module")
def build(repo):
    """Build a variant of the simulator; returns the library."""

    def make_variant(name):
        sharing.make("tools/npu_sim", name)
        return repo / "build/npu_sim" / name / "libnpu_sim.so"

    return make_variant


@pytest.fixture(scope="module")
def fast_libraries(build, npu_library):
    """Build the simulator with all of this machine's features, or sanitized; AVX2 alone; none."""
    here = Path(os.environ.get("ETHOSU_NPU_LIBRARY", npu_library))
    return {"as it is": here} | (
        {} if SANITIZED else {name: build(name) for name in ("avx2", "portable")}
    )


@pytest.fixture(scope="module")
def plain_library(build):
    return build("plain")


@pytest.fixture
def run_all(fast_libraries, plain_library, monkeypatch):
    """Run an operation on each fast model and on the plain one: outcome, memory, cycles, log.

    All must be equal; returns the plain model's.
    """

    def one(library, operation):
        monkeypatch.setenv("ETHOSU_NPU_LIBRARY", str(library))
        run = execute(operation.config, operation.stream, operation.regions)
        return run.outcome, [m.data for m in run.memories[1:]], run.cycles, run.log

    def run(operation):
        plain = one(plain_library, operation)
        for name, library in fast_libraries.items():
            what = f"{name}: {operation.description}"
            outcome, memory, cycles, log = one(library, operation)
            assert (outcome, cycles, log) == (plain[0], *plain[2:]), what
            for region, (found, expected) in enumerate(zip(memory, plain[1], strict=True)):
                assert np.array_equal(found, expected), f"{what}: region {region} differs"
        return plain

    return run


@each_seeds
@pytest.mark.parametrize(("config", "kind"), OPERATIONS)
def test_operations_equal_the_plain_model(run_all, config, kind, seeds):
    """Random operations, all of which the simulator accepts, equal the plain model's."""
    for seed in seeds:
        assert run_all(make(kind, seed, config))[0] is Outcome.STOPPED, f"{kind} seed {seed}"


def joins_rows_over_its_ifm(registers):
    """Whether an operation could compute rows together although its OFM overwrites its IFM."""
    return (
        registers.get("OFM_REGION") == 0
        and registers["KERNEL_WIDTH_M1"] == registers["KERNEL_HEIGHT_M1"] == 0
        and registers["OFM_HEIGHT_M1"] > 0
        and registers["OFM_STRIDE_Y"] > registers["IFM_STRIDE_Y"]
    )


# The first seeds from 1000 on with such an operation; a search takes longer than the test.
# fmt: off
OVER_ITS_IFM = {
    CONFIG: (
        1010, 1079, 1168, 1182, 1230, 1282, 1301, 1339, 1349, 1443, 1462, 1496, 1537, 1563, 1589,
    ),
    u85.CONFIG: (
        1014, 1023, 1060, 1079, 1098, 1178, 1189, 1214, 1269, 1302, 1465, 1748, 1795, 2015, 2040,
    ),
}
# fmt: on


@pytest.mark.parametrize("config", OVER_ITS_IFM)
def test_rows_are_read_before_they_are_overwritten(run_all, config):
    """Later rows of the IFM must have what earlier rows of the OFM wrote, as without joining."""
    for seed in OVER_ITS_IFM[config][: len(SEEDS)]:
        operation = make("CONV", seed, config)
        assert joins_rows_over_its_ifm(operation.description), f"look for another seed than {seed}"
        assert run_all(operation)[0] is Outcome.STOPPED


def repeat(operation, scales):
    """Return OFMs of an operation with different scales at the same place, on one NPU."""
    with Hardware(operation.config) as device:
        stream = device.add(operation.stream, writable=False)
        memories = [device.add(content) for content in operation.regions]
        bases = [memory.address for memory in memories]
        results = []
        for records in scales:
            memories[3].data[:] = records
            device.start(stream, bases)
            assert device.execute() is Outcome.STOPPED
            results.append([memory.data.copy() for memory in memories[:2]])
        return results


@pytest.mark.parametrize("config", [CONFIG, u85.CONFIG])
@pytest.mark.parametrize("kind", ["CONV", "DEPTHWISE"])
def test_changed_scales_take_effect(fast_libraries, plain_library, monkeypatch, config, kind):
    """Changed scales take effect, although they are cached with the unchanged weights."""
    random = np.random.default_rng(1)
    for seed in SEEDS:
        operation = make(kind, seed, config)
        scales = [np.frombuffer(operation.regions[3], np.uint8).copy() for _ in range(3)]
        scales[1][random.integers(len(scales[1]) // 10) * 10 + 1] ^= 0x40
        results = []
        for library in (plain_library, *fast_libraries.values()):
            monkeypatch.setenv("ETHOSU_NPU_LIBRARY", str(library))
            results.append([*itertools.chain.from_iterable(repeat(operation, scales))])
        for found in results[1:]:
            assert all(map(np.array_equal, found, results[0])), seed


def damage(config, stream, random):
    """Change one register, except those that set a size."""
    known = commands(config)
    words = np.frombuffer(stream, "<u4").copy()
    places, at = [], 0
    while at < len(words):
        name = known[words[at] & 0xFFFF][0]
        if name.startswith("NPU_SET") and not name.endswith("_M1"):
            places.append(at)
        at += 2 if words[at] & PAYLOAD else 1
    at = random.choice(places)
    if words[at] & PAYLOAD and random.integers(2):
        words[at + 1] ^= 1 << random.integers(32)
    else:
        words[at] ^= 1 << random.integers(16, 32)
    return words.tobytes()


@each_seeds
@pytest.mark.parametrize(("config", "kind"), OPERATIONS)
def test_damaged_operations_equal_the_plain_model(run_all, config, kind, seeds):
    """Damaged operations equal the plain model's, whatever they do."""
    outcomes = set()
    for seed in seeds:
        operation = make(kind, seed, config)
        stream = damage(config, operation.stream, np.random.default_rng(seed))
        outcomes.add(run_all(replace(operation, stream=stream))[0])
    assert SANITIZED or {Outcome.STOPPED, Outcome.PARSE_ERROR} <= outcomes


@each_seeds
@pytest.mark.parametrize(("config", "kind"), OPERATIONS)
def test_memory_that_ends_too_early_is_the_same_fault(run_all, config, kind, seeds):
    """A truncated region gives the same fault in the fast and plain models."""
    faults = 0
    for seed in seeds:
        operation = make(kind, seed, config)
        cut = seed % 4
        operation.regions[cut] = operation.regions[cut][: 1 << seed % 11]
        faults += run_all(operation)[0] is Outcome.BUS_ERROR
    assert faults > len(seeds) // 5


@dataclass(frozen=True)
class Step:
    """The differences of a run from others."""

    stream: bytes
    regions: list[bytes] | None = None
    prepare: Callable[[Hardware], object] = lambda _device: None
    shift: int = 0  # of the IFM's base
    ports: int = 0x5555


COUNTED = (0x30, 0x40, 0x50, 0x82)  # MAC_ACTIVE, AO_ACTIVE, WD_ACTIVE, beats read at port 0


def run_steps(config, regions, steps):
    """Run each step twice on the same NPU; returns everything observable."""
    seen = []
    page = 0x1000 * ("u85" in config)
    with Hardware(config) as device:
        stream = device.add(max(len(step.stream) for step in steps), writable=False)
        memories = [device.add(content) for content in regions]
        operations: list[Operation] = []
        device.observe(operations.append)
        for step in (step for step in steps for _ in range(2)):
            for memory, content in zip(memories, step.regions or regions, strict=True):
                memory.data[:] = np.frombuffer(content, np.uint8)
            stream.data[: len(step.stream)] = np.frombuffer(step.stream, np.uint8)
            step.prepare(device)
            device.write(page + Register.PMCR, 7)
            device.write(page + Register.PMCNTENSET, 0xF)
            for index, event in enumerate(COUNTED):
                device.write(page + Register.PMEVTYPER + 4 * index, event)
            used = replace(stream, data=stream.data[: len(step.stream)])
            bases = [memory.address for memory in memories]
            device.start(used, [bases[0] + step.shift, *bases[1:]], step.ports)
            outcome = device.execute()
            counters = [device.read(page + Register.PMEVCNTR + 4 * i) for i in range(len(COUNTED))]
            contents = [memory.data.tobytes() for memory in memories]
            status = device.read(Register.STATUS)
            seen.append((outcome, status, device.cycles, counters, [*operations], [*device.log]))
            seen.append(contents)
            operations.clear()
            device.log.clear()
            if outcome is not Outcome.STOPPED:
                device.reset()
    return seen


@pytest.fixture
def run_sequence(fast_libraries, plain_library, monkeypatch):
    """Run steps on each fast and the plain model, which must be equal; returns outcomes."""

    def run(config, regions, *steps):
        results = []
        for library in (plain_library, *fast_libraries.values()):
            monkeypatch.setenv("ETHOSU_NPU_LIBRARY", str(library))
            results.append(run_steps(config, regions, steps))
        for found in results[1:]:
            for number, (one, other) in enumerate(zip(found, results[0], strict=True)):
                assert one == other, f"run {number // 2}"
        return [run[0] for run in results[0][::4]]

    return run


@each_seeds
@pytest.mark.parametrize(("config", "kind"), OPERATIONS)
def test_an_operation_is_what_its_registers_say_now(run_sequence, config, kind, seeds):
    """Changes of a register or of data take effect, although decoded operations are cached."""
    for seed in seeds[::3]:
        random = np.random.default_rng(seed)
        first, other = make(kind, seed, config), make(kind, seed + 60, config)
        data = [random.bytes(len(first.regions[0])), *first.regions[1:]]
        steps = [Step(first.stream), Step(damage(config, first.stream, random))]
        steps += [Step(first.stream, data), Step(first.stream)]
        assert run_sequence(config, first.regions, *steps)[0] is Outcome.STOPPED
        if len(other.stream) == len(first.stream):
            run_sequence(config, first.regions, Step(first.stream), Step(other.stream))


def test_an_operation_is_as_fast_as_memories_and_ports_are_now(run_sequence):
    operation = make("CONV", 1)
    slow = {"millibytes": 100, "burst": 64, "read_latency": 99, "write_latency": 99}
    fast = {"millibytes": 8000, "burst": 1}

    def remember(*memories):
        return lambda device: device.set_memories(memories)

    def at_ifm(device):
        """Return a slow memory that has only the first byte of the IFM's region."""
        place = {"start": device.memories[1].address, "size": 1}
        assert device.set_memories([fast, slow | place])

    outcomes = run_sequence(
        operation.config,
        operation.regions,
        Step(operation.stream),
        Step(operation.stream, prepare=remember(fast)),
        Step(operation.stream, prepare=remember(slow)),
        Step(operation.stream, prepare=at_ifm),
        Step(operation.stream, prepare=lambda device: device.set_adapter(0, 100, 50, 50)),
        Step(operation.stream, ports=0x5557),
        Step(operation.stream, shift=16),
    )
    assert set(outcomes) == {Outcome.STOPPED}


def test_a_kept_operation_is_that_of_its_command(run_sequence):
    """A cached operation is not used for another command with the same registers."""
    steps = [
        Step(Stream(CONFIG).defaults().op(name, 0).stop())
        for name in ("POOL", "ELEMENTWISE", "POOL")
    ]
    regions = [np.random.default_rng(1).bytes(256) for _ in range(5)]
    assert set(run_sequence(CONFIG, regions, *steps)) == {Outcome.STOPPED}


def test_a_kept_operation_needs_its_registers_after_a_reset(run_sequence):
    """After a reset, a cached operation is not used: unset registers differ from 0."""
    others = {name: value for name, value in U85_DEFAULTS.items() if name != "OFM_ZERO_POINT"}

    def stream(last):
        return Stream(u85.CONFIG).set(**others).set(**{last: 0}).op("POOL", 0).stop()

    complete = Step(stream("OFM_ZERO_POINT"))
    unset = Step(stream("IFM_ZERO_POINT"), prepare=Hardware.reset)
    outcomes = run_sequence(u85.CONFIG, [bytes(256)] * 5, complete, unset, complete)
    assert outcomes == [Outcome.STOPPED, Outcome.PARSE_ERROR, Outcome.STOPPED]


def test_a_kept_operation_needs_its_table_after_a_reset(run_sequence):
    """A cached operation is not used after a reset if the copy went into another table."""

    def stream(slot):
        copy = Stream(CONFIG).defaults(ACTIVATION=17, OFM_PRECISION=0x100, IFM_PRECISION=0)
        copy.set(ACTIVATION_MIN=0, ACTIVATION_MAX=255, DMA0_SRC_REGION=4, DMA0_DST_REGION=0x100)
        copy.set(DMA0_LEN=256, DMA0_DST=0x5800 + 256 * slot).op("DMA_START")
        return copy.set(DMA0_DST=0).op("POOL", 0).stop()

    steps = [Step(stream(slot), prepare=Hardware.reset) for slot in (1, 2, 1)]
    outcomes = run_sequence(CONFIG, [bytes(256)] * 5, *steps)
    assert outcomes == [Outcome.STOPPED, Outcome.PARSE_ERROR, Outcome.STOPPED]


def test_a_kept_operation_needs_its_accumulators(run_sequence):
    """A cached operation is not used if the previous one left other accumulators, or none."""
    leave, keep = 0x340, 0x310

    def stream(left, width):
        first = {"OFM_WIDTH_M1": width, "IFM_WIDTH0_M1": width, "ACC_FORMAT": left}
        both = Stream(u85.CONFIG).defaults(**first).op("POOL", 1)
        both.set(OFM_WIDTH_M1=15, IFM_WIDTH0_M1=15, ACC_FORMAT=keep)
        return both.op("POOL", 1).stop()

    steps = Step(stream(leave, 15)), Step(stream(leave, 14)), Step(stream(0x300, 15))
    outcomes = run_sequence(u85.CONFIG, [bytes(256)] * 5, *steps)
    assert outcomes == [Outcome.STOPPED, Outcome.PARSE_ERROR, Outcome.PARSE_ERROR]


def test_a_kept_operation_needs_its_chaining_buffer(run_sequence):
    """A cached operation is not used if the previous one did not write the chaining buffer."""
    chained, stored = 0x8101, 0x101

    def stream(first):
        made = Stream(u85.CONFIG).defaults(OFM_PRECISION=first, OFM_REGION=0).op("POOL", 1)
        made.set(OFM_PRECISION=stored, OFM_REGION=1, IFM_PRECISION=0x8001, IFM_REGION=0)
        return made.op("POOL", 1).stop()

    steps = Step(stream(chained)), Step(stream(stored)), Step(stream(chained))
    outcomes = run_sequence(u85.CONFIG, [bytes(256)] * 5, *steps)
    assert outcomes == [Outcome.STOPPED, Outcome.PARSE_ERROR, Outcome.STOPPED]


def test_more_operations_than_are_kept(run_sequence):
    """More operations than the cache holds are right, in one stream and in two."""

    def stream(first):
        made = Stream(CONFIG).defaults()
        for i in range(1100):
            made.set(OFM_BASE0=16 * i, OFM_ZERO_POINT=(first + i) % 200).op("POOL", 0)
        return made.stop()

    regions = [np.random.default_rng(1).bytes(1100 * 16 + 256) for _ in range(5)]
    outcomes = run_sequence(CONFIG, regions, *(Step(stream(first)) for first in (0, 7, 0)))
    assert set(outcomes) == {Outcome.STOPPED}


def test_a_kept_branch_is_checked_against_this_stream(run_sequence):
    def stream(target):
        return Stream(u85.CONFIG).op("BRANCH", 0, target).stop()

    steps = Step(stream(8)), Step(stream(0x1000)), Step(stream(8)), Step(stream(8)[:8])
    outcomes = run_sequence(u85.CONFIG, [bytes(16)], *steps)
    fault = Outcome.BRANCH_FAULT
    assert outcomes == [Outcome.STOPPED, fault, Outcome.STOPPED, fault]


def of_one_pixel(operation):
    """Return the operation with an OFM of one pixel, and the same weights."""
    settings = Stream(operation.config).set(OFM_WIDTH_M1=0, OFM_HEIGHT_M1=0).bytes()
    return operation.stream[:-8] + settings + operation.stream[-8:]


@pytest.mark.parametrize("config", [CONFIG, u85.CONFIG])
def test_one_pixel_and_many_share_weights(run_sequence, config):
    """Weights for one pixel, packed as bytes, and for many share a stream without confusion."""
    outcomes = []
    for seed in SEEDS:
        operation = make("CONV", seed, config)
        one, many = Step(of_one_pixel(operation)), Step(operation.stream)
        outcomes += run_sequence(config, operation.regions, one, many, one)
    assert outcomes.count(Outcome.STOPPED) > len(outcomes) // 2


def kernels(library):
    """Return the kernels for this machine, by name."""
    ffi, functions = internal("arithmetic/dot.h", library)
    table = functions.npu_dot_kernels[0 : functions.npu_dot_kernel_count]
    return {ffi.string(each.name).decode(): each.run for each in table if each.supported()}


def dot(kernel, rows, pairs, weights, *sizes):
    """Run a kernel for runs of this many pairs, of pixels or of one pixel's bricks."""
    ffi, _ = internal("arithmetic/dot.h")
    runs = [(ffi.from_buffer("int16_t[]", row), n) for row, n in zip(rows, pairs, strict=True)]
    given = ffi.from_buffer(f"{weights.dtype}_t[]", weights)
    sums = np.full((sizes[-1], LANES), 0x55555555, np.int32)
    end = ffi.from_buffer("int32_t[]", sums)
    kernel(ffi.new("struct npu_dot_run[]", runs), len(runs), *sizes[:-1], given, sizes[-1], end)
    return sums


@pytest.mark.parametrize("pixels", range(1, 20))
def test_every_kernel_of_this_machine_sums_exactly(fast_libraries, pixels):
    random = np.random.default_rng(pixels)
    pairs = random.integers(1, 40, random.integers(1, 5))
    runs = [random.integers(-510, 511, (pixels, 2 * n), np.int16) for n in pairs]
    weights = random.integers(-255, 256, (sum(pairs), LANES, 2), np.int16)
    flat = weights.astype(np.int64).transpose(0, 2, 1).reshape(-1, LANES)
    step = 3 + 2 * max(pairs)
    rows = np.zeros((len(runs), pixels, step), np.int16)
    for row, run in zip(rows, runs, strict=True):
        row[:, : run.shape[1]] = run
    for library in fast_libraries.values():
        table = kernels(library)
        assert [*table][-1] == "portable", "always there"
        for name, kernel in table.items():
            sums = dot(kernel, rows, pairs, weights, step, pixels)
            assert np.array_equal(sums, np.concatenate(runs, axis=1).astype(np.int64) @ flat), name


@pytest.mark.parametrize("bricks", range(1, 6))
def test_bricks_of_one_pixel_are_summed_exactly(fast_libraries, bricks):
    random = np.random.default_rng(bricks)
    pairs = random.integers(1, 40, random.integers(1, 5))
    inputs = [random.integers(-510, 511, 2 * n, np.int16) for n in pairs]
    weights = random.integers(-128, 128, (bricks, sum(pairs), LANES, 2), np.int8)
    flat = weights.astype(np.int64).transpose(0, 2, 1, 3).reshape(bricks, LANES, -1)
    for name, library in fast_libraries.items():
        kernel = internal("arithmetic/dot.h", library)[1].npu_dot_bytes()
        assert bool(kernel) == ("avx2" in kernels(library)), name
        if kernel:
            sums = dot(kernel, inputs, pairs, weights, bricks)
            assert np.array_equal(sums, flat @ np.concatenate(inputs).astype(np.int64)), name


def quads(random, *shape):
    """Inputs or weights of 8 bits, of which every other one is as large as it can be."""
    numbers = random.integers(0, 256, shape)
    return np.where(random.integers(0, 2, shape), numbers, random.choice([0, 255, 128], shape))


@pytest.mark.parametrize("pixels", range(1, 20))
def test_products_of_bytes_are_summed_exactly(fast_libraries, pixels):
    """Of a convolution's bricks, and of the taps of a depthwise one."""
    random = np.random.default_rng(pixels)
    bricks, inputs = int(random.integers(1, 8)), int(random.integers(1, 150))
    count = (inputs + 3) // 4
    rows = quads(random, pixels, 4 * count).astype(np.uint8)
    taps = quads(random, inputs, pixels, LANES).astype(np.uint8)
    weights = quads(random, bricks, 4 * count, LANES).astype(np.uint8).view(np.int8)
    weights[:, inputs:] = 0
    start = random.integers(-(1 << 31), 1 << 31, (bricks, 1, LANES)).astype(np.int32)
    packed = weights.reshape(bricks, count, 4, LANES).transpose(0, 1, 3, 2).reshape(bricks, -1)
    packed = np.concatenate([start.view(np.int8).reshape(bricks, -1), packed], axis=1)
    sums, ran = np.zeros((bricks, pixels, LANES), np.int32), False
    for name, library in fast_libraries.items():
        ffi, functions = internal("arithmetic/dot.h", library)
        ends = ffi.from_buffer("int8_t[]", packed), ffi.from_buffer("int32_t[]", sums)
        dense, depthwise = functions.npu_dot_quads(), functions.npu_dot_depthwise_quads()
        assert bool(dense) == bool(depthwise) == ("avx512vnni" in kernels(library)), name
        if not dense:
            continue
        ran = True
        run = ffi.new("struct npu_dot_quads_run *", (ffi.from_buffer("uint8_t[]", rows), count))
        dense(run, 1, 4 * count, ends[0], packed.shape[1], bricks, pixels, ends[1])
        expected = start + rows.astype(np.int64) @ weights
        assert np.array_equal(sums, expected.astype(np.int32)), name
        each = [ffi.from_buffer("uint8_t[]", tap) for tap in taps]
        depthwise(each, inputs, 0, LANES, ends[0], pixels, ends[1])
        expected = start[0] + np.einsum("tpl,tl->pl", taps.astype(np.int64), weights[0, :inputs])
        assert np.array_equal(sums[0], expected.astype(np.int32)), name
    if not ran:
        pytest.skip("THIS PROCESSOR MULTIPLIES NO BYTES IN FOURS: it lacks AVX-512 VNNI")


def test_the_plain_model_has_no_other_kernel(plain_library):
    assert [*kernels(plain_library)] == ["portable"]
