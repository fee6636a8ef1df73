# SPDX-License-Identifier: MIT
"""A planned file is the old one plus two metadata entries, compatible with all other readers."""

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter
from ethosu_tools.base.errors import InputError
from ethosu_tools.compile.plan import plan_file
from ethosu_tools.compile.plan.record import RECORD_NAME, decode, encode
from ethosu_tools.model.make_model import small_cnn, small_streaming
from ethosu_tools.model.tflite import OFFSETS_NAME, metadata, parse
from ethosu_tools.sim.oracle import Oracle
from ethosu_tools.sim.simulation import Simulation

NAMES = {OFFSETS_NAME.encode(), RECORD_NAME.encode()}


def tree(data):
    """Return a file's contents except the plan, as plain data."""
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(data, 0))
    model.metadata = [entry for entry in model.metadata or [] if entry.name not in NAMES]
    model.buffers = model.buffers[: old_buffers(data)]
    return plain(model)


def old_buffers(data):
    """Return buffers that are not part of the plan."""
    model = schema.Model.GetRootAs(data, 0)
    entries = [model.Metadata(i) for i in range(model.MetadataLength())]
    return min([entry.Buffer() for entry in entries if entry.Name() in NAMES])


def plain(value):
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list):
        return [plain(item) for item in value]
    return {k: plain(v) for k, v in vars(value).items()} if hasattr(value, "__dict__") else value


def buffer_places(data):
    model = schema.Model.GetRootAs(data, 0)
    for index in range(model.BuffersLength()):
        buffer = model.Buffers(index)
        if buffer.DataLength():
            yield buffer._tab.Vector(buffer._tab.Offset(4)), buffer.DataAsNumpy().tobytes()


@pytest.fixture(params=["mixed_cnn", "svdf"])
def pair(request, mixed):
    model = mixed(request.param)
    return model.compiled.read_bytes(), model.planned.read_bytes()


def test_everything_else_is_unchanged(pair):
    before, after = pair
    assert tree(before) == tree(after)


def test_old_bytes_follow_an_aligned_front(pair):
    before, after = pair
    front = len(after) - len(before)
    assert front % metadata.FILE_ALIGNMENT == 0
    different = [i for i, byte in enumerate(before) if after[front + i] != byte]
    offsets = [i for i, content in buffer_places(before) if content == offsets_of(before)]
    assert all(i in range(offsets[0], offsets[0] + len(offsets_of(before))) for i in different)


def offsets_of(data):
    return metadata.get(data, OFFSETS_NAME)


def test_every_buffer_is_aligned_to_16(pair):
    before, after = pair
    assert all(place % 16 == 0 for place, _ in buffer_places(before)), "Vela aligns its buffers"
    assert all(place % 16 == 0 for place, _ in buffer_places(after))


def test_litert_reads_it(pair):
    Interpreter(model_content=pair[1])


def test_plan_in_the_file_is_the_plan_made(mixed):
    model = mixed("mixed_cnn")
    data = model.planned.read_bytes()
    assert decode(metadata.get(data, RECORD_NAME)) == (model.plan.arena, model.plan.entries)
    assert [tensor.offset for tensor in parse(data)[0].tensors] == model.plan.offsets


def test_planning_again_changes_nothing(mixed, tmp_path):
    planned = mixed("mixed_cnn").planned
    plan_file(planned, tmp_path / "again.tflite")
    assert (tmp_path / "again.tflite").read_bytes() == planned.read_bytes()


@pytest.mark.parametrize("make", [small_cnn, small_streaming])
def test_an_uncompiled_model_without_custom_operators_still_runs_in_litert(make, tmp_path):
    source, output = tmp_path / "a.tflite", tmp_path / "b.tflite"
    source.write_bytes(make())
    plan_file(source, output)
    before, after = Oracle(source), Oracle(output)
    random = np.random.default_rng(3)
    for _ in range(3):
        x = random.integers(-128, 128, before.inputs[0].shape).astype(np.int8)
        assert [y.tobytes() for y in before.step([x])] == [y.tobytes() for y in after.step([x])]


def test_the_graph_by_which_the_npu_initialises_variables_keeps_its_places(compiled, tmp_path):
    """CALL_ONCE's graph, which an Ethos-U85 runs with tensors of its own, keeps its offsets."""
    source, output = tmp_path / "source.tflite", tmp_path / "planned.tflite"
    source.write_bytes(small_streaming())
    before = compiled(source, "ethos-u85-256")
    plan_file(before, output)
    assert offsets_of(output.read_bytes()) == offsets_of(before.read_bytes())
    oracle = Oracle(source)
    random = np.random.default_rng(5)
    with Simulation(output) as simulation:
        for _ in range(3):
            x = random.integers(-128, 128, oracle.inputs[0].shape).astype(np.int8)
            (wanted,), (found,) = oracle.step([x]), simulation.step([x])
            assert found.tobytes() == wanted.tobytes()


def test_foreign_metadata_is_kept(mixed):
    data = mixed("mixed_cnn").compiled.read_bytes()
    once = metadata.put(data, {"author": b"someone", "note": b""})
    twice = metadata.put(once, {"more": b"1234"})
    contents = {name: metadata.get(twice, name) for name in ("author", "note", "more")}
    assert contents == {"author": b"someone", "note": b"", "more": b"1234"}
    assert offsets_of(twice) == offsets_of(data)


def test_contents_of_another_length_replace_the_old(mixed):
    data = metadata.put(mixed("svdf").planned.read_bytes(), {RECORD_NAME: encode(64, [])})
    model = schema.Model.GetRootAs(data, 0)
    names = [model.Metadata(i).Name() for i in range(model.MetadataLength())]
    assert names.count(RECORD_NAME.encode()) == 1
    assert decode(metadata.get(data, RECORD_NAME)) == (64, [])


def test_nothing_is_written_when_planning_fails(tmp_path):
    output = tmp_path / "out.tflite"
    path = tmp_path / "bad.tflite"
    path.write_bytes(b"\0\0\0\0TFL3" + bytes(40))
    with pytest.raises(InputError, match=r"bad\.tflite"):
        plan_file(path, output)
    assert not output.exists()
