# SPDX-License-Identifier: MIT
"""Every output of every step equals TFLite's reference kernels, bit by bit.

Production wake-word models run 100 steps in a row and keep their state; the others get 20 random
inputs and both extremes. All on the simulated NPU in each of its sizes, and on emulated boards.
"""

from pathlib import Path

import numpy as np
import pymicro_wakeword
import pytest
from ethosu_tools import arrays, tflite
from ethosu_tools.oracle import Oracle
from ethosu_tools.session import open_session

OWN = ("small_cnn", "small_streaming")
SHARED = (
    "kws_ref_model",
    "ad01_int8",
    "pretrainedResnet_quant",
    "vww_96_int8",
    "hello_world_int8",
)
WAKE_WORDS = ("okay_nabu", "hey_jarvis", "alexa", "hey_mycroft")

PLACES = [("sim", f"ethos-u55-{macs}") for macs in (32, 64, 128, 256)]
PLACES += [("qemu", f"ethos-u55-{macs}") for macs in (128, 256)]


def random_and_extreme(path, seed=2024):
    """20 random inputs, then the lowest and the highest values."""
    random = np.random.default_rng(seed)
    columns = {}
    for index, tensor in enumerate(tflite.describe(path).inputs):
        low, high = np.iinfo(tensor.dtype).min, np.iinfo(tensor.dtype).max
        rows = random.integers(low, high, (20, *tensor.shape), tensor.dtype, endpoint=True)
        ends = [np.full((1, *tensor.shape), value, tensor.dtype) for value in (low, high)]
        columns[str(index)] = np.concatenate([rows, *ends])
    return columns


def stream(path, steps=100, seed=2025):
    """Noise that swells from silence to full scale and back: state must matter."""
    (tensor,) = tflite.describe(path).inputs
    random = np.random.default_rng(seed)
    swell = np.sin(np.linspace(0, np.pi, steps)).reshape(steps, 1, 1, 1)
    noise = random.integers(0, 256, (steps, *tensor.shape))
    return {"0": (noise * swell - 128).round().astype(tensor.dtype)}


@pytest.fixture(scope="session")
def expected():
    """Reference outputs of a model, computed once: `expected(path, inputs)`."""
    known = {}

    def compute(path, inputs):
        if path not in known:
            oracle = Oracle(path)
            feed = arrays.check(inputs, tflite.describe(path).inputs)
            known[path] = feed, [oracle.step(feed.step(index)) for index in range(feed.steps)]
        return known[path]

    return compute


@pytest.fixture(params=PLACES, ids="-".join)
def check(request, compiled, expected):
    """Runs a model in one place and compares: `check(path, inputs)`."""

    def run(path, inputs):
        where, npu = request.param
        feed, rows = expected(path, inputs)
        assert len({row[0].tobytes() for row in rows}) > 1, "the inputs must make a difference"
        with open_session(compiled(path, npu), where) as session:
            assert session.npu == npu
            for step, outputs in enumerate(session.run(feed)):
                for key, (found, wanted) in enumerate(zip(outputs, rows[step], strict=True)):
                    assert found.dtype == wanted.dtype and found.shape == wanted.shape
                    assert np.array_equal(found, wanted), f"output {key} of step {step}"
        assert step + 1 == feed.steps

    return run


@pytest.mark.parametrize("name", OWN)
def test_own_model(check, small_models, name):
    check(small_models[name], random_and_extreme(small_models[name]))


@pytest.mark.parametrize("name", SHARED)
def test_real_model(check, shared_models, name):
    path = shared_models / f"{name}.tflite"
    check(path, random_and_extreme(path))


@pytest.mark.parametrize("name", WAKE_WORDS)
def test_wake_word_model_over_100_steps(check, name):
    path = Path(pymicro_wakeword.__file__).parent / "models" / f"{name}.tflite"
    check(path, stream(path))
