# SPDX-License-Identifier: MIT
"""The verifier with handmade streams, and with Vela's own output.

host_tests/campaigns mutates the latter.
"""

import ctypes
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ethosu_tools.tflite import describe

from host_tests.kit import sharing
from host_tests.modules.ethosu.driver import cbuild, stream_table
from host_tests.modules.ethosu.driver.streams import Call, npu_calls
from host_tests.tools.npu_sim.assembler import CONFIGS

VENDOR_MODELS = cbuild.REPO.parent / "shared/models/vendor_vela"
MODELS = ("hello_world_int8", "kws_ref_model", "ad01_int8", "pretrainedResnet_quant")


class Payload(ctypes.Structure):
    """struct ethosu_ext_payload."""

    _fields_ = (
        ("stream", ctypes.c_void_p),
        ("stream_bytes", ctypes.c_uint32),
        ("has_config", ctypes.c_bool),
        ("config", ctypes.c_uint32),
        ("id", ctypes.c_uint32),
        ("fast_scratch", ctypes.c_uint32),
    )


class Fault(ctypes.Structure):
    """struct ethosu_ext_fault."""

    _fields_ = (
        ("code", ctypes.c_int),
        ("index", ctypes.c_int),
        ("found", ctypes.c_uint64),
        ("expected", ctypes.c_uint64),
        ("detail", ctypes.c_uint32),
        ("status", ctypes.c_uint32),
        ("qread", ctypes.c_uint32),
    )


TESTS, BLOCKS = stream_table.read_table()


@pytest.fixture(scope="module")
def verifier(tmp_path_factory) -> Iterator[stream_table.Verifier]:
    """The verifier as a separate program, under ASan and UBSan."""
    sharing.make("tools/npu_sim", "shared")
    program = tmp_path_factory.mktemp("verdict") / "verdict"
    sources = ["verdict.c", "standalone_board.c"]
    verifier = stream_table.Verifier(cbuild.link(program, "address", sources, cbuild.DRIVER))
    yield verifier
    verifier.close()


@pytest.mark.parametrize(
    ("name", "config"), [(name, config) for name in TESTS for config in TESTS[name].configs]
)
def test_streams_made_by_hand(verifier, name, config) -> None:
    """Each stream of verify.txt gets the verdict given on its line."""
    run = stream_table.Run(verifier, BLOCKS, config)
    run.lines(TESTS[name].lines)
    assert run.verdicts


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    """The driver in this process."""
    return ctypes.CDLL(str(cbuild.shared_library()))


def verify(library: ctypes.CDLL, call: Call, config: int, sizes: list[int]) -> str:
    """Empty if the call's stream is accepted, else the driver's error message."""
    payload, fault = Payload(), Fault()
    text = ctypes.create_string_buffer(200)
    memory = ctypes.create_string_buffer(call.payload, len(call.payload))
    array = (ctypes.c_size_t * len(sizes))(*sizes)
    error = library.ethosu_ext_parse_payload(
        memory, ctypes.c_size_t(len(call.payload)), ctypes.byref(payload), ctypes.byref(fault)
    )
    if error == 0:
        assert payload.config == config
        error = library.ethosu_ext_verify(
            ctypes.c_void_p(payload.stream),
            ctypes.c_size_t(payload.stream_bytes),
            ctypes.c_uint32(config),
            array,
            len(sizes),
            None,
            ctypes.byref(fault),
        )
    if error == 0:
        return ""
    library.ethosu_ext_describe(ctypes.byref(fault), text, ctypes.c_size_t(len(text)))
    return text.value.decode()


def check_accepted(library: ctypes.CDLL, path: Path, npu: str) -> None:
    """Every stream of a model is accepted, and rejected if one of its regions is missing."""
    calls = npu_calls(path)
    assert calls
    for call in calls:
        assert verify(library, call, CONFIGS[npu], call.sizes) == ""
        for region in range(2):
            sizes = [0 if index == region else size for index, size in enumerate(call.sizes)]
            refusal = f"of region {region}, which has 0 bytes"
            assert refusal in verify(library, call, CONFIGS[npu], sizes)


@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u65-512", "ethos-u85-256"])
def test_small_models_are_accepted(library, compiled, small_models, npu) -> None:
    """Vela's output for the project's own models is accepted."""
    for path in small_models.values():
        check_accepted(library, compiled(path, npu), npu)


@pytest.mark.slow
@pytest.mark.parametrize("npu", CONFIGS)
@pytest.mark.parametrize("model", [*MODELS, "vww_96_int8", "trained_lstm_int8"])
def test_real_models_are_accepted(library, compiled, shared_models, model, npu) -> None:
    """Vela's output for real models is accepted, for every config."""
    check_accepted(library, compiled(shared_models / f"{model}.tflite", npu), npu)


@pytest.mark.parametrize("form", ["COP1", "COP2"])
@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u85-256"])
def test_both_payload_forms_are_read(library, small_models, tmp_path, npu, form) -> None:
    """COP1 and COP2 give the same stream length and config."""
    source = small_models["small_cnn"]
    options = ["--accelerator-config", npu, "--cop-format", form, "--output-dir", tmp_path]
    cbuild.run([Path(sys.executable).with_name("vela"), source, *options])
    (call,) = npu_calls(tmp_path / "small_cnn_vela.tflite")
    assert call.payload[:4] == form.encode()
    assert verify(library, call, CONFIGS[npu], call.sizes) == ""


def test_files_that_vendors_publish_are_accepted(library) -> None:
    """Compiled models from Himax, Nuvoton and others, by several releases of Vela."""
    folder = Path(os.environ.get("ETHOSU_VENDOR_MODELS") or VENDOR_MODELS)
    if not folder.is_dir():
        pytest.skip(f"NO FILES OF VENDORS: {folder} is missing; ETHOSU_VENDOR_MODELS names another")
    files = sorted(folder.rglob("*.tflite"))
    assert files, folder
    for path in files:
        config = CONFIGS[str(describe(path).npu)]
        refusals = [verify(library, call, config, call.sizes) for call in npu_calls(path)]
        assert refusals and not any(refusals), path.name
