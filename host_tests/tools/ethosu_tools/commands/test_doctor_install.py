# SPDX-License-Identifier: MIT
"""`ethosu doctor --install` makes environments with packages that conflict with the tools'."""

import json
import subprocess
import sys
import tomllib
from importlib import metadata

import pytest
from ethosu_tools.base import other_python
from ethosu_tools.sim import litert
from packaging import markers

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
    """Return the calls that the stand-in records; the data folder is empty."""
    found = tmp_path / "log"
    python = program(tmp_path / "python", STAND_IN.format(log=str(found)))
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return lambda: [json.loads(line) for line in found.read_text().splitlines()]


def test_it_makes_an_environment_once(ethosu, log, tmp_path):
    folder = tmp_path / "data/ethosu/convert"
    code, out, err = ethosu("doctor", "--install", "convert")
    assert (code, out) == (0, f"{folder}/bin/python\n")
    assert err.startswith("ethosu: installing ") and len(err.splitlines()) == 1
    assert ethosu("doctor", "--install", "convert") == (0, f"{folder}/bin/python\n", "")
    made, rest, look = log()
    assert made == ["-m", "venv", str(folder)]
    pins = other_python.pins("convert")
    assert look[0] == "-c" and rest[-len(pins) :] == pins


def test_a_failed_environment_is_rebuilt(ethosu, log):
    code, _, err = ethosu("doctor", "--install", "convert", "--pip=--fail")
    assert code == 4 and err.endswith("ERROR: No matching distribution found for torch\n")
    assert ethosu("doctor", "--install", "convert")[0] == 0
    assert [words[1] for words in log()].count("venv") == 2


def test_requirements_are_those_of_the_project(ethosu, repo, log):
    project = tomllib.loads((repo / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for extra in other_python.kits():
        code, out, _ = ethosu("doctor", "--install", extra, "--requirements")
        assert code == 0 and sorted(out.split()) == sorted(extras[extra])
    assert any(each.startswith("tensorflow==") for each in extras["convert"])


def test_models_are_not_made_without_litert(tmp_path):
    code = (
        "import runpy, sys; sys.modules['ai_edge_litert'] = None; sys.argv[1:] = ['models'];"
        "runpy.run_module('ethosu_tools.model.make_model', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert f"run: pip install ai-edge-litert=={litert.installed()}" in done.stderr


@pytest.mark.parametrize(
    ("version", "system", "release"),
    [
        ("3.12", "linux", "1.2.0"),
        ("3.13", "linux", "2.3.0"),
        ("3.12", "win32", "2.3.0"),
        ("3.13", "darwin", "2.3.0"),
    ],
)
def test_a_package_is_named_in_the_release_for_this_python(monkeypatch, version, system, release):
    early, late = (
        "python_version < '3.13' and sys_platform != 'win32'",
        "python_version >= '3.13' or sys_platform == 'win32'",
    )
    lines = [f"one==1.2.0; ({early}) and extra == '{extra}'" for extra in "ab"]
    lines += [f"one==2.3.0; ({late}) and extra == 'a'", "two==1; extra == 'a'", "three==1"]
    lines += ["four==1; sys_platform == 'absent'"]
    here = markers.default_environment() | {"python_version": version, "sys_platform": system}
    monkeypatch.setattr(markers, "default_environment", lambda: here)
    monkeypatch.setattr(metadata, "requires", lambda _: lines)
    assert other_python.install("a") == f"pip install one=={release} two==1"
