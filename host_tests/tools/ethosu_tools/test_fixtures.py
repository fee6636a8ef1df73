# SPDX-License-Identifier: MIT
"""The fixture of the third-party models: missing models skip with a reason, and fail where all
tests have to run."""

import os
import shutil
import subprocess
import sys

import pytest

# Dependencies of conftest.py.
NEEDED = ("*.py", "kit/*.py", "tools/qemu_plugin/releases.py")
USES_MODELS = "def test_models(shared_models):\n    assert shared_models.is_dir()\n"


@pytest.fixture
def run_alone(repo, tmp_path):
    """Runs a test with this tree's fixtures in a separate tree."""
    ours, tests = repo / "host_tests", tmp_path / "tree" / "host_tests"
    for file in (each for pattern in NEEDED for each in ours.glob(pattern)):
        if file.name.startswith("test_"):
            continue
        copy = tests / file.relative_to(ours)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    (tests / "test_models.py").write_text(USES_MODELS)

    def run(ci):
        env = {key: value for key, value in os.environ.items() if key != "CI"}
        env["PYTHONPATH"] = str(tests.parent)
        command = [sys.executable, "-m", "pytest", "-ra", "-p", "no:cacheprovider"]
        done = subprocess.run(command, cwd=tests, env={**env, **ci}, capture_output=True, text=True)
        return done.stdout

    return run


def test_absent_models_skip_with_the_reason(run_alone):
    output = run_alone({})
    assert "1 skipped" in output and "third-party models are not part of the tree" in output


def test_absent_models_fail_in_continuous_integration(run_alone):
    assert "1 error" in run_alone({"CI": "true"})


def test_present_models_are_used(run_alone, tmp_path):
    (tmp_path / "shared" / "models").mkdir(parents=True)
    assert "1 passed" in run_alone({"CI": "true"})
