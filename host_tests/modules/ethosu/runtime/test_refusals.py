# SPDX-License-Identifier: MIT
"""Bad input on a board: one clear error each, and the next call works."""

import pytest

from host_tests.kit import board_models, firmware_image


@pytest.fixture
def cnn(api):
    """The model keeps working after each rejected input."""
    yield api
    assert api.eval("bytes(m.predict([x])[0]) == golden")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("m.predict([bytearray(3)])", "ValueError input 0 has 3 bytes, "),
        ("m.predict([array('f', [1])])", "ValueError input 0 has 1 values, expected 768"),
        ("m.predict([[1, 2]])", "ValueError input 0 has 2 values, expected 768"),
        ("m.predict([['a'] * 768])", "TypeError "),
        ("m.predict([array('h', x)])", "TypeError input 0 has typecode 'h', expected 'b' (int8)"),
        ("m.predict([x, x])", "ValueError 2 inputs given, the model has 1"),
        ("m.predict([])", "ValueError 0 inputs given, the model has 1"),
        ("m.predict([7])", "TypeError input 0 is of type int, expected a buffer"),
        ("m.predict(7)", "TypeError "),
        ("m.run_into([x], [bytes(99)])", "TypeError output is of type bytes, expected a writable"),
        ("m.run_into([x], [bytearray(99)])", "ValueError output 0 has 99 bytes, "),
        ("m.nonsense", "AttributeError "),
        ("m.len = 3", "AttributeError "),
    ],
)
def test_wrong_arguments(cnn, code, expected):
    assert board_models.raised(cnn, code).startswith(expected)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("ethosu.Model('/missing.tflite')", "OSError 2"),
        ("ethosu.Model(b'')", "ValueError not a .tflite file: 0 bytes"),
        ("ethosu.Model(b'this is no model at all')", "ValueError not a .tflite file: 23 bytes"),
        ("ethosu.Model(7)", "TypeError model is of type int, expected a buffer"),
        ("ethosu.Model('/model.tflite', npu=5)", "OSError 19 this board has no NPU"),
        ("ethosu.Model('/model.tflite', npu='ethos-u99')", "OSError 19 this board has no NPU 'eth"),
        ("ethosu.Model('/model.tflite', timeout_ms=-7)", "ValueError timeout_ms is -7"),
    ],
)
def test_not_a_model(cnn, code, expected):
    assert board_models.raised(cnn, code).startswith(expected)


@pytest.mark.parametrize("part", [0.01, 0.3, 0.6, 0.99])
def test_truncated_file(cnn, part):
    cnn.exec("f = open('/model.tflite', 'rb').read()")
    error = board_models.raised(cnn, f"ethosu.Model(f[:int({part} * len(f))])")
    assert error.startswith("ValueError ")
    assert "truncated at byte" in error


def test_model_for_another_npu(cnn, board_npu, compiled, small_models):
    other = "ethos-u55-256" if board_npu != "ethos-u55-256" else "ethos-u55-64"
    path = compiled(small_models["small_cnn"], other)
    cnn.write_file("/other.tflite", path.read_bytes())
    assert board_models.raised(cnn, "ethosu.Model('/other.tflite')") == (
        f"ValueError model was compiled for {other}, the NPU is {board_npu}; "
        f"run: ethosu compile MODEL.tflite --npu {board_npu}"
    )


def test_model_that_was_never_compiled(cnn, board_npu, small_models):
    cnn.write_file("/raw.tflite", small_models["small_cnn"].read_bytes())
    error = board_models.raised(cnn, "ethosu.Model('/raw.tflite')")
    assert error.startswith("ValueError model has no ethos-u operator")
    assert error.endswith(f"run: ethosu compile MODEL.tflite --npu {board_npu}")


def test_operator_without_a_kernel(cnn, board_npu, tmp_path):
    from ethosu_tools.tflite.writer import Graph, write
    from ethosu_tools.vela import compile_model

    graph = Graph("main")
    x, y, z = (graph.tensor(name, (1, 8), "int8", 0.1) for name in "xyz")
    graph.operator("ADD", [x, x], [y], "AddOptions")
    graph.operator("ABS", [y], [z], "AbsOptions")
    graph.inputs, graph.outputs = [x], [z]
    source, path = tmp_path / "abs.tflite", tmp_path / "mixed.tflite"
    source.write_bytes(write([graph], "an operator without a kernel"))
    compile_model(source, board_npu, path, more_options=["--ignore-ops", "ABS"])
    cnn.write_file("/mixed.tflite", path.read_bytes())
    error = board_models.raised(cnn, "ethosu.Model('/mixed.tflite')")
    assert error.startswith("ValueError operator 1 (ABS) of subgraph 0: ")
    assert "ETHOSU_KERNELS=all" in error


def test_arena_that_the_npu_cannot_see(request, cnn):
    if request.config.getoption("--ethosu-port"):
        pytest.skip("uses an address of the emulated board")
    unseen = firmware_image.of().unseen(65536)
    cnn.exec(f"import uctypes\na = uctypes.bytearray_at({unseen}, 65536)")
    error = board_models.raised(cnn, "ethosu.Model('/model.tflite', arena=a)")
    assert error.startswith(f"OSError 14 arena at {unseen:#x}"), error
    error = board_models.raised(
        cnn, f"with ethosu.reserve() as n: n.invoke(uctypes.bytes_at({unseen}, 64), [])"
    )
    assert error.startswith("ValueError payload begins with"), error


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("n.wait()", "OSError 22 no inference was started"),
        ("n.invoke(b'COP1', [])", "ValueError payload is 4 bytes long"),
        ("n.invoke(bytes(64), [])", "ValueError payload begins with 0x0, expected COP1"),
        ("n.invoke(bytes(64), [None] * 9)", "ValueError 9 bases given, expected at most 8"),
        ("n.invoke(bytes(64), [7])", "TypeError base is of type int, expected a buffer"),
        ("n.invoke(7, [])", "TypeError payload is of type int, expected a buffer"),
        ("n.wait(timeout_ms=-2)", "ValueError timeout_ms is -2"),
        ("m.predict([x])", "OSError 16 the NPU is reserved: release it first"),
        ("ethosu.reserve(timeout_ms=0)", "OSError 16 the NPU is reserved: release it first"),
        ("ethosu.reserve(timeout_ms=9)", "OSError 110 no NPU became free within 9 ms"),
        ("ethosu.reserve(npu=9)", "OSError 19 this board has no NPU"),
        ("n.invoke_async(b'', [], callback=1)", "TypeError callback must be callable"),
        ("n.pmu(0x1fff)", "ValueError this NPU has no PMU event 0x1fff"),
        ("n.pmu(*[0x11] * 9)", "ValueError 9 events given, the NPU counts "),
        ("n.release()\nn.wait()", "OSError 1 this NPU was released"),
        ("n.release()\nn.invoke(b'', [])", "OSError 1 this NPU was released"),
    ],
)
def test_handle(cnn, code, expected):
    cnn.exec("n = ethosu.reserve()")
    assert board_models.raised(cnn, code).startswith(expected)
    cnn.exec("n.release()")
