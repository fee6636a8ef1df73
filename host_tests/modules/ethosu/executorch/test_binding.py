# SPDX-License-Identifier: MIT
"""`ethosu.Model` of an ExecuTorch program has the same methods and results as of a .tflite."""

import numpy as np
import pytest
from ethosu_tools.base.errors import RemoteError
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import ModelFile, describe, romfs

from host_tests.modules.ethosu import overhead
from host_tests.modules.ethosu.binding.tensor.test_values import quantized
from host_tests.modules.ethosu.executorch import made, program_writer
from host_tests.modules.ethosu.executorch.program_writer import Method


@pytest.fixture(scope="module")
def cases(raw, board_npu, small_models):
    """Make programs of small_cnn with integer I/O, the same without scales, and float I/O."""
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


KEY = "86dd" * 16


def delay():
    """Make a method that returns its input, and one that returns the previous run's input."""
    program = program_writer.Program()
    later = Method("delay")
    program.methods.append(later)
    for method in program.methods:
        x, kept, y = (method.tensor("float32", (4,)) for _ in range(3))
        method.inputs, method.outputs = [x], [y]
        none = method.number(None)
        method.kernel("aten::clone", [kept if method is later else x, none, y, y])
    later.kernel("aten::copy_", [1, 0, none, 1], overload="")
    return program


def scales():
    """Make two integer methods, with scales stored under the method's name or without one."""
    program = program_writer.Program()
    program.methods.append(Method("other"))
    for method in program.methods:
        x, y = (method.tensor("int8", (4,)) for _ in range(2))
        method.inputs, method.outputs = [x], [y]
        method.kernel("aten::clone", [x, method.number(None), y, y])
    for prefix, scale, zero_point in (("", 0.5, 7), ("other_", 0.25, -3)):
        program.constant_method(f"{prefix}input0_scale", scale)
        program.constant_method(f"{prefix}input0_zp", zero_point)
    return program


@pytest.fixture(scope="module")
def files(cases, raw, board_npu, compiled, small_models):
    """Return the files on the board."""
    model, blob = small_models["small_cnn"], raw(board_npu)
    files = {f"{name}.pte": case.program for name, case in cases.items()}
    files["small_cnn.tflite"] = compiled(model, board_npu).read_bytes()
    files["calls.pte"] = made.bare_ends(model, blob).encode()
    files["apart.pte"] = made.quantised_ends(model, made.external(blob, KEY)).encode()
    files["alone.pte"] = files["apart.pte"]
    files["apart.ptd"] = program_writer.data_file({"another": b"data", KEY: blob.weights})
    files["held.bpte"] = program_writer.bundle(files["apart.pte"], {"forward": []})
    files["held.ptd"] = files["apart.ptd"]
    described = made.real_ends(model, blob)
    described.constant_method("get_labels", "yes", "no", "größer")
    described.constant_method("rate", 16000)
    described.constant_method("gain", 0.5)
    described.constant_method("wide", True)
    described.constant_method("mean", np.float32([0.25, -1]))
    described.named = {"licence": described.segment(b"MIT")}
    files["described.pte"] = described.encode()
    files["state.pte"] = delay().encode()
    files["scales.pte"] = scales().encode()
    for name, spoil in {"good": 0, "wrong": 1}.items():
        x, y = (
            made.first_sizes(each[0])
            for each in (cases["integer"].inputs, cases["integer"].outputs)
        )
        y = y ^ np.int8(spoil)
        suites = {"forward": [([x], [y])], "second": [([x], [y]), ([x], [y])]}
        files[f"{name}.bpte"] = program_writer.bundle(cases["integer"].program, suites)
    x, y = made.first_sizes(cases["real"].inputs[0]), cases["real"].outputs[0]
    for name, factor in {"near": 1 + 1e-6, "far": 1 + 1e-3}.items():
        suites = {"forward": [([x], [(y * np.float32(factor)).astype(np.float32)])]}
        files[f"{name}.bpte"] = program_writer.bundle(cases["real"].program, suites, made.LAST)
    return files


@pytest.fixture(scope="module")
def board(cases, files, board_npu):
    """Return a board with the programs, and inputs and outputs `x_NAME` and `y_NAME`."""
    with QemuBoard(Machine(emulated(npu=board_npu), romfs=romfs.build(files))) as board:
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


@pytest.mark.parametrize("name", ["integer", "calls"])
def test_scales_of_integer_inputs_and_outputs(board, small_models, name):
    """Scales of integer inputs and outputs come from constant methods, or first and last call."""
    (first,), (last,) = made.ends(small_models["small_cnn"])
    board.exec(f"m = ethosu.Model('/rom/{name}.pte')")
    assert board.eval("(m.input_shape, m.output_shape)") == (((1, 16, 16, 3),), ((1, 10),))
    zero_points = (first.zero_point, last.zero_point)
    assert board.eval("m.input_zero_point + m.output_zero_point") == zero_points
    found = board.eval("m.input_scale + m.output_scale")
    np.testing.assert_array_equal(np.float32(found), np.float32([first.scale, last.scale]))
    board.exec("v = m.inputs[0].dequantize(x_integer)")
    for given in ("x_integer", "v", "list(v)"):
        assert board.eval(f"bytes(m.predict([{given}])[0]) == y_integer")
    assert board.eval("bare.input_scale") == (0.0,)


def test_real_numbers_for_integer_inputs_and_outputs(board, cases, small_models):
    (first,), (last,) = made.ends(small_models["small_cnn"])
    values = np.random.default_rng(3).normal(0, 3, 768).astype(np.float32)
    expected = quantized(values, first)
    board.exec(f"v = array('f', {values.tobytes()!r})")
    board.exec(f"q = bytearray({expected.tobytes()!r})")
    board.exec("wanted = bytes(integer.predict([q])[0])")
    assert board.eval("bytes(integer.predict([v])[0]) == wanted")
    answer = np.array(board.eval("list(integer.predict([v], real=True)[0])"), np.float32)
    raw_answer = np.frombuffer(board.eval("wanted"), np.int8)
    np.testing.assert_array_equal(answer, made.dequantize(raw_answer, last))


@pytest.mark.parametrize(
    "arguments",
    [
        "'/rom/apart.pte'",
        "'/rom/held.bpte'",
        "'/rom/alone.pte', data='/rom/apart.ptd'",
        "'/rom/apart.pte', data=open('/rom/apart.ptd', 'rb').read()",
    ],
)
def test_data_of_another_file(board, arguments):
    board.exec(f"m = ethosu.Model({arguments})\nimport gc\ngc.collect()")
    for _ in range(2):
        assert board.eval("bytes(m.predict([x_integer])[0]) == y_integer")
    board.exec("m.deinit()")


def test_scales_of_several_methods(board):
    """A method has the scales stored under its name; unnamed scales apply to all others."""
    board.exec("m = ethosu.Model('/rom/scales.pte')\nother = m.method('other')")
    facts = "[(each.input_scale, each.input_zero_point) for each in (m, other)]"
    assert board.eval(facts) == [((0.5,), (7,)), ((0.25,), (-3,))]
    board.exec("m.deinit()\nother.deinit()")


def test_data_keeps_its_memory(board):
    """If a data file's bytearray is resized later, the NPU still reads the old block."""
    board.exec(
        "import gc\nheld = bytearray(open('/rom/apart.ptd', 'rb').read())\n"
        "m = ethosu.Model('/rom/apart.pte', data=held)\n"
        "held.extend(bytes(5000))\nheld[:] = bytes(len(held))\nheld = None\ngc.collect()\n"
        "other = [bytes([255] * 3000) for _ in range(9)]"
    )
    assert board.eval("bytes(m.predict([x_integer])[0]) == y_integer")
    board.exec("m.deinit()\nother = None")


def test_methods_share_file_and_arena(board):
    board.exec("second = integer.method('second')")
    assert board.eval("integer.methods") == ("forward", "second")
    assert board.eval("(second.info()['method'], integer.info()['method'])") == (
        ("second", "forward")
    )
    same = "second.info()['arena_address'] == integer.info()['arena_address']"
    assert board.eval(same)
    board.exec("named = ethosu.Model('/rom/integer.pte', method='second')")
    for name in ("second", "integer", "second", "named"):
        assert board.eval(f"bytes({name}.predict([x_integer])[0]) == y_integer")
    board.exec("integer.deinit()\nimport gc\ngc.collect()")
    assert board.eval("bytes(second.predict([x_integer])[0]) == y_integer")
    board.exec("second.deinit()\ninteger = ethosu.Model('/rom/integer.pte')")


def test_a_method_that_keeps_state_has_an_arena_of_its_own(board):
    board.exec("first = ethosu.Model('/rom/state.pte')\nsecond = first.method('delay')")
    assert board.eval("(first.info()['keeps_state'], second.info()['keeps_state'])") == (
        (False, True)
    )
    assert board.eval("first.info()['arena_address'] != second.info()['arena_address']")
    for before, now in ((0, 1), (1, 2), (2, 3)):
        assert board.eval(f"list(first.predict([[{now}.0] * 4])[0])") == [now] * 4
        assert board.eval(f"list(second.predict([[{now}.0] * 4])[0])") == [before] * 4
    board.exec("second.reset()")
    assert board.eval("list(second.predict([[9.0] * 4])[0])") == [0] * 4


def test_constant_methods_are_values(board):
    board.exec("described = ethosu.Model('/rom/described.pte')")
    assert board.eval("described.methods") == ("forward",)
    assert board.eval("described.constants['get_labels']") == ("yes", "no", "größer")
    assert board.eval("[described.constants[name] for name in ('rate', 'gain', 'wide')]") == (
        [16000, 0.5, True]
    )
    assert board.eval("list(described.constants['mean'])") == [0.25, -1.0]
    assert board.eval("described.metadata('licence')") == b"MIT"
    assert board.eval("described.metadata('other')") is None
    board.exec("plain = ethosu.Model('/rom/small_cnn.tflite')")
    assert board.eval("(plain.methods, plain.constants)") == ((), {})
    assert board.eval("sorted(integer.constants)[:2]") == ["input0_scale", "input0_zp"]


def test_tensors_are_tensors(board, cases):
    method = ModelFile(cases["real"].program).methods["forward"]
    tensors = [i for i, value in enumerate(method.values) if value.kind == "tensor"]
    assert len(tensors) < len(method.values)
    assert board.eval("[t.index for t in real.tensors]") == tensors
    assert board.eval("real.info()['tensors']") == len(tensors)
    assert board.eval("(real.inputs[0].order, real.outputs[0].order)") == ((0, 2, 3, 1), (0, 1))


def test_info_of_a_program(board, board_npu, cases, raw):
    board.exec("calls = ethosu.Model('/rom/calls.pte')")
    described = describe(cases["real"].program)
    board.exec("i = real.info()")
    # Two steps run on the CPU, for input and output, and no copies.
    facts = "(i['config'], i['npu_calls'], i['cpu_steps'])"
    assert board.eval(facts) == (board_npu, 1, 2)
    assert board.eval("integer.info()['cpu_steps']") == 0
    assert board.eval("integer.metadata('vela_version')") is None
    assert board.eval("i['cpu_operators']") == described.cpu_operators
    assert board.eval("(i['planned_size'], i['quantized_values'], i['nchw'])") == (
        (described.planned_bytes, described.converted, False)
    )
    assert board.eval("(i['scratch_size'], i['fast_scratch_size'], i['keeps_state'])") == (
        (described.npu_operators[0].scratch_bytes, raw(board_npu).fast_scratch_size, False)
    )
    assert "integer I/O" in board.eval("i['notes'][0]")
    assert board.eval("integer.info()['notes']") == ()
    # With integer inputs and outputs, the conversions are inside, so the advice would not apply.
    found = board.eval("(lambda i: (i['quantized_values'] > 0, i['notes']))(calls.info())")
    assert found == (True, ())


@pytest.mark.parametrize("name", ["good", "near"])
def test_a_bundle_runs_and_tests_itself(board, name):
    board.exec(f"b = ethosu.Model('/rom/{name}.bpte')")
    assert board.eval("b.selftest()", timeout=30) is True
    if name == "good":
        assert board.eval("bytes(b.predict([x_integer])[0]) == y_integer")
    board.exec("b.deinit()")


@pytest.mark.parametrize("name", ["wrong", "far"])
def test_a_bundle_with_another_result_names_the_output(board, name):
    with pytest.raises(RemoteError, match=r"output 0 of case 0 \(forward\) differs"):
        board.exec(f"ethosu.Model('/rom/{name}.bpte').selftest()", timeout=30)
    if name == "far":
        board.exec(f"ethosu.Model('/rom/{name}.bpte').selftest(rtol=0.01)", timeout=30)


def test_a_damaged_bundle_raises_one_error(board, files):
    """A damaged bundle raises one ValueError, or its cases are unchanged.

    Only the NPU checks encoded weights; its error is an OSError.
    """
    inner = files["good.bpte"].index(b"ET12") - 4
    code = (
        "def spoilt(at):\n"
        "    data = bytearray(held)\n"
        "    data[at] ^= 0x7F\n"
        "    try: ethosu.Model(data).selftest()\n"
        "    except (OSError, RuntimeError, ValueError): return 1\n"
        "    return 0\n"
        "held = open('/rom/good.bpte', 'rb').read()"
    )
    board.exec(code)
    head = range(8, inner, max(1, inner // 20))
    tail = range(inner + 9, len(files["good.bpte"]), 4000)
    for at in (*head, *tail):
        board.eval(f"spoilt({at})", timeout=60)
    assert board.eval("spoilt(0)") == 1


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("ethosu.Model('/rom/integer.pte', method='third')", "no method third, but 6 others"),
        ("ethosu.Model('/rom/integer.pte', method=3)", "TypeError"),
        (
            "ethosu.Model('/rom/small_cnn.tflite', method='forward')",
            "has neither methods nor signatures",
        ),
        ("integer.predict([bytearray(3)])", "input 0 has 3 bytes"),
        ("integer.selftest()", "model has no self-test"),
        ("integer.method('third')", "no method third, but 6 others"),
        ("integer.method(3)", "TypeError"),
        ("ethosu.Model('/rom/small_cnn.tflite').method('x')", "has neither methods nor signatures"),
        ("ethosu.Model('/rom/small_cnn.tflite', data=b'x')", r"has no data file \(.ptd\), 1 byte"),
        ("ethosu.Model('/rom/alone.pte')", r"another file \(.ptd\), which was not given"),
        ("ethosu.Model('/rom/apart.pte', data=3)", "data"),
        ("ethosu.Model('/rom/apart.pte', data='/rom/none.ptd')", "ENOENT"),
        ("ethosu.Model('/rom/apart.pte', data='/rom/real.pte')", "its data is not in"),
        ("ethosu.Model('/rom/apart.ptd')", r"a data file \(.ptd\) of"),
    ],
)
def test_refusals(board, call, expected):
    with pytest.raises(RemoteError, match=expected):
        board.exec(call)
    assert board.eval("bytes(integer.predict([x_integer])[0]) == y_integer")


@pytest.fixture(scope="module")
def figures(emulator_only, cases, tmp_path_factory):
    """Count the programs' instructions with overhead.py, by name."""
    folder = tmp_path_factory.mktemp("programs")
    for name, case in cases.items():
        (folder / f"{name}.pte").write_bytes(case.program)
    return overhead.measure(sorted(folder.iterdir()))["models"]


def test_a_delegate_alone_costs_no_more_than_a_model_of_one_operator(figures):
    """A delegate costs as much as a one-operator model; ExecuTorch's execute() takes 1,587."""
    assert figures["integer"]["instructions_per_invoke_in_c"] <= 600
    assert figures["integer"]["instructions_per_run_into"] <= 1100
    assert figures["integer"]["heap_bytes_of_100_run_into"] == 0


def test_a_program_is_loaded_in_one_pass(figures, board_npu):
    """Loading takes one pass, 1,400 instructions in the driver; ExecuTorch's runtime takes 5,039.

    A board with more memories than MPS3_AN547 takes up to 300 more, to look up each buffer. 50 are
    for inputs that are no tensors. On an NPU with fast scratch, the commands are also read once,
    because only they tell the size of the fast scratch.
    """
    key = "instructions_to_load_in_c_unverified"
    a_word = 0 if "u55" in board_npu else overhead.AIMS["verifier_instructions_per_word"] + 2
    for name, most in {"integer": 7450, "real": 15420}.items():
        assert figures[name][key] <= most + a_word * figures[name]["command_words"]


def test_inputs_and_outputs_cost_3_and_2_instructions_per_value(figures):
    """Quantising takes 3, dequantising 2 instructions per value, plus about 50 per step."""
    key = "instructions_per_invoke_in_c"
    assert figures["real"][key] - figures["integer"][key] <= 3 * 768 + 2 * 10 + 2 * 50
