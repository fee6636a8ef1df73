# SPDX-License-Identifier: MIT
"""`Model` for Python programs, on the simulator."""

import asyncio
import subprocess
import sys
from pathlib import Path

import ethosu_tools
import numpy as np
import pytest
from ethosu_tools import Model
from ethosu_tools.base.errors import BoardError, InputError
from ethosu_tools.sim import oracle

# Without the hooks that pip installs into an environment.
SITE = f"""
import sys
sys.path += {[str(Path(np.__file__).parents[1]), str(Path(ethosu_tools.__file__).parents[1])]!r}
"""


@pytest.fixture
def path(small_models, compiled):
    return compiled(small_models["small_cnn"])


@pytest.fixture
def model(path):
    with Model(path) as model:
        yield model


@pytest.fixture
def inputs(model):
    random = np.random.default_rng(3)
    return [random.integers(-128, 128, t.shape).astype(t.dtype) for t in model.inputs]


@pytest.fixture
def expected(small_models, inputs):
    return list(oracle.run(small_models["small_cnn"], inputs).values())


def test_predict_is_exact_for_paths_and_bytes(path, model, inputs, expected):
    assert model.npu == "ethos-u55-128"
    np.testing.assert_array_equal(model.predict(inputs), expected)
    with Model(path.read_bytes()) as other:
        np.testing.assert_array_equal(other.predict(inputs), expected)
        np.testing.assert_array_equal(model.predict(inputs), expected)
    other.close()
    with Model(str(path)) as other:
        np.testing.assert_array_equal(other.predict(inputs), expected)


def test_real_values_go_in_and_out(model, inputs, expected):
    (tensor,), (last,) = model.inputs, model.outputs
    real = (inputs[0].astype(np.float32) - tensor.zero_point) * tensor.scale
    (found,) = model.predict([real], real=True)
    wanted = (expected[0].astype(np.float32) - last.zero_point) * np.float32(last.scale)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(model.predict([real.reshape(-1).tolist()])[0], expected[0])


def test_real_values_beyond_the_range_are_clamped(model):
    (tensor,) = model.inputs
    greatest = model.predict([np.full(tensor.shape, 127, np.int8)])
    np.testing.assert_array_equal(model.predict([np.full(tensor.shape, 1e9)]), greatest)


def test_in_place_and_into_the_callers_arrays(model, inputs, expected):
    (tensor,), (last,) = model.inputs, model.outputs
    into = [np.zeros(last.shape, last.dtype)]
    model.run_into(inputs, into)
    np.testing.assert_array_equal(into, expected)
    model.data(tensor)[...] = inputs[0]
    model.run_into()
    np.testing.assert_array_equal(model.data(last), expected[0])


def test_tasks_take_turns(model, inputs, expected):
    async def both():
        return await asyncio.gather(*(model.run(inputs) for _ in range(3)))

    for found in asyncio.run(both()):
        np.testing.assert_array_equal(found, expected)
    into = [np.zeros_like(expected[0])]
    assert asyncio.run(model.run(inputs, into)) is None
    np.testing.assert_array_equal(into, expected)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "has 1 inputs, found 0"),
        ([np.zeros(5, np.int8)], r"input 0 must have shape \[1, 16, 16, 3\], found \[5\]$"),
        (
            [np.zeros((1, 3, 16, 16), np.int8)],
            r"found \[1, 3, 16, 16\]; .* np\.transpose\(x, \(0, 2, 3, 1\)\)$",
        ),
        ([np.zeros((16, 16, 3), np.int16)], "input 0 must be int8, found int16"),
        ([np.full((16, 16, 3), np.nan)], r"input 0 has NaN at index \[0, 0, 0\], expected finite"),
        ([np.full((16, 16, 3), -np.inf)], "input 0 has an infinite value at index"),
    ],
)
def test_wrong_inputs_are_reported(model, inputs, expected, given, message):
    with pytest.raises(InputError, match=message):
        model.predict(given)
    with pytest.raises(InputError, match="has 1 outputs, found 0"):
        model.run_into(inputs, [])
    with pytest.raises(
        InputError, match=r"output 0 has shape \[1, 10\], found an array of \[2, 5\]"
    ):
        model.run_into(inputs, [np.zeros((2, 5), np.int8)])
    np.testing.assert_array_equal(model.predict(inputs), expected)


def test_wrong_devices_are_reported(path, tmp_path):
    with pytest.raises(BoardError, match="/dev/no_such_port cannot be opened: No such file"):
        Model(path, on="/dev/no_such_port")
    with pytest.raises(InputError, match="a model on a board must be given as a path, found"):
        Model(path.read_bytes(), on="/dev/no_such_port")
    with pytest.raises(InputError, match=r"none\.tflite"):
        Model(tmp_path / "none.tflite")


def test_a_board_needs_little_for_it():
    code = """
import sys
from ethosu_tools import Model
assert Model
files = (getattr(module, "__file__", None) or "" for module in tuple(sys.modules.values()))
print(*{f.partition("site-packages/")[2].split("/")[0] for f in files if "site-packages/" in f})
"""
    done = subprocess.run([sys.executable, "-S", "-c", SITE + code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == {"numpy"}
