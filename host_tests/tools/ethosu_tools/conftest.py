# SPDX-License-Identifier: MIT
"""The command and its inputs, for the tests of the tools."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools import cli
from ethosu_tools.model import tflite

KEYS = tomllib.loads((Path(cli.__file__).parent / "commands/keys.toml").read_text())


@pytest.fixture
def ethosu(capsys):
    """Run `ethosu ...`; returns exit code, stdout, stderr."""

    def run(*words):
        capsys.readouterr()
        try:
            code = cli.main([str(word) for word in words])
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        if "--json" in words and out.startswith("{"):
            data = json.loads(out)
            error = KEYS["objects"]["error"]
            assert words[0] in KEYS["commands"], f"keys.toml has no command {words[0]}"
            names = error if data.keys() == {*error.split()} else KEYS["commands"][words[0]]
            check_keys(words[0], data, names)
        return code, out, err

    return run


def check_keys(what, data, names):
    """Fail if the keys of a command's JSON, or of an object in it, are not those of keys.toml."""
    kinds = dict((*each.split(":"), "")[:2] for each in names.split())
    needed = {key for key in kinds if not key.endswith("?")}
    if data and not ("model" in needed and "model" not in data):  # several models: another form
        assert needed <= data.keys(), f"{what}: keys of keys.toml are missing"
    kinds = {key.rstrip("?"): kind for key, kind in kinds.items()}
    for key, value in data.items():
        assert key in kinds, f"{what}: keys.toml has no {key}"
        for each in value if isinstance(value, list) else [value]:
            if kinds[key] and isinstance(each, dict):
                known = KEYS["objects"] if kinds[key] in KEYS["objects"] else KEYS["commands"]
                check_keys(f"{what}.{key}", each, known[kinds[key]])


@pytest.fixture
def fails(ethosu):
    """Runs `ethosu ...`, which must fail: `fails("run", path, code=3, said="cannot be read")`.

    Several texts are a tuple. Returns stderr.
    """

    def run(*words, code, said):
        found, _, err = ethosu(*words)
        texts = (said,) if isinstance(said, str) else said
        assert found == code and all(text in err for text in texts), err
        return err

    return run


@pytest.fixture
def inputs(tmp_path):
    """Write arrays that fit a model's inputs to a file: `inputs(model, steps=3)`."""

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
