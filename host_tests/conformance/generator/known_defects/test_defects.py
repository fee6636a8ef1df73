# SPDX-License-Identifier: MIT
"""Each known Vela defect still exists, is Vela's, is avoided, and is in the README."""

import json
import re
import struct
from pathlib import Path

import flatbuffers
import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ethosu_tools.cli import main
from ethosu_tools.model.tflite import parse

from host_tests.modules.ethosu.driver import streams

from .. import coverage, vela
from ..builder import Builder, UnsuitableError
from ..check import Result, Verdict, reference, simulate
from ..draws import Draws
from ..operators.convolution import weights
from ..operators.recurrent import _weights as gate
from .defects import DEFECTS, Constant, Count, Offset, Register

GENERATOR = Path(__file__).parents[1]
# For shifts and whole steps, the parameter is compared, not the payload.
PARAMETERS = ("OFM_SCALE", "RESIZE_X_STEP", "RESIZE_Y_STEP")


def packed(root):
    """Encode a model."""
    builder = flatbuffers.Builder()
    builder.Finish(root.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def with_registers(model, rows):
    """Set the required registers in a model's command streams."""
    wanted = {(row.operation, row.name): row for row in rows}
    calls = {call.payload: call for call in streams.npu_calls(model)}
    root = schema.ModelT.InitFromPackedBuf(model, 0)
    for tensor in root.subgraphs[0].tensors:
        data = root.buffers[tensor.buffer].data
        call = calls.get(b"" if data is None else bytes(data))
        if call:
            other = call.with_stream(repaired(call.stream, wanted))
            root.buffers[tensor.buffer].data = np.frombuffer(other, "u1")
            tensor.shape = [len(other)]
    return packed(root)


def value(name, command):
    """Return the value to which a command sets a register."""
    number = command.payload
    return command.param if number is None or name in PARAMETERS else number


def encoded(command, number=None):
    """Encode a command with another value of the register."""
    name, param, payload = coverage.NAMES[command.code], command.param, command.payload
    if number is not None:
        if payload is None or name in PARAMETERS:
            param = number
        else:
            payload = number
    head = struct.pack("<HH", command.code, param)
    return head if payload is None else head + struct.pack("<I", payload)


def repaired(stream, rows):
    """Set each row's register in a stream to the required value, for its operation only."""
    at, result, original, current = 0, [], {}, {}
    for command in streams.commands(stream):
        name = coverage.NAMES[command.code]
        if name not in coverage.OPERATIONS:
            row = rows.get((at, name))
            original[name] = command
            current[name] = row.required if row else value(name, command)
            result.append(encoded(command, current[name]))
            continue
        for register in {register for _, register in rows} & original.keys():
            row = rows.get((at, register))
            wanted = row.required if row else value(register, original[register])
            if current[register] != wanted:
                result.append(encoded(original[register], wanted))
                current[register] = wanted
        row = rows.get((at, name))
        result.append(encoded(command, row.required if row else None))
        at += 1
    return b"".join(result)


def found(model, fact):
    """Return the wrong values in a compiled graph."""
    operations = list(coverage.operations(model))
    graphs = parse(model)
    match fact:
        case Register(at, name):
            opcode, mode, state = operations[at]
            if name == opcode:
                return mode
            param, payload = state[name]
            return param if name in PARAMETERS else payload or param
        case Constant(offset, before):
            return streams.npu_calls(model)[0].constants[offset : offset + len(before)]
        case Offset(graph, name):
            return next(t.offset for t in graphs[graph].tensors if t.name.endswith(name))
        case Count(name):
            return sum(opcode == name for opcode, _, _ in operations)


def with_constants(model, facts):
    """Put the required constants into a model."""
    content = streams.npu_calls(model)[0].constants
    for fact in facts:
        end = fact.offset + len(fact.required)
        other = content[: fact.offset] + fact.required + content[end:]
        assert model.count(content) == 1
        model, content = model.replace(content, other), other
    return model


def is_right(model, case):
    """Whether the result of a compiled graph equals LiteRT's."""
    result = Result(Verdict.EXACT, compiled=model, expected=reference(case))
    return simulate(case, result).verdict is Verdict.EXACT


@pytest.fixture(scope="module", params=DEFECTS, ids=lambda defect: defect.name)
def compiled(request):
    """Return a defect, its case and the compiled result."""
    case = request.param.case
    return request.param, case, vela.compile_case(case).model


def test_vela_still_compiles_it_wrongly(compiled):
    defect, case, model = compiled
    assert not is_right(model, case), (
        f"Vela compiles this graph right: take {defect.name} out of known_defects/, and what "
        f"avoids it (the comment `Vela defect: {defect.name}`) out of the generator"
    )


def test_compiled_graph_shows_it(compiled):
    defect, _, model = compiled
    assert [found(model, fact) for fact in defect.shows] == [fact.found for fact in defect.shows]


@pytest.mark.parametrize(
    "compiled",
    [defect for defect in DEFECTS if defect.repaired],
    ids=lambda defect: defect.name,
    indirect=True,
)
def test_required_registers_give_the_right_result(compiled):
    """With the required registers, the result is right, so nothing else is wrong."""
    defect, case, model = compiled
    model = with_constants(model, [fact for fact in defect.shows if isinstance(fact, Constant)])
    rows = [fact for fact in defect.shows if isinstance(fact, Register)]
    assert is_right(with_registers(model, rows), case)


def test_repair_without_rows_changes_nothing():
    case = DEFECTS[0].case
    model = vela.compile_case(case).model
    (call,) = streams.npu_calls(model)
    assert repaired(call.stream, {}) == call.stream


def test_generator_avoids_each_defect():
    """A comment or an error in the generator names each defect, and no others."""
    text = "".join(path.read_text() for path in sorted(GENERATOR.rglob("*.py")))
    named = set(re.findall(r"Vela defect: ([a-z0-9-]+)", text))
    assert named == {defect.name for defect in DEFECTS}


def test_readme_has_each_defect():
    text = (GENERATOR.parent / "README.md").read_text()
    known = text[text.index("## Known") :]
    assert re.findall(r"^\| `(.*?)` \| ", known, re.MULTILINE) == [row.name for row in DEFECTS]


def test_generator_draws_the_weights_of_a_group_once():
    b = Builder(Draws(replay=(0, 4)))  # of -127 and 127, so that two of three groups are equal
    with pytest.raises(UnsuitableError, match="equal weights"):
        weights(b, (3, 1, 1, 1), 0, groups=3)


@pytest.mark.parametrize("draw", [lambda b: weights(b, (4, 8), 0), lambda b: gate(b, (4, 8))])
def test_generator_draws_the_weights_of_an_operator_once(draw):
    b = Builder(Draws(replay=()))
    draw(b)
    with pytest.raises(UnsuitableError, match="equal weights"):
        draw(b)


def warned(model, folder, capsys, *options):
    """Return the warnings of `ethosu compile`."""
    source = folder / "m.tflite"
    source.write_bytes(model)
    command = ["compile", str(source), "-o", str(folder / "m_vela.tflite"), "--json", *options]
    code = main(command)
    out, err = capsys.readouterr()
    said: list[str] = json.loads(out)["warnings"]
    assert (code == 6) == any(each.startswith("wrong results") for each in said)
    assert all(f"warning: {each}" in err for each in said)
    return [each for each in said if not each.startswith("wrong results")]


@pytest.mark.parametrize("one_tensor", [False, True])
@pytest.mark.parametrize("equal", ["weights", "biases", "both"])
def test_compile_warns_of_operators_of_equal_weights(tmp_path, capsys, one_tensor, equal):
    (defect,) = (row for row in DEFECTS if row.name == "operators-of-equal-weights")
    root = schema.ModelT.InitFromPackedBuf(defect.case.model, 0)
    graph = root.subgraphs[0]
    a, b = (operator.inputs.tolist() for operator in graph.operators)
    if equal == "biases":
        root.buffers[graph.tensors[b[1]].buffer].data = np.ones(4, np.uint8)
    elif one_tensor:
        b[1] = a[1]
    if equal != "weights":
        b[2] = a[2]
    graph.operators[1].inputs = b
    names = [graph.tensors[operator.outputs[0]].name.decode() for operator in graph.operators]
    expected = [
        f"Vela gives '{names[1]}' the biases of '{names[0]}', which has equal weights: results "
        "may be wrong here; change one of the weights, or keep an operator on the CPU"
    ]
    model = packed(root)
    assert warned(model, tmp_path, capsys) == (expected if equal == "weights" else [])
    assert warned(model, tmp_path, capsys, "--vela=--ignore-ops CONV_2D") == []


def test_compile_warns_of_an_int32_bias_of_int16(tmp_path, capsys):
    (defect,) = (row for row in DEFECTS if row.name == "int32-bias-of-int16")
    (warning,) = warned(defect.case.model, tmp_path, capsys, "--npu", defect.npu)
    assert warning.startswith("Vela loses the scales of 't") and "a bias of int64" in warning
    # In the other families, a record has room for the whole multiplier.
    assert warned(defect.case.model, tmp_path, capsys, "--npu", "ethos-u55-128") == []
    options = ("--npu", defect.npu, "--vela=--ignore-ops FULLY_CONNECTED")
    assert warned(defect.case.model, tmp_path, capsys, *options) == []


@pytest.mark.parametrize(
    "name", ["mirror-pad-of-channels", "padding-of-slice", "transpose-conv-of-slice"]
)
def test_compile_names_the_defect_that_a_model_shows(tmp_path, capsys, name):
    """compile runs a random input, and names the defects that explain a difference."""
    (defect,) = (row for row in DEFECTS if row.name == name)
    said = warned(defect.case.model, tmp_path, capsys, "--npu", defect.npu)
    assert any(f"a defect of Vela that this model may show: `{name}`: " in each for each in said)
