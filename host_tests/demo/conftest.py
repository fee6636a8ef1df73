# SPDX-License-Identifier: MIT
"""Helpers of the demo's tests."""

import shutil
import subprocess

import numpy as np
import pytest
from ethosu_tools import oracle


class OracleModel:
    """The reference kernels behind the face of `ethosu.Model`, so that listen.py runs on a PC."""

    def __init__(self, path):
        self._oracle = oracle.Oracle(path)
        (x,), (y,) = self._oracle.inputs, self._oracle.outputs
        self.input_shape, self.output_shape = [x.shape], [y.shape]
        self.input_scale, self.output_scale = [x.scale], [y.scale]
        self.input_zero_point, self.output_zero_point = [x.zero_point], [y.zero_point]

    def predict(self, arrays):
        (shape,) = self.input_shape
        (y,) = self._oracle.step([np.asarray(arrays[0], np.int8).reshape(shape)])
        return [y.ravel()]


@pytest.fixture
def oracle_model():
    """Opens a model, `oracle_model(path)`, to be used like an `ethosu.Model`."""
    return OracleModel


@pytest.fixture
def make_wav(tmp_path):
    """Makes a WAV file with sox: `make_wav("-r 8000 -c 2", "synth 1 sine 440")`."""

    def make(form, effects):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.wav"
        sox = [shutil.which("sox"), "-n", *form.split(), path, *effects.split()]
        subprocess.run(sox, check=True, timeout=30)
        return path

    return make
