# SPDX-License-Identifier: MIT
"""ExecuTorch programs are exact: our own against TFLite, exported ones against PyTorch's answer."""

import json

import numpy as np
import pytest
from ethosu_tools import executorch
from ethosu_tools.arrays import Feed
from ethosu_tools.runner import open_runner
from ethosu_tools.sim import Simulation

from . import made
from .conftest import OPTIONS

EXPORTED = {
    "conv_u55_128": "ethos-u55-128",
    "conv_u55_128_int8io": "ethos-u55-128",
    "conv_u85_256": "ethos-u85-256",
    "dscnn_u55_128": "ethos-u55-128",
    "mixed_u55_128_cortexm": "ethos-u55-128",
    "twoconv_nchw": "ethos-u55-128",
    "twoconv_nhwc": "ethos-u55-128",
}


def check(runner, case, steps=2):
    """A second run must not see what the first one left."""
    found = list(runner.run(Feed(tuple(np.stack([x] * steps) for x in case.inputs), steps, True)))
    assert len(found) == steps
    for outputs in found:
        for array, expected in zip(outputs, case.outputs, strict=True):
            assert array.dtype == expected.dtype and array.shape == expected.shape
            np.testing.assert_array_equal(array.view(np.uint8), expected.view(np.uint8))


def exported(folder, name):
    """An exported program; its arrays in the order in which the program has them in memory."""
    folder = folder / name
    program = (folder / f"{name}.pte").read_bytes()
    method = executorch.Program(program).method()
    inputs = [np.load(path) for path in sorted(folder.glob("input*.npy"))]
    outputs = [np.load(path) for path in sorted(folder.glob("expected*.npy"))]
    if name.endswith("int8io"):
        io = json.loads((folder / "io_qparams.json").read_text())
        first = made.End((), io["input0_scale"], io["input0_zp"])
        last = made.End((), io["output0_scale"], io["output0_zp"])
        inputs = [made.quantize(x, first) for x in inputs]
        outputs = [made.quantize(y, last) if y.dtype == np.float32 else y for y in outputs]

    def ordered(arrays, values):
        tensors = [method.tensor(index) for index in values]
        return [
            np.ascontiguousarray(array.reshape(tensor.sizes).transpose(tensor.order))
            for array, tensor in zip(arrays, tensors, strict=True)
        ]

    return made.Case(program, ordered(inputs, method.inputs), ordered(outputs, method.outputs))


@pytest.mark.parametrize("name", EXPORTED)
def test_an_exported_program_is_exact(shared_programs, name):
    case = exported(shared_programs, name)
    with Simulation(case.program, coherence="strict") as simulation:
        assert simulation.npu == EXPORTED[name]
        check(simulation, case)


@pytest.mark.parametrize("name", EXPORTED)
def test_an_exported_program_is_exact_on_a_board(shared_programs, name):
    case = exported(shared_programs, name)
    with open_runner(shared_programs / name / f"{name}.pte", "qemu") as runner:
        check(runner, case)


@pytest.mark.parametrize("inline", [False, True], ids=["segment", "inline"])
@pytest.mark.parametrize("name", OPTIONS)
def test_integer_ends(raw, small_models, name, inline):
    model = small_models["small_cnn"]
    program = made.quantised_ends(model, raw(name), inline=inline).encode()
    with Simulation(program, coherence="strict") as simulation:
        check(simulation, made.quantised_case(model, program))


@pytest.mark.parametrize("name", OPTIONS)
def test_real_ends(raw, small_models, name):
    model = small_models["small_cnn"]
    program = made.real_ends(model, raw(name)).encode()
    with Simulation(program, coherence="strict") as simulation:
        check(simulation, made.real_case(model, program))


@pytest.mark.parametrize("ends", ["integer", "real"])
@pytest.mark.parametrize("name", ["u55", "u65 dedicated", "u85 separate"])
def test_an_own_program_on_a_board(raw, small_models, tmp_path, name, ends):
    model = small_models["small_cnn"]
    make, case = {
        "integer": (made.quantised_ends, made.quantised_case),
        "real": (made.real_ends, made.real_case),
    }[ends]
    path = tmp_path / "own.pte"
    path.write_bytes(make(model, raw(name)).encode())
    with open_runner(path, "qemu") as runner:
        check(runner, case(model, path.read_bytes()))
