# SPDX-License-Identifier: MIT
"""The models that the board and Vela as WebAssembly are checked with."""

from pathlib import Path

import pytest
from ethosu_tools import make_mixed, make_model, objects
from ethosu_tools.wakeword import words

SHARED = (
    "ad01_int8",
    "hello_world_int8",
    "kws_ref_model",
    "pretrainedResnet_quant",
    "trained_lstm_int8",
    "vww_96_int8",
)
MADE = {
    **make_model.MODELS,
    **{name: mixed.make for name, mixed in make_mixed.MODELS.items()},
    "discs": objects.discs_model,
}
NAMES = (*MADE, *words.NAMES, *SHARED)


@pytest.fixture(params=NAMES)
def model(request, tmp_path) -> Path:
    """Each of them, before Vela."""
    if request.param in words.NAMES:
        return words.load(request.param).model
    if request.param in SHARED:
        return request.getfixturevalue("shared_models") / f"{request.param}.tflite"
    path = tmp_path / f"{request.param}.tflite"
    path.write_bytes(MADE[request.param]())
    return path
