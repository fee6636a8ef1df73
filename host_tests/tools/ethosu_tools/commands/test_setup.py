# SPDX-License-Identifier: MIT
"""`ethosu setup`: environments with packages that conflict with those of the tools."""

import json
import subprocess
import sys
import tomllib

import pytest
from ethosu_tools import other_python

from host_tests.kit.stand_ins import program

# Replaces this Python and that of the environment it makes, and records its calls.
STAND_IN = """\
import json, pathlib, shutil, sys
words = sys.argv[1:]
with open({log!r}, "a") as log:
    print(json.dumps(words), file=log)
if words[1:2] == ["venv"]:
    (pathlib.Path(words[2]) / "bin").mkdir(parents=True)
    shutil.copy(__file__, words[2] + "/bin/python")
if "--fail" in words:
    sys.exit("Collecting torch\\nERROR: No matching distribution found for torch\\nsome hint")
"""


@pytest.fixture
def log(tmp_path, monkeypatch):
    """Calls recorded by the stand-in; the data folder is empty."""
    found = tmp_path / "log"
    python = program(tmp_path / "python", STAND_IN.format(log=str(found)))
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return lambda: [json.loads(line) for line in found.read_text().splitlines()]


def test_it_makes_an_environment_once(ethosu, log, tmp_path):
    folder = tmp_path / "data/ethosu/executorch"
    code, out, err = ethosu("setup", "executorch")
    assert (code, out) == (0, f"{folder}/bin/python\n")
    assert err.startswith("ethosu: installing ") and len(err.splitlines()) == 1
    assert ethosu("setup", "executorch") == (0, f"{folder}/bin/python\n", "")
    made, rest, look = log()
    assert made == ["-m", "venv", str(folder)]
    pins = other_python.pins("executorch")
    assert look[0] == "-c" and rest[-len(pins) :] == pins


def test_a_failed_environment_is_rebuilt(ethosu, log):
    code, _, err = ethosu("setup", "convert", "--pip=--fail")
    assert code == 4 and err.endswith("ERROR: No matching distribution found for torch\n")
    assert ethosu("setup", "convert")[0] == 0
    assert [words[1] for words in log()].count("venv") == 2


def test_requirements_are_those_of_the_project(ethosu, repo, log):
    project = tomllib.loads((repo / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for extra in other_python.KITS:
        code, out, _ = ethosu("setup", extra, "--requirements")
        assert code == 0 and sorted(out.split()) == sorted(extras[extra])
    assert any(each.startswith("torch==") for each in extras["executorch"])


def test_models_are_not_made_without_litert(tmp_path):
    code = (
        "import runpy, sys; sys.modules['ai_edge_litert'] = None; sys.argv[1:] = ['models'];"
        "runpy.run_module('ethosu_tools.make_model', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "run: pip install ai-edge-litert==1.2.0" in done.stderr
