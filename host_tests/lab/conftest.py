# SPDX-License-Identifier: MIT
"""A fixture that runs the scripts of this folder."""

import json

import pytest

from host_tests.lab import script


@pytest.fixture
def lab(capsys):
    """Run a script; returns exit code, the printed JSON or text, and the error."""

    def run(module, *words):
        capsys.readouterr()
        try:
            script.main(module, [str(word) for word in words])
            code = 0
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        return code, json.loads(out) if out and "--json" in words else out, err

    return run
