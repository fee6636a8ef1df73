# SPDX-License-Identifier: MIT
"""Tests the verifier with hand-written streams and with Vela's output.

host_tests/conformance/campaigns mutates the latter.
"""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools.model import read_stream
from ethosu_tools.model.tflite import describe

from host_tests.kit import sharing
from host_tests.modules.ethosu.driver import cbuild
from host_tests.modules.ethosu.driver.streams import Call, npu_calls
from host_tests.modules.ethosu.driver.verify import stream_table
from host_tests.tools.npu_sim.assembler import (
    CONFIGS,
    DEFAULTS,
    U85_DEFAULTS,
    Stream,
    execute,
)

VENDOR_MODELS = cbuild.REPO.parent / "shared/models/vendor_vela"
MODELS = ("hello_world_int8", "kws_ref_model", "ad01_int8", "pretrainedResnet_quant")


TESTS, BLOCKS = stream_table.read_table()


@pytest.fixture(scope="module")
def verifier(tmp_path_factory) -> Iterator[stream_table.Verifier]:
    """Build the verifier as a separate program, under ASan and UBSan."""
    sharing.make("tools/npu_sim", "shared")
    program = tmp_path_factory.mktemp("verdict") / "verdict"
    sources = ["verify/verdict.c", "c/standalone_board.c"]
    verifier = stream_table.Verifier(cbuild.link(program, "address", sources, cbuild.DRIVER))
    yield verifier
    verifier.close()


@pytest.mark.parametrize("name", TESTS)
def test_streams_made_by_hand(verifier, name) -> None:
    """Each stream of verify.txt gets the verdict given on its line."""
    for config in TESTS[name].configs:
        run = stream_table.Run(verifier, BLOCKS, config)
        run.lines(TESTS[name].lines)
        assert run.verdicts


# MUL, ADD, MIN, LRELU, ABS and SHR cover each way of scaling.
ELEMENTWISE_MODES = (0, 1, 3, 5, 6, 8)
# The simulator requires these even where one tile of NHWC leaves them unused.
NOT_USED = ("BASE1", "BASE2", "BASE3", "STRIDE_C")
# Registers of accesses that the verifier checks, though the NPU may not make them.
BOUNDED = {"SCALE_REGION", "SCALE_BASE", "SCALE_LENGTH", "PARALLEL_MODE"}
ALIGNED = {f"{kind}_STRIDE_{axis}": 16 for kind in ("IFM", "IFM2", "OFM") for axis in "XYC"}


def operations(npu: str) -> Iterator[tuple[str, int, dict[str, int]]]:
    """Return operations, their parameters, and registers that decide what they read."""
    for name in ("CONV", "DEPTHWISE"):
        yield name, 0, {"OFM_PRECISION": 1}
    for mode, padded, scaled in itertools.product(range(3), (0, 1), (1, 0x101)):
        yield (
            "POOL",
            mode,
            {"OFM_PRECISION": scaled, "IFM_PAD_TOP": padded, "KERNEL_HEIGHT_M1": padded},
        )
    for mode in ELEMENTWISE_MODES:
        yield "ELEMENTWISE", mode, {"IFM_PRECISION": 9, "IFM2_PRECISION": 9, **ALIGNED}
    yield "DMA_START", 0, {}
    if "u85" not in npu:
        yield "ELEMENTWISE", 1, {"IFM2_BROADCAST": 0x80}
        yield "ELEMENTWISE", 1, {"IFM_PRECISION": 0x101}
        return
    number = {"IFM2_BROADCAST": 8, "IFM2_PRECISION": 0xC009}
    yield "ELEMENTWISE", 1, {"IFM_PRECISION": 9, **ALIGNED, **number}
    yield "CONV", 1, {}
    yield "CONV", 0, {"ACC_FORMAT": 0x320, "IFM2_PRECISION": 9, **ALIGNED}
    yield "RESIZE", 0, {"RESIZE_X_STEP": 0, "RESIZE_Y_STEP": 0}
    for mode in (3, 5):
        yield "POOL", mode, {}


@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u65-512", "ethos-u85-256"])
def test_verifier_and_npu_need_the_same_registers(verifier, npu) -> None:
    """The verifier requires each register that an operation uses, or another job's value counts."""
    defaults = DEFAULTS | {"PARALLEL_MODE": 0} if "u65" in npu else DEFAULTS
    if "u85" in npu:
        resizing = (f"RESIZE_{axis}_{what}" for axis in "XY" for what in ("SCALE_N_M1", "OFFSET"))
        defaults = U85_DEFAULTS | dict.fromkeys((*resizing, "RESIZE_X_STEP", "RESIZE_Y_STEP"), 0)
    for name, param, registers in operations(npu):
        complete = defaults | registers
        needed = {"the verifier": set(), "the NPU": set()}
        for left_out in complete:
            kept = {key: value for key, value in complete.items() if key != left_out}
            stream = Stream(npu).set(**kept).op(name, param)
            verdict = verifier.ask(CONFIGS[npu], [4096] * 4, [*stream.words, 0])
            done = execute(npu, stream.stop(), [bytes(4096)] * 4)
            if f"needs NPU_SET_{left_out}, which this job never set" in "".join(done.log):
                needed["the NPU"].add(left_out)
            if verdict.name == "COMMAND_UNSET":
                needed["the verifier"].add(left_out)
        needed["the NPU"] -= {key for key in complete if key.endswith(NOT_USED)}
        assert needed["the NPU"] <= needed["the verifier"], (name, param, registers)
        assert needed["the verifier"] - needed["the NPU"] <= BOUNDED, (name, param, registers)
        assert len(needed["the NPU"]) >= 5, (name, param, registers)


def verify(verifier: stream_table.Verifier, call: Call, npu: str, sizes: list[int]) -> str:
    """Verify a call's stream; returns the driver's error message, or ""."""
    assert read_stream(call.payload)[0] == npu
    words = np.frombuffer(call.stream, np.uint32).tolist()
    verdict = verifier.ask(CONFIGS[npu], sizes, words)
    return "" if verdict.name == "ok" else verdict.message


def check_accepted(verifier: stream_table.Verifier, path: Path, npu: str) -> None:
    """Check that a model's streams are accepted, and rejected if a region is missing."""
    calls = npu_calls(path)
    assert calls
    for call in calls:
        assert verify(verifier, call, npu, call.sizes) == ""
        for region in range(2):
            sizes = [0 if index == region else size for index, size in enumerate(call.sizes)]
            refusal = f"of region {region}, which has 0 bytes"
            assert refusal in verify(verifier, call, npu, sizes)


@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u65-512", "ethos-u85-256"])
def test_small_models_are_accepted(verifier, compiled, small_models, npu) -> None:
    """The verifier accepts Vela's output for the project's own models."""
    for path in small_models.values():
        check_accepted(verifier, compiled(path, npu), npu)


@pytest.mark.slow
@pytest.mark.parametrize("npu", CONFIGS)
@pytest.mark.parametrize("model", [*MODELS, "vww_96_int8", "trained_lstm_int8"])
def test_real_models_are_accepted(verifier, compiled, shared_models, model, npu) -> None:
    """The verifier accepts Vela's output for real models, for every config."""
    check_accepted(verifier, compiled(shared_models / f"{model}.tflite", npu), npu)


def test_files_that_vendors_publish_are_accepted(verifier) -> None:
    """The verifier accepts vendors' compiled models, by several releases of Vela."""
    folder = Path(os.environ.get("ETHOSU_VENDOR_MODELS") or VENDOR_MODELS)
    if not folder.is_dir():
        pytest.skip(f"NO FILES OF VENDORS: {folder} is missing; ETHOSU_VENDOR_MODELS names another")
    files = sorted(folder.rglob("*.tflite"))
    assert files, folder
    for path in files:
        npu = str(describe(path).npu)
        refusals = [verify(verifier, call, npu, call.sizes) for call in npu_calls(path)]
        assert refusals and not any(refusals), path.name
