# SPDX-License-Identifier: MIT
"""The project's own models are reproducible, and have meaningful outputs."""

import numpy as np
import pytest
from ethosu_tools.model import make_model, tflite
from ethosu_tools.model.make_model import MODELS
from ethosu_tools.sim import oracle


@pytest.mark.parametrize("name", MODELS)
def test_the_output_follows_the_input(name):
    model = MODELS[name]()
    (tensor,) = oracle.Oracle(model).inputs
    random = np.random.default_rng(0)
    inputs = random.integers(-128, 128, (30, *tensor.shape)).astype(np.int8)
    result = oracle.run(model, [inputs], steps=30)["0"].reshape(30, -1).astype(int)
    assert np.ptp(result, axis=0).max() > 60


def test_the_command_writes_every_model(tmp_path):
    """The command writes every model with the same bytes each time."""
    make_model.main([str(tmp_path)])
    assert {path.stem: path.read_bytes() for path in tmp_path.iterdir()} == {
        name: make() for name, make in MODELS.items()
    }


def test_only_the_folder_is_required(capsys):
    with pytest.raises(SystemExit):
        make_model.main([])
    assert capsys.readouterr().err.endswith("are required: folder\n")


def test_vela_turns_each_into_one_npu_operator(compiled, small_models):
    cnn = tflite.describe(compiled(small_models["small_cnn"]))
    streaming = tflite.describe(compiled(small_models["small_streaming"]))
    assert len(cnn.npu_operators) == len(streaming.npu_operators) == 1
    assert cnn.cpu_operators == {}
    assert streaming.cpu_operators == {
        "CALL_ONCE": 1,
        "VAR_HANDLE": 2,
        "READ_VARIABLE": 2,
        "ASSIGN_VARIABLE": 2,
    }
