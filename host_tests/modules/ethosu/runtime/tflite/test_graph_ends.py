# SPDX-License-Identifier: MIT
"""Graphs may have inputs and outputs that no operator reads or writes, such as constants.

Vela gives these no offset, and drops the values of constant outputs. The expected values are
LiteRT's.
"""

from pathlib import Path

import numpy as np
import pytest
from ethosu_tools.base.errors import InputError
from ethosu_tools.compile import load, vela
from ethosu_tools.compile.plan import record
from ethosu_tools.model import ModelFile
from ethosu_tools.model.tflite import metadata
from ethosu_tools.model.tflite.writer import Graph, write
from ethosu_tools.sim.simulation import Simulation

from host_tests.kit import board_models
from host_tests.kit.models import reference_cases

UNWRITTEN = (
    "tensor {} ({}), output {} of the model, is never written: Vela drops the values of constant "
    "outputs, which `ethosu compile MODEL.tflite` keeps"
)
VALUES = np.arange(-3, 13, dtype=np.int8).reshape(1, 16)


class _Ends:
    """A graph with y = a + a, and tensors around it."""

    def __init__(self, dtype: str = "int8", shape: tuple[int, ...] = (1, 4, 4, 4)) -> None:
        self.graph = Graph("main")
        self.scales = (0.05, 0.1) if dtype == "int8" else (None, None)
        self.dtype, self.shape = dtype, shape
        self.a, self.y = (
            self.tensor(name, scale) for name, scale in zip("ay", self.scales, strict=True)
        )

    def tensor(self, name, scale=None, shape=None):
        return self.graph.tensor(name, shape or self.shape, self.dtype, scale)

    def constant(self, name="anchors", values=VALUES):
        return self.graph.constant(name, values.astype(self.dtype), self.scales[0])

    def add(self, *inputs):
        self.graph.operator("ADD", inputs or (self.a, self.a), (self.y,), "AddOptions")
        return self

    def model(self, inputs, outputs) -> bytes:
        self.graph.inputs, self.graph.outputs = list(inputs), list(outputs)
        return write([self.graph], "ends of a graph")


def constant_beside(dtype="int8"):
    ends = _Ends(dtype).add()
    return ends.model([ends.a], [ends.y, ends.constant()])


def constant_read_too():
    ends = _Ends()
    anchors = ends.constant(values=VALUES[0, :4])
    return ends.add(ends.a, anchors).model([ends.a], [anchors, ends.y, anchors])


def two_constants():
    ends = _Ends().add()
    more = [ends.constant(str(count), VALUES[0, :count]) for count in (3, 5)]
    return ends.model([ends.a], [more[0], ends.y, more[1]])


def only_constant():
    ends = _Ends()
    return ends.model([ends.a], [ends.constant()])


def unused_input(dtype="int8"):
    ends = _Ends(dtype).add()
    unused = ends.tensor("u", ends.scales[0], (1, 7))
    return ends.model([unused, ends.a], [ends.y])


def unused_input_is_output():
    ends = _Ends().add()
    unused = ends.tensor("u", ends.scales[0], (1, 7))
    return ends.model([ends.a, unused], [unused, ends.y])


def no_operators():
    ends = _Ends()
    other = ends.tensor("b", ends.scales[0], (1, 5))
    return ends.model([ends.a, other], [other, ends.a])


def scalars(dtype="int8"):
    ends = _Ends(dtype, ())
    b = ends.tensor("b", ends.scales[0])
    return ends.add(ends.a, b).model([ends.a, b], [ends.y])


MODELS = {
    "constant beside": constant_beside(),
    "constant beside floats": constant_beside("float32"),
    "constant read too": constant_read_too(),
    "two constants": two_constants(),
    "only a constant": only_constant(),
    "unused input": unused_input(),
    "unused input of floats": unused_input("float32"),
    "unused input is an output": unused_input_is_output(),
    "no operators": no_operators(),
    "scalars": scalars(),
    "float scalars": scalars("float32"),
}


def compiled(name: str, npu: str = "ethos-u55-128", model: bytes | None = None) -> ModelFile:
    """Compile as `ethosu compile` does."""
    source = ModelFile(model or MODELS[name], name=name)
    return load.prepare(source, vela.compiled(source, npu).file)[0]


@pytest.fixture(scope="module")
def case(tmp_path_factory, case_of):
    folder = tmp_path_factory.mktemp("ends")

    def make(name: str) -> reference_cases.Case:
        path = folder / f"{name}.tflite"
        if not path.exists():
            path.write_bytes(MODELS[name])
        return reference_cases.make_case(path, 2, extremes=False)

    return make


@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u85-256"])
@pytest.mark.parametrize("name", MODELS)
def test_every_output_is_the_references(case, tmp_path, name, npu):
    expected = case(name)
    model = tmp_path / "compiled.tflite"
    model.write_bytes(compiled(name, npu).data)
    reference_cases.check(expected, model)


def test_on_a_board(board, board_npu, case):
    """A constant output has its values in each inference, whatever a program writes there."""
    for name in ("two constants", "unused input is an output", "no operators", "scalars"):
        expected = case(name)
        path = Path(expected.model).with_name("board.tflite")
        path.write_bytes(compiled(name, board_npu).data)
        board_models.load(board, path)
        for row, wanted in zip(expected.inputs, expected.outputs, strict=True):
            given = ", ".join(f"bytearray({each.tobytes()!r})" for each in row)
            found = board.eval(f"[bytes(each) for each in m.predict([{given}])]")
            assert found == [each.tobytes() for each in wanted], name
            board.exec("for each in m.outputs:\n    each.data[0] = 99")


# The error for Vela's own output of some models; None if that can be loaded unchanged.
FROM_VELA = {
    "constant beside": (5, "anchors", 1),
    "constant beside floats": (2, "anchors", 1),
    "constant read too": (5, "anchors", 0),
    "only a constant": (1, "anchors", 0),
    "unused input": None,
    "unused input is an output": None,
    "no operators": None,
}


@pytest.mark.parametrize("name", FROM_VELA)
def test_of_a_file_that_vela_wrote(vela, case, tmp_path, monkeypatch, name):
    """An output whose values Vela dropped is rejected, since its memory may hold other data."""
    expected = case(name)
    made = ModelFile(vela(expected.model, "--accelerator-config", "ethos-u55-128"))
    if FROM_VELA[name] is None:
        path = tmp_path / "planned.tflite"
        path.write_bytes(load.prepare(ModelFile(expected.model), made)[0].data)
        reference_cases.check(expected, path)
    else:
        with pytest.raises(InputError) as error:
            Simulation(load.prepare(ModelFile(expected.model), made)[0])
        assert UNWRITTEN.format(*FROM_VELA[name]) in str(error.value)


def test_an_output_with_an_offset_that_nothing_writes(damage):
    """An output that nothing writes is undefined, and rejected, even if it has an offset."""
    ends = _Ends("float32").add()
    stray = ends.tensor("stray")
    ends.graph.operator("ADD", (ends.a, ends.y), (stray,), "AddOptions")
    made = compiled("stray", model=ends.model([ends.a], [ends.y, stray])).data
    model = metadata.set_graph(made, [0], [ends.a], [ends.y, stray])  # without the second operator
    _, entries = record.decode(metadata.get(made, record.RECORD_NAME))
    model = metadata.put(model, {record.RECORD_NAME: record.encode(1024, entries[:1])})
    for width in (64, 32):
        assert damage.each({"stray": model}, width) == {
            "stray": f"-1 {UNWRITTEN.format(2, 'stray', 1)}"
        }


@pytest.mark.parametrize("width", [64, 32])
def test_ends_of_damaged_files(damage, width):
    """For damaged files, the loader stays in its memory, as in test_bad_files.py."""
    for name in ("constant read too", "unused input is an output"):
        model = compiled(name).data
        assert damage("load", model, width).startswith("0 ")
    damage("cut", model, width)
    damage("set", model, width)


@pytest.mark.parametrize("name", ["constant read too", "unused input is an output"])
def test_ends_of_a_file_that_changes(damage, name):
    """If a file changes, the reserved sizes count, not the new ones, as in test_bad_files.py."""
    assert int(damage("change", compiled(name).data).split()[0]) > 100


def test_constants_in_any_graph_of_a_file():
    """Constants can be restored in any graph of a file, without any other change."""
    graphs = [_Ends(), _Ends()]
    data = write([each.add().graph for each in graphs], "two graphs")
    made = ModelFile(metadata.put_constants(data, {(1, 0): b"\x01" * 64, (0, 1): b"\x02" * 64}))
    before = ModelFile(data)
    for number, (old, new) in enumerate(zip(before.graphs, made.graphs, strict=True)):
        assert (old.inputs, old.outputs, old.operators) == (new.inputs, new.outputs, new.operators)
        assert old.tensors == new.tensors
        contents = [tensor.content for tensor in new.tensors]
        assert contents == [[b"", b"\x02" * 64], [b"\x01" * 64, b""]][number]
