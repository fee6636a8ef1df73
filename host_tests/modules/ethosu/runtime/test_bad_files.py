# SPDX-License-Identifier: MIT
"""Damaged files never make the runtime access memory outside its own (ASan, UBSan)."""

import re
import struct

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ethosu_tools.base.errors import InputError
from ethosu_tools.compile.plan import record
from ethosu_tools.model.tflite import OFFSETS_NAME, metadata
from ethosu_tools.model.tflite.merged import tree_of
from ethosu_tools.model.tflite.writer import Graph, packed, write
from ethosu_tools.sim.simulation import Simulation

from host_tests.modules.ethosu.runtime import hostile, long_runs
from host_tests.modules.ethosu.runtime.kernels import cases, cases_weighted, maker, plan_writer  # noqa: F401

# Start of a COP1 payload, up to its stream: magic, config and id, padding, stream header.
COP1_HEADER = 32


def test_sound_file_is_accepted(damage, compiled, small_models):
    for model in small_models.values():
        assert damage("load", compiled(model)).startswith("0 ")


@pytest.mark.parametrize("width", [64, 32])
def test_what_the_campaigns_found_stays_repaired(repo, damage, width):
    found = sorted((repo / "host_tests/conformance/campaigns/found").iterdir())
    assert found
    damage.each({path.name: path.read_bytes() for path in found}, width)


@pytest.mark.parametrize("name", ["small_cnn", "small_streaming"])
def test_cut_at_every_byte(damage, compiled, small_models, name):
    path = compiled(small_models[name])
    words = damage("cut", path).split()
    # Vela pads a file to 16 bytes; only that padding may be missing.
    assert int(words[0]) == path.stat().st_size
    assert int(words[2]) < 16


@pytest.mark.slow
@pytest.mark.parametrize("name", ["small_cnn", "small_streaming"])
def test_every_byte_corrupted(damage, compiled, small_models, name):
    words = damage("set", compiled(small_models[name])).split()
    assert int(words[2]) < int(words[0])


@pytest.mark.parametrize("name", ["small_streaming"])
def test_every_number_corrupted(damage, compiled, small_models, name):
    """A file with any number of 32 bits changed, such as an offset or a size, does no harm."""
    path = compiled(small_models[name])
    words = damage("words", path).split()
    assert int(words[2]) < int(words[0]) == 6 * (path.stat().st_size // 4)


# In each of these, a number that changed after it was read had made the runtime access memory
# outside its own. The larger sweep covers all others.
CHANGING = {"SPACE_TO_DEPTH", "DETECTION_POSTPROCESS"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in CHANGING else pytest.mark.slow)
        for name in maker.GENERATORS
    ],
)
def test_a_file_that_changes_while_it_is_used_stays_in_its_memory(damage, name):
    """A number that a callback changes before it is read again must not cause a bad access."""
    content = plan_writer.add_plan(maker.make(name, 0).model)
    assert int(damage("change", content).split()[0]) > 300


@pytest.mark.parametrize("zero_point", [-(2**31), 2**31 - 1, 2**40])
def test_zero_points_outside_of_their_type_reach_no_kernel(damage, zero_point):
    files = {}
    for name in maker.GENERATORS:
        tree = tree_of(maker.make(name, 0).model)
        for tensor in tree.subgraphs[0].tensors:
            quantization = tensor.quantization
            if quantization is not None and quantization.zeroPoint is not None:
                quantization.zeroPoint = [zero_point] * len(quantization.zeroPoint)
        files[name] = plan_writer.add_plan(packed(tree))
    said = damage.each(files)["NOT_EQUAL"]
    # The low 32 bits of 2**40 are 0.
    assert "zero point is outside its type's range" in said or zero_point == 2**40


def test_inputs_in_regions_of_their_own_are_refused(damage, vela, small_models):
    options = ["--accelerator-config", "ethos-u55-128", "--cop-format", "COP2"]
    path = vela(small_models["small_cnn"], *options, "--separate-io-regions")
    assert "compiled with --separate-io-regions" in damage("load", path)


def _initialised_at(offset: int) -> bytes:
    """Make a model whose second graph copies 16 bytes to this offset at loading."""
    main, init = Graph("main"), Graph("init")
    x = main.tensor("x", (16,), "int8", 0.5)
    y = main.tensor("y", (4, 4), "int8", 0.5)
    main.operator("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=1)
    main.operator("RESHAPE", [x], [y], "ReshapeOptions", newShape=[4, 4])
    main.inputs, main.outputs = [x], [y]
    source = init.constant("source", np.arange(16, dtype=np.int8), 0.5)
    target = init.tensor("target", (4, 4), "int8", 0.5)
    init.operator("RESHAPE", [source], [target], "ReshapeOptions", newShape=[4, 4])
    places = {
        OFFSETS_NAME: record.encode_offsets([0, 16, -1, offset]),
        record.RECORD_NAME: record.encode(32, []),
    }
    return metadata.put(write([main, init], "two graphs"), places)


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (16, "0 "),
        (1 << 20, "0 "),  # and the arena is this large
        ((1 << 31) - 16, "planned arena exceeds 2 GB"),
    ],
)
def test_other_graphs_are_in_the_arena_too(damage, offset, expected):
    assert expected in damage("load", _initialised_at(offset))


def test_the_size_of_scratch_does_not_wrap_around(damage):
    said = damage("load", long_runs.row_beyond_32_bits())
    assert "16 bytes of scratch planned, 4294967295 needed" in said


@pytest.mark.parametrize(
    "make",
    [hostile.npu_initialises, lambda: hostile.many_payloads(1, 1 << 16, 1 << 18)],
    ids=["an NPU call initialises", "65,536 NPU calls"],
)
def test_without_an_npu_no_npu_call_begins(damage, make):
    assert damage("load", make()).startswith("0 ")


def test_a_stream_that_writes_its_constants_is_refused(compiled, small_models, tmp_path):
    """A stream must not write constants: it could overwrite itself with unverified commands."""
    path = tmp_path / "model.tflite"
    data = bytearray(compiled(small_models["small_cnn"]).read_bytes())
    start = data.index(b"COP1") + COP1_HEADER
    copy = (0x130, 0x131, 0x4030, 0, 0x4031, 16, 0x4032, 16, 0x10, 0xFFFF0000)  # in region 0
    struct.pack_into("<10I", data, start, *copy)
    path.write_bytes(data)
    with pytest.raises(InputError, match="stream writes to the constants at base pointer 0"):
        Simulation(path)


QUANTIZED = (
    "ADD", "AVERAGE_POOL_2D", "BATCH_MATMUL", "CONV_2D", "FULLY_CONNECTED", "LOGISTIC",
    "MEAN", "SOFTMAX", "SVDF",
)  # fmt: skip


def test_a_tensor_without_a_scale_reaches_no_kernel(damage):
    """A missing scale is rejected for each input and output, unless its type needs none."""
    files = {}
    for name in QUANTIZED:
        original = maker.make(name, 0).model
        graph = tree_of(original).subgraphs[0]
        small = (schema.TensorType.INT8, schema.TensorType.INT16)
        needed = [i for i, tensor in enumerate(graph.tensors) if tensor.type in small]
        assert len(needed) >= 2
        for index in needed:
            model = tree_of(original)
            model.subgraphs[0].tensors[index].quantization = None
            files[f"{name} {index}"] = plan_writer.add_plan(packed(model))
    reason = "no scale above 0|differ in quantisation"
    said = damage.each(files)
    assert {name: text for name, text in said.items() if not re.search(reason, text)} == {}


@pytest.mark.parametrize("elements", [1, 1000])
def test_an_output_of_another_size_reaches_no_kernel(damage, elements):
    """A wrong output size is rejected: GATHER would write one element per index regardless."""
    model = tree_of(maker.make("GATHER", 0).model)
    graph = model.subgraphs[0]
    graph.tensors[graph.outputs[0]].shape = np.array([elements], np.int32)
    said = damage("load", plan_writer.add_plan(packed(model)))
    assert "output has the wrong number of elements" in said
