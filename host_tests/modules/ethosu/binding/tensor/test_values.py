# SPDX-License-Identifier: MIT
"""Tests real and raw values of inputs and outputs, and the conversion between them."""

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ethosu_tools.compile.plan import record
from ethosu_tools.model.tflite import OFFSETS_NAME, metadata
from ethosu_tools.model.tflite.writer import Graph, write

from host_tests.kit.board_models import MODEL, raised
from host_tests.modules.ethosu.runtime.kernels import maker, plan_writer

from ..model.test_failures import compile_to
from . import values_table


def quantized(values, tensor, dtype=np.int8):
    """Quantise as TFLite does: single precision, halves away from zero, saturated."""
    steps = np.asarray(values, np.float32) / np.float32(tensor.scale)
    steps = np.copysign(np.floor(np.abs(steps) + np.float32(0.5)), steps)
    limits = np.iinfo(dtype)
    return np.clip(steps + tensor.zero_point, limits.min, limits.max).astype(dtype)


@pytest.fixture
def real(api, example):
    """Define real inputs, some far out of range, as `v` on the board."""
    oracle, x, _ = example
    values = np.random.default_rng(5).normal(0, 3, x.size).astype(np.float32)
    values[:3] = 1e9, -1e9, 0
    api.exec(f"v = array('f', {values.tobytes()!r})")
    return api, values, quantized(values, oracle.inputs[0])


# A slice of a view, which begins inside an array.
PART = "memoryview(array('f', [0.0] * 16 + list(v) + [0.0] * 16))[16:784]"


@pytest.mark.parametrize("kind", ["list(v)", "tuple(v)", "array('d', v)", PART])
def test_quantize_takes_any_row_of_numbers(real, kind):
    board, _, expected = real
    board.exec(f"y = bytearray(len(v))\nassert m.inputs[0].quantize({kind}, y) is y")
    assert board.eval("bytes(y)") == expected.tobytes()


def test_quantize_takes_integers(api, example):
    board, tensor = api, example[0].inputs[0]
    board.exec("y = bytearray(768)\nm.inputs[0].quantize(bytes(range(256)) * 3, y)")
    expected = quantized(np.tile(np.arange(256), 3), tensor)
    assert board.eval("bytes(y)") == expected.tobytes()


def test_quantize_nan_and_infinity(api, example):
    api.exec("y = bytearray(768)\nm.inputs[0].quantize([float('nan'), float('inf')] * 384, y)")
    zero_point = example[0].inputs[0].zero_point
    assert api.eval("bytes(y[:2])") == bytes([zero_point & 255, 127])


def test_quantize_rounds_saturates_and_allocates_nothing(real):
    board, _, expected = real
    board.exec(
        "import micropython\nt = m.inputs[0]\nmicropython.heap_lock()\n"
        "try: t.quantize(v)\nfinally: micropython.heap_unlock()"
    )
    assert board.eval("bytes(t.data)") == expected.tobytes()


def test_dequantize(api, example):
    oracle, _, y = example
    tensor = oracle.outputs[0]
    expected = [(int(raw) - tensor.zero_point) * tensor.scale for raw in y.flat]
    api.exec("m.run_into([x])\nf = array('f', [0] * len(golden))")
    assert api.eval("list(m.outputs[0].dequantize())") == pytest.approx(expected)
    assert api.eval("list(m.outputs[0].dequantize(bytearray(golden), f))") == pytest.approx(
        expected
    )
    assert api.eval("list(f)") == pytest.approx(expected)


def test_predict_takes_real_values(real, example):
    board, _, expected = real
    board.exec(f"q = bytearray({expected.tobytes()!r})\nwanted = bytes(m.predict([q])[0])")
    assert board.eval("bytes(m.predict([v])[0]) == bytes(m.predict([list(v)])[0]) == wanted")
    assert board.eval("bytes(m.outputs[0].data) == wanted")


def test_real_outputs_when_asked_for(api, example):
    tensor, y = example[0].outputs[0], example[2]
    expected = [(int(raw) - tensor.zero_point) * tensor.scale for raw in y.flat]
    assert api.eval("list(m.predict([x], real=True)[0])") == pytest.approx(expected)
    api.exec("n = ethosu.Model('/model.tflite', real=True)")
    assert api.eval("list(n.predict([x])[0])") == pytest.approx(expected)
    assert api.eval("bytes(n.predict([x], real=False)[0]) == golden")


def test_callable_input_writes_into_the_tensor(api):
    api.exec(
        "seen = []\n"
        "def fill(memory, shape, dtype):\n"
        "    seen.append((len(memory), shape, dtype))\n"
        "    memory[:] = x\n"
    )
    assert api.eval("bytes(m.predict([fill])[0]) == golden")
    assert api.eval("seen") == [(768, (1, 16, 16, 3), "b")]


def test_callable_input_that_raises(api):
    api.exec("def bad(memory, shape, dtype): raise KeyError(7)")
    assert raised(api, "m.predict([bad])") == "KeyError 7"
    assert api.eval("bytes(m.predict([x])[0]) == golden")


def test_callback_and_postprocess(api):
    api.exec("def best(model, inputs, outputs): return model is m, len(inputs), bytes(outputs[0])")
    assert api.eval("m.predict([x], best) == m.predict([x], callback=best) == (True, 1, golden)")
    api.exec("m.postprocess = best")
    assert api.eval("m.predict([x]) == (True, 1, golden)")
    api.exec("m = ethosu.Model('/model.tflite', postprocess=lambda model, i, outputs: 5)")
    assert api.eval("m.predict([x])") == 5


def test_all_tensors(api):
    tensors = api.eval("[(t.index, t.name, t.shape, t.dtype) for t in m.tensors]")
    assert [index for index, *_ in tensors] == list(range(len(tensors)))
    assert api.eval("m.inputs[0].index") in range(len(tensors))
    assert api.eval("m.inputs is m.inputs and m.inputs[0].data is m.inputs[0].data")


def test_attributes_describe_inputs_and_outputs(api, example):
    """OpenMV's ten attributes have the values of the reference."""
    oracle = example[0]
    for name, (tensor,) in (("input", oracle.inputs), ("output", oracle.outputs)):
        facts = f"m.{name}_shape, m.{name}_dtype, m.{name}_scale, m.{name}_zero_point"
        (shape,), dtype, (scale,), zero_points = api.eval(f"({facts})")
        assert (shape, dtype, zero_points) == (tensor.shape, ("b",), (tensor.zero_point,))
        assert scale == pytest.approx(tensor.scale, rel=1e-6)
    assert api.eval("(m.output_shape, m.output_dtype)") == (((1, 10),), ("b",))
    assert api.eval("(m.len, m.ram >= m.info()['arena_size'])") == (
        len(api.read_file("/model.tflite")),
        True,
    )


def test_scales_per_channel(board, board_npu, tmp_path, small_models):
    """All scales of a CPU operator's weights, one per channel, are reported."""
    from ethosu.vela.tflite.Model import Model

    path, source = tmp_path / "mixed.tflite", small_models["small_cnn"]
    mixed = compile_to(path, source, board_npu, "--vela=--ignore-ops CONV_2D")
    model = Model.GetRootAs(mixed, 0)
    graph = model.Subgraphs(0)
    board.write_file("/mixed.tflite", mixed)
    board.exec("import ethosu\nm = ethosu.Model('/mixed.tflite')")
    checked = 0
    for index in range(graph.TensorsLength()):
        tensor = graph.Tensors(index)
        quantization = tensor.Quantization()
        if quantization is None or quantization.ScaleLength() < 2 or tensor.Type() != 9:
            continue
        scales, axis = quantization.ScaleAsNumpy(), quantization.QuantizedDimension()
        assert board.eval(f"m.tensors[{index}].axis") == axis
        assert board.eval(f"m.tensors[{index}].scale") == pytest.approx(tuple(scales))
        raw = model.Buffers(tensor.Buffer()).DataAsNumpy().view(np.int8).reshape(
            tensor.ShapeAsNumpy()
        )  # fmt: skip
        shape = [-1 if one == axis else 1 for one in range(raw.ndim)]
        expected = raw * scales.reshape(shape)
        board.exec(f"t = m.tensors[{index}]\nf = t.dequantize()\nq = bytearray(len(f))")
        assert board.eval("list(f)") == pytest.approx(expected.ravel().tolist(), rel=1e-6)
        board.exec("t.quantize(f, q)")
        assert board.eval("bytes(q)") == raw.tobytes()
        checked += 1
    assert checked > 0


@pytest.mark.parametrize("tensor", values_table.TENSORS)
def test_what_each_type_of_object_means_for_each_type_of_tensor(board, tensor):
    """predict(), run_into() and run() agree for a model that returns its input."""
    scale, zero_point = {"int8": (0.5, 3), "uint8": (0.5, 3), "int16": (0.5, 0)}.get(
        tensor, (None, 0)
    )
    graph = maker.Maker(np.random.default_rng(1))
    numbers = {"int8": 9, "uint8": 3, "int16": 7, "int32": 2, "float32": 0, "bool": 6}
    ends = [end((1, 6), tensor, scale, zero_point) for end in (graph.input, graph.output)]
    fields = dict.fromkeys(("inDataType", "outDataType"), numbers[tensor])
    graph.operator("CAST", ends[:1], ends[1:], "CastOptions", **fields)
    model = plan_writer.add_plan(write([graph.graph], "cast"))
    board.write_file("/cast.tflite", model)
    board.exec("import ethosu\nm = ethosu.Model('/cast.tflite')")
    assert not values_table.differences(board, tensor, zero_point)


def test_float16_is_shown_as_bytes(board):
    """MicroPython has no array of it; values of another type would be wrong numbers."""
    graph = Graph("main")
    x, y = graph.tensor("x", (1, 4), "int16", 0.5), graph.tensor("y", (4,), "int16", 0.5)
    graph.operator("RESHAPE", [x], [y], "ReshapeOptions", newShape=[4])
    graph.inputs, graph.outputs = [x], [y]
    for tensor, _ in graph.tensors:
        tensor.type, tensor.quantization = schema.TensorType.FLOAT16, None
    places = {
        OFFSETS_NAME: record.encode_offsets([0, 16]),
        record.RECORD_NAME: record.encode(32, []),
    }
    board.write_file(MODEL, metadata.put(write([graph], "float16"), places))
    board.exec(f"import ethosu\nm = ethosu.Model({MODEL!r})\n(y,) = m.predict([bytes(range(8))])")
    assert board.eval("bytes(y)") == bytes(range(8)) == board.eval("bytes(m.outputs[0].data)")
    board.exec("m.run_into([y], [y])")
