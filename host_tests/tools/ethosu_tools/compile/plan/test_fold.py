# SPDX-License-Identifier: MIT
"""Float inputs and outputs become quantised, with equal results and less memory."""

import contextlib
import io
import json

import numpy as np
import pytest
from ethosu_tools import cli
from ethosu_tools.commands.compile import render
from ethosu_tools.compile.plan import plan_file
from ethosu_tools.compile.plan.fold import fold_quantization
from ethosu_tools.model import ModelFile
from ethosu_tools.sim.oracle import Oracle
from ethosu_tools.sim.simulation import Simulation

from host_tests.kit import board_models
from host_tests.kit.models.mixed_models import MODELS, MixedNet

STEPS = 20


def quantise(values, tensor):
    """Quantise as TFLite's QUANTIZE does: in single precision, halves away from zero."""
    limit = np.iinfo(tensor.dtype)
    real = values / np.float32(tensor.scale)
    rounded = np.copysign(np.floor(np.abs(real) + np.float32(0.5)), real) + tensor.zero_point
    return np.clip(rounded, limit.min, limit.max).astype(tensor.dtype)


def dequantise(values, tensor):
    """Dequantise as TFLite's DEQUANTIZE does."""
    real = np.float64(np.float32(tensor.scale)) * (values.astype(np.int32) - tensor.zero_point)
    return real.astype(np.float32)


@pytest.fixture
def compile_it(tmp_path):
    """Run `ethosu compile`; returns the compiled file and the command's output."""

    def run(source, *options):
        output, said = tmp_path / f"compiled{len(options)}.tflite", io.StringIO()
        with contextlib.redirect_stdout(said):
            assert cli.main(["compile", str(source), "-o", str(output), "--json", *options]) == 0
        return output, json.loads(said.getvalue())

    return run


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "float_io.tflite"
    path.write_bytes(MODELS["float_io"].make())
    return path


def test_same_results_and_a_smaller_arena(source, compile_it):
    as_it_was, before = compile_it(source)
    path, said = compile_it(source, "--quantized-io")
    assert "QUANTIZE and DEQUANTIZE; --quantized-io of `ethosu compile` removes" in render(before)
    assert "--quantized-io" not in render(said)
    assert said["folded"] == ["input", "real"]
    assert plan_file(path).arena < 0.75 * plan_file(as_it_was).arena
    oracle, random = Oracle(source), np.random.default_rng(5)
    with Simulation(path) as simulation:
        (end,), (out,) = simulation.inputs, simulation.outputs
        assert (end.dtype, out.dtype) == ("int8", "int8")
        assert simulation.info()["cpu_steps"] == 0
        for _ in range(STEPS):
            image = random.normal(0, 1, end.shape).astype(np.float32)
            found = dequantise(simulation.step([quantise(image, end)])[0], out)
            assert found.tobytes() == oracle.step([image])[0].tobytes()


def test_nothing_to_fold():
    file = ModelFile(MODELS["svdf"].make())
    assert fold_quantization(file) == (file, [])


def test_a_shared_input_or_output_is_not_folded():
    """A float input that is also an output, or shared, stays float."""
    net = MixedNet("seen", 2)
    x = net.conv(net.float_input((1, 8, 8, 3)), 4, kernel=(3, 3))
    net.graph.outputs += [net.to_float(x), net.graph.inputs[0]]
    file, lost = fold_quantization(net.finish())
    assert lost == ["real"]
    assert [op.name for op in file.graph.operators] == ["QUANTIZE", "CONV_2D"]


def test_a_self_test_with_quantized_io_is_refused(source, capsys):
    assert cli.main(["compile", str(source), "--selftest", "--quantized-io"]) == 2
    assert "--selftest cannot be combined with --quantized-io" in capsys.readouterr().err


def test_predict_with_real_numbers(board, board_npu, source, compile_it):
    """On a board, predict() still takes and returns float arrays."""
    path, _ = compile_it(source, "--quantized-io", "--npu", board_npu)
    board_models.load(board, path)
    image = np.random.default_rng(6).normal(0, 1, (1, 24, 24, 3)).astype(np.float32)
    board.write_file("/in.bin", image.tobytes())
    board.exec(
        "from array import array\n"
        "image = array('f', open('/in.bin', 'rb').read())\n"
        "with open('/out.bin', 'wb') as file: file.write(m.predict([image], real=True)[0])"
    )
    expected = Oracle(source).step([image])[0]
    assert board.read_file("/out.bin") == expected.tobytes()
    assert board.eval("m.inputs[0].dtype") == "b"
