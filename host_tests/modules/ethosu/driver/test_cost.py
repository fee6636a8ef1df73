# SPDX-License-Identifier: MIT
"""Stock QEMU counts the driver's cost in Cortex-M55 instructions."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from host_tests.kit import sharing
from host_tests.modules.ethosu.driver import cbuild
from host_tests.modules.ethosu.driver.streams import Call, commands, npu_calls

TARGET = Path(__file__).parent / "target"
DRIVER = cbuild.REPO / "modules/ethosu/driver"

# One inference of a prepared program: start, interrupt handler, wait.
INFERENCE_MAX = 275
# One inference of a client that reserves, invokes and releases, as Arm's does, for each family with
# the stream in constant memory; the same with fast memory passed to ethosu_init(); and the checksum
# cost per word in other memory.
CLIENT_MAX = {"ethos-u55-128": 484, "ethos-u65-256": 492, "ethos-u85-256": 492}
FAST_MEMORY_MAX = 15
CHECKSUM_PER_WORD_MAX = 0.84
# Without a memory table, the cache's hook gets each base pointer and the stream.
CLEAN_MAX = 80
VERIFY_PER_WORD_MAX = 30
# The cost as a part per word and a part per operation.
WORD_MAX, OPERATION_MAX = 15, 350
# A hostile stream in which each word is an operation.
VERIFY_PER_OPERATION_MAX = 270
OPERATIONS = {"CONV": 2, "DEPTHWISE": 3, "POOL": 5, "ELEMENTWISE": 6, "DMA_START": 16}


def model_header(call: Call) -> str:
    """Write the header of target/cost.c: payload and sizes, three bases as passed by TFLM."""
    words = ", ".join(f"0x{word:X}u" for word in np.frombuffer(call.payload, np.uint32))
    sizes = ", ".join(str(size) for size in call.sizes[:3])
    return f"#define COST_PAYLOAD {words}\n#define COST_SIZES {sizes}\n"


@pytest.fixture(scope="module")
def call_of(compiled, small_models) -> Callable[..., Call]:
    """Return Vela's payload of small_cnn, which has operations of each kind."""

    def compile_one(npu: str = "ethos-u55-128", model: str = "small_cnn") -> Call:
        (call,) = npu_calls(compiled(small_models[model], npu))
        return call

    return compile_one


@pytest.fixture(scope="module", params=CLIENT_MAX)
def family_costs(request, call_of) -> tuple[str, dict[str, int]]:
    """Return a config of each family, and the output lines of target/cost.c for it."""
    return request.param, client_costs(call_of(request.param))


@pytest.fixture(scope="module")
def costs(call_of) -> dict[str, int]:
    """Return the output lines of target/cost.c."""
    return client_costs(call_of())


def count(call: Call, source: str, parts: list[str | Path]) -> dict[str, int]:
    """Return the output lines of a program in target/, linked with the code it measures."""
    folder = sharing.folder_with("cost_model.h", model_header(call))
    script = ["-nostartfiles", "-specs=nano.specs", "-Wl,--gc-sections", "-T", TARGET / "cost.ld"]
    command = [*cbuild.CORTEX_M55, f"-I{folder}", *script, TARGET / source, *parts, "-o"]
    program = sharing.program("cost.elf", command)
    return cbuild.numbers(program, "-icount", "shift=0")


def client_costs(call: Call, *flags: str) -> dict[str, int]:
    """Return the output lines of target/cost.c for a driver built with these flags."""
    paths = [f"-I{DRIVER.parent}", f"-I{DRIVER / 'include'}"]
    objects = cbuild.target_objects(("driver/*",), *flags)
    return count(call, "cost.c", ["-Wall", "-Wextra", "-Werror", *paths, *objects])


def test_an_inference_costs_few_instructions(costs, capsys) -> None:
    """An inference takes few instructions in the driver, including the reset at power-up."""
    with capsys.disabled():
        print(f"\ndriver, instructions on Cortex-M55 at -O2: {costs}")
    assert costs["failed"] == 0
    assert costs["inference_power_kept"] < costs["inference"] <= INFERENCE_MAX


def test_a_client_of_arms_interface_pays_for_verifying_once(family_costs, capsys) -> None:
    """A client that reserves, invokes, releases verifies a model only once, in any memory."""
    npu, costs = family_costs
    with capsys.disabled():
        print(f"\n{npu}, a client of Arm's interface: {costs}")
    assert costs["client_constant"] <= CLIENT_MAX[npu]
    assert costs["client_promised"] <= CLIENT_MAX[npu]  # writable memory, unchanged payload
    assert costs["client_fast_memory"] <= costs["client_constant"] + FAST_MEMORY_MAX
    checksum = costs["client_elsewhere"] - costs["client_constant"]
    assert checksum <= CHECKSUM_PER_WORD_MAX * costs["words"]
    assert costs["client_constant"] <= costs["client_unverified"] + 5


def test_a_build_may_promise_that_payloads_are_constant(call_of) -> None:
    """A build option replaces ethosu_ext_set_constant_payloads(), which some clients can't call."""
    costs = client_costs(call_of(), "-DETHOSU_CONSTANT_PAYLOADS=1")
    assert costs["client"] <= CLIENT_MAX["ethos-u55-128"] + CLEAN_MAX


def test_a_changed_word_is_detected(costs) -> None:
    """The checksum detects a changed word, so the payload is verified again."""
    assert 10 < costs["changes_refused"] <= costs["changes"]
    assert costs["changes_unseen"] == 0


def test_verifying_costs_few_instructions_per_word(family_costs) -> None:
    """The verifier takes few instructions per word, in linear time."""
    _, costs = family_costs
    assert costs["verify_per_word_x10"] <= 10 * VERIFY_PER_WORD_MAX


@pytest.mark.parametrize("npu", CLIENT_MAX)
def test_verifying_costs_a_part_per_word_and_a_part_per_operation(call_of, npu) -> None:
    """Verifying costs a part per word and a part per operation, as a short stream shows."""
    call = call_of(npu, "small_streaming")
    costs = client_costs(call)
    operations = sum(each.code in OPERATIONS.values() for each in commands(call.stream))
    limit = WORD_MAX * costs["words"] + OPERATION_MAX * operations
    assert costs["verify_per_word_x10"] * costs["words"] <= 10 * limit


# Each operation runs on one NPU, and each NPU runs one or two; other pairs are marked slow.
QUICK = [*zip(itertools.cycle(CLIENT_MAX), OPERATIONS, strict=False)]


@pytest.mark.parametrize(
    ("npu", "name"),
    [
        pytest.param(*pair, marks=[] if pair in QUICK else pytest.mark.slow)
        for pair in itertools.product(CLIENT_MAX, OPERATIONS)
    ],
)
def test_a_stream_of_operations_alone_is_verified_in_bounded_time(call_of, npu, name) -> None:
    """The verifier does not check for stop requests, so its time must be bounded."""
    call = call_of(npu)
    stream = call.stream
    at = next(each.offset for each in commands(stream) if each.code == OPERATIONS[name])
    payload = call.with_stream(stream[:at] + 2_000 * stream[at : at + 4] + stream[at:])
    found = client_costs(replace(call, payload=payload))["verify_per_word_x10"]
    assert found <= 10 * VERIFY_PER_OPERATION_MAX
