# SPDX-License-Identifier: MIT
"""Valid .pte, .ptd and .bpte files are read; damage of any kind gives one InputError."""

import struct

import numpy as np
import pytest
from ethosu_tools.base.errors import InputError
from ethosu_tools.commands import inspect
from ethosu_tools.model import Case, Method, ModelFile, Tensor, describe, read_data
from ethosu_tools.model.graph import Value
from ethosu_tools.model.reader import Reader
from ethosu_tools.model.tflite.flatbuffer_writer import encode, i64s

from host_tests.modules.ethosu.executorch import damaged, program_writer
from host_tests.modules.ethosu.executorch.made import LAST
from host_tests.modules.ethosu.executorch.vela_binary import Io, VelaBinary

# COP1 with CONFIG of an Ethos-U55 with 128 MACs, and a stream of one word.
COMMANDS = b"COP1" + struct.pack("<3I", 1, 7, 0) + struct.pack("<2I", 2 | 1 << 16, 0xFFFF0000)
BLOB = VelaBinary(
    commands=COMMANDS,
    weights=bytes(range(40)),
    scratch_size=4096,
    inputs=(Io((1, 1, 1, 16, 16, 3), 1, 1024, 1),),
    outputs=(Io((1, 1, 1, 1, 1, 10), 1, 0, 1),),
)


def program(**options):
    """Make a program with a delegate and a value of each kind."""
    made = damaged._program(BLOB.encode(), **options)
    made.constant_method("input0_scale", 0.25)
    made.constant_method("input0_zp", -3)
    return made


@pytest.mark.parametrize("inline", [False, True])
def test_a_program_is_what_was_written(inline):
    found = ModelFile(program(inline=inline).encode())
    method = found.methods["forward"]
    assert list(found.methods) == ["forward", "input0_scale", "input0_zp"]
    assert found.methods["input0_scale"].constant == 0.25
    assert found.methods["input0_zp"].constant == -3 and method.constant is None
    assert method.inputs == (0,) and method.outputs == (1,) and method.buffers == (784,)
    assert method.tensor(0).sizes == (1, 3, 16, 16) and method.tensor(0).order == LAST
    assert method.tensor(0).shape == (1, 16, 16, 3) and method.tensor(1).offset == 768
    (operator,) = method.operators
    assert operator.on_npu and (operator.inputs, operator.outputs) == ((0,), (1,))
    (call,) = found.calls()
    assert bytes(call.constants) == BLOB.weights and bytes(call.stream) == COMMANDS[-4:]
    assert call.operator.scratch_bytes == BLOB.scratch_size


def test_the_description_says_what_inspect_shows():
    described = describe(program().encode())
    (first,), (operator,) = described.inputs, described.npu_operators
    assert (first.shape, first.dtype) == ((1, 16, 16, 3), "int8")
    assert (first.scale, first.zero_point) == (0.25, -3)
    assert (operator.npu, operator.scratch_bytes) == ("ethos-u55-128", 4096)
    assert operator.constant_bytes == 40 and operator.fast_scratch_bytes is None
    assert (described.planned_bytes, described.converted, described.nchw) == (784, 0, False)


def test_inspect_warns_of_what_costs_and_of_what_is_missing():
    made = program_writer.Program()
    method = made.forward
    method.inputs = [method.tensor("float32", (1, 3, 16, 16))]
    quantised = method.tensor("int8", (1, 3, 16, 16))
    method.outputs = [method.tensor("int8", (1, 10))]
    method.kernel("aten::foo", [0, 0])
    damaged.made.add_quantize(method, 0, damaged.INPUT, quantised)
    made.delegate(BLOB.encode(), [quantised, *method.outputs])
    data = describe(made.encode()).as_dict()
    text = inspect.render({"model": "x.pte", "bytes": 1, **data})
    assert (
        "quantises and dequantises 768 values" in text and "export with torch.channels_last" in text
    )
    assert "missing    aten::foo: not in the firmware" in text
    assert "(QuantizeInputs, QuantizeOutputs)" in text


def test_integer_ends_get_no_advice_to_make_them_so():
    """Conversions of state, or of CPU operators, bring no advice on integer inputs."""
    made = program_writer.Program()
    method = made.forward
    x, y = (method.tensor("int8", (1, 8)) for _ in range(2))
    real = method.tensor("float32", (1, 8))
    method.inputs, method.outputs = [x], [y]
    damaged.made.add_dequantize(method, x, damaged.INPUT, real)
    damaged.made.add_quantize(method, real, damaged.INPUT, y)
    (note,) = describe(made.encode()).notes
    assert "16 values" in note and "for state and for operators" in note and "Inputs" not in note


def test_external_data_is_found_in_the_program_and_in_other_files():
    external = damaged._external(BLOB, "weight_data")
    made = damaged._program(external)
    key = BLOB.weights.decode()
    (call,) = ModelFile(made.encode()).calls()
    assert (call.absent, bytes(call.constants)) == (key, b"")
    file = program_writer.data_file({"other": b"1", key: b"weights"})
    (call,) = ModelFile(made.encode(), file).calls()
    assert (call.absent, bytes(call.constants)) == ("", b"weights")
    made.named[key] = made.segment(b"here")
    (call,) = ModelFile(made.encode()).calls()
    assert (call.absent, bytes(call.constants)) == ("", b"here")


def bundle(inner: bytes, array: np.ndarray, order: tuple[int, ...]) -> bytes:
    return program_writer.bundle(inner, {"forward": [([array], [7])]}, order)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), LAST])
def test_a_bundle_holds_a_program_and_its_cases(order):
    array = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
    inner = program().encode()
    found = ModelFile(bundle(inner, array, order))
    assert found.program == inner
    (case,) = found.cases
    np.testing.assert_array_equal(case.inputs[0], array)
    assert (case.method, case.outputs[0]) == ("forward", 7)


def test_a_bundle_that_names_its_cases_again_and_again_is_refused():
    """A bundle that names one case 160,000 times, which would run for hours, is refused."""
    bundle = encode({1: [{0: "forward", 1: [{}] * 400}] * 400}, b"BP08")
    with pytest.raises(InputError, match=r"lists 160000 cases, more than fit into its \d+ bytes"):
        _ = ModelFile(bundle).cases


def _named_again_and_again() -> bytes:
    """Make 2,000 values that are all the same list of 2,000 numbers."""
    count = 2_000
    value = program_writer.union(program_writer.INTS, {0: i64s([1] * count)})
    return encode({1: [{0: "forward", 2: [value] * count}]}, b"ET12")


def test_what_the_runtime_refuses_is_described_or_refused():
    """inspect describes or refuses files that the runtime rejects, without other exceptions."""
    for name, (make, _) in (damaged.DELEGATES | damaged.PROGRAMS).items():
        try:
            describe(make(BLOB))
        except InputError as error:
            assert "the model" in str(error), name


def test_a_file_that_names_one_table_again_and_again_is_refused():
    with pytest.raises(InputError, match="it references its tables so often"):
        describe(_named_again_and_again())


def _read_data(data: bytes) -> None:
    _ = Reader(data).entries


@pytest.mark.parametrize("kind", ["pte", "ptd", "bpte"])
def test_truncated_or_corrupted_files_are_one_error(kind):
    array = np.zeros((1, 2, 3, 4), np.float32)
    data, read = {
        "pte": (program().encode(), describe),
        "ptd": (program_writer.data_file({"a": b"1"}), _read_data),
        "bpte": (bundle(program().encode(), array, LAST), lambda data: ModelFile(data).cases),
    }[kind]
    refused = 0
    spoilt = [data[:size] for size in range(8, len(data), 7)]
    for at in range(0, len(data), 3):
        spoilt += [data[:at] + bytes([byte]) + data[at + 1 :] for byte in (0, 0x7F, 0xFF)]
    for each in spoilt:
        try:
            read(each)
        except InputError:
            refused += 1
    assert 0 < refused < len(spoilt)


def test_a_data_file_is_named_by_its_first_bytes(tmp_path):
    path = tmp_path / "x.ptd"
    path.write_bytes(b"\0\0\0\0ET12 and more")
    with pytest.raises(InputError, match=r"x.ptd: not a .ptd file: expected b'FT01' at byte 4"):
        read_data(path)


def test_another_file_is_named_by_its_first_bytes(tmp_path):
    path = tmp_path / "x.pte"
    path.write_bytes(b"\0\0\0\0ET99 and more")
    with pytest.raises(InputError, match=r"b'ET12' or b'BP08' at byte 4, found b'ET99'"):
        describe(path)
    with pytest.raises(InputError, match="no method backward; its methods are forward"):
        ModelFile(damaged._program(BLOB.encode()).encode()).describe("backward")


def test_scalars_of_a_case_stay_scalars():
    tensor = Tensor("x", (), "int8", order=())
    method = Method("forward", (Value("tensor", tensor),), (), (0,), (0,))
    given = (np.array(3, np.int8),)
    case = Case("forward", given, given).arrange(method)
    assert [array.shape for array in (*case.inputs, *case.outputs)] == [(), ()]
