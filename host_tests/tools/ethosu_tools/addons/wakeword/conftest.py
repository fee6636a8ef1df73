# SPDX-License-Identifier: MIT
"""Helpers of the demo's tests."""

import shutil
import subprocess

import pytest


@pytest.fixture
def make_wav(tmp_path):
    """Makes a WAV file with sox: `make_wav("-r 8000 -c 2", "synth 1 sine 440")`."""

    def make(form, effects):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.wav"
        sox = [shutil.which("sox"), "-n", *form.split(), path, *effects.split()]
        subprocess.run(sox, check=True)
        return path

    return make
