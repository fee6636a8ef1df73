# SPDX-License-Identifier: MIT
"""The command and its inputs, for the tests of the tools."""

import numpy as np
import pytest
from ethosu_tools import cli
from ethosu_tools.model import tflite


@pytest.fixture
def ethosu(capsys):
    """Runs `ethosu ...`; returns exit code, stdout, stderr."""

    def run(*words):
        capsys.readouterr()
        try:
            code = cli.main([str(word) for word in words])
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def inputs(tmp_path):
    """Writes arrays that fit a model's inputs: `inputs(model, steps=3)` is the file."""

    def write(model, steps=None):
        random = np.random.default_rng(7)
        lead = () if steps is None else (steps,)
        tensors = tflite.describe(model).inputs
        path = tmp_path / "in.npz"
        np.savez(
            path,
            **{
                str(index): random.integers(-128, 128, lead + tensor.shape).astype(tensor.dtype)
                for index, tensor in enumerate(tensors)
            },
        )
        return path

    return write
