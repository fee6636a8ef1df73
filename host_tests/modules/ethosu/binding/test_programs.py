# SPDX-License-Identifier: MIT
"""`ethosu.Model` of an ExecuTorch program: the same methods, the same answers as of a .tflite."""

import json
import subprocess
import sys

import numpy as np
import pytest
from ethosu_tools import romfs
from ethosu_tools.board import QemuBoard
from ethosu_tools.errors import RemoteError
from ethosu_tools.qemu import Machine

from modules.ethosu.runtime.executorch import made
from modules.ethosu.runtime.executorch.program_writer import Method

from .test_values import quantized


@pytest.fixture(scope="module")
def cases(raw, board_npu, small_models):
    """Programs of small_cnn, by name: integer ends, the same without scales, float ends."""
    model = small_models["small_cnn"]
    integer = made.quantised_ends(model, raw(board_npu))
    second = Method("second")
    inputs, outputs = made.ends(model)
    second.inputs = [second.tensor("int8", inputs[0].sizes, inputs[0].order)]
    second.outputs = [second.tensor("int8", outputs[0].sizes)]
    integer.methods.append(second)
    integer.delegate(raw(board_npu).encode(), [0, 1], method=second)
    bare = made.quantised_ends(model, raw(board_npu), methods=False)
    return {
        "integer": made.quantised_case(model, integer.encode()),
        "bare": made.quantised_case(model, bare.encode()),
        "real": made.real_case(model, made.real_ends(model, raw(board_npu)).encode()),
    }


@pytest.fixture(scope="module")
def board(cases, board_npu, compiled, small_models):
    """A board with the programs, and each case's input and output as `x_NAME` and `y_NAME`."""
    files = {f"{name}.pte": case.program for name, case in cases.items()}
    files["small_cnn.tflite"] = compiled(small_models["small_cnn"], board_npu).read_bytes()
    with QemuBoard(Machine(board_npu, romfs=romfs.build(files))) as board:
        board.exec("import ethosu, asyncio\nfrom array import array")
        for name, case in cases.items():
            board.exec(f"x_{name} = bytearray({case.inputs[0].tobytes()!r})")
            board.exec(f"y_{name} = {case.outputs[0].tobytes()!r}")
            board.exec(f"{name} = ethosu.Model('/rom/{name}.pte')")
        yield board


@pytest.mark.parametrize("name", ["integer", "bare", "real"])
@pytest.mark.parametrize(
    "call",
    [
        "bytes(m.predict([x])[0])",
        "(m.run_into([x], [out]), bytes(out))[1]",
        "(asyncio.run(m.run([x], [out])), bytes(out))[1]",
    ],
    ids=["predict", "run_into", "await run"],
)
def test_each_call_is_exact(board, name, call):
    board.exec(f"m, x, out = {name}, x_{name}, bytearray(len(y_{name}))")
    for _ in range(2):
        assert board.eval(f"{call} == y_{name}")


def test_a_program_is_loaded_from_the_heap_too(board):
    board.exec("with open('/rom/integer.pte', 'rb') as file:\n held = file.read()")
    for copy in ("held", "bytearray(held)"):
        assert board.eval(
            f"bytes(ethosu.Model({copy}).predict([x_integer])[0]) == y_integer", timeout=20
        )


def test_scales_of_integer_ends_come_from_constant_methods(board, cases, small_models):
    (first,), (last,) = made.ends(small_models["small_cnn"])
    assert board.eval("(integer.input_shape, integer.output_shape)") == (
        ((1, 16, 16, 3),),
        ((1, 10),),
    )
    assert board.eval("integer.input_zero_point + integer.output_zero_point") == (
        first.zero_point,
        last.zero_point,
    )
    found = board.eval("integer.input_scale + integer.output_scale")
    np.testing.assert_array_equal(np.float32(found), np.float32([first.scale, last.scale]))
    assert board.eval("bare.input_scale") == (0.0,)


def test_real_numbers_for_integer_ends(board, cases, small_models):
    (first,), (last,) = made.ends(small_models["small_cnn"])
    values = np.random.default_rng(3).normal(0, 3, 768).astype(np.float32)
    expected = quantized(values, first)
    board.exec(f"v = array('f', {[float(value) for value in values]!r})")
    board.exec(f"q = bytearray({expected.tobytes()!r})")
    board.exec("wanted = bytes(integer.predict([q])[0])")
    assert board.eval("bytes(integer.predict([v])[0]) == wanted")
    answer = np.array(board.eval("list(integer.predict([v], real=True)[0])"), np.float32)
    raw_answer = np.frombuffer(board.eval("wanted"), np.int8)
    np.testing.assert_array_equal(answer, made.dequantize(raw_answer, last))


def test_info(board, board_npu):
    board.exec("i = integer.info()")
    assert board.eval("(i['config'], i['npu_calls'], i['cpu_steps'])") == (board_npu, 1, 0)
    assert board.eval("real.info()['cpu_steps']") == 2  # both ends, no copies
    assert board.eval("integer.metadata('vela_version')") is None


def test_another_method(board):
    board.exec("m = ethosu.Model('/rom/integer.pte', method='second')")
    assert board.eval("bytes(m.predict([x_integer])[0]) == y_integer")


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("ethosu.Model('/rom/integer.pte', method='third')", "no method third, but 6 others"),
        ("ethosu.Model('/rom/integer.pte', method=3)", "TypeError"),
        ("ethosu.Model('/rom/small_cnn.tflite', method='forward')", "has no methods"),
        ("integer.predict([bytearray(3)])", "input 0 has 3 bytes"),
        ("integer.selftest()", "model has no self-test"),
    ],
)
def test_refusals(board, call, expected):
    with pytest.raises(RemoteError, match=expected):
        board.exec(call)
    assert board.eval("bytes(integer.predict([x_integer])[0]) == y_integer")


@pytest.fixture(scope="module")
def figures(request, cases, tmp_path_factory):
    """What `ethosu bench overhead` counts of the programs, by name."""
    if request.config.getoption("--port"):
        pytest.skip("counts instructions of the emulated board")
    folder = tmp_path_factory.mktemp("programs")
    for name, case in cases.items():
        (folder / f"{name}.pte").write_bytes(case.program)
    command = [sys.executable, "-m", "ethosu_tools.cli", "bench", "overhead", "--json"]
    done = subprocess.run([*command, *sorted(folder.iterdir())], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)["models"]


def test_a_delegate_alone_costs_no_more_than_a_model_of_one_operator(figures):
    """ExecuTorch's runtime takes 1,587 instructions for execute() alone of such a program."""
    assert figures["integer"]["instructions_per_invoke_in_c"] <= 600
    assert figures["integer"]["instructions_per_run_into"] <= 1100
    assert figures["integer"]["heap_bytes_of_1000_run_into"] == 0


def test_a_program_is_loaded_in_one_pass(figures):
    """The driver takes 1,800 of these. ExecuTorch's runtime takes 5,039, and checks far less."""
    assert figures["integer"]["instructions_to_load_in_c_unverified"] <= 10000


def test_ends_cost_3_instructions_a_value_and_2(figures):
    """768 values are quantised, 10 dequantised; a step of each takes some 50 besides."""
    key = "instructions_per_invoke_in_c"
    assert figures["real"][key] - figures["integer"][key] <= 3 * 768 + 2 * 10 + 2 * 50
