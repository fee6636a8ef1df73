# SPDX-License-Identifier: MIT
"""A Dask cluster gives the same counts as this machine."""

import json
import os
import subprocess

import numpy as np
import pytest

from host_tests.kit import sharing

SAMPLES = 300
CLUSTER = """\
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@pytest.fixture(scope="module")
def dask_python(tmp_path_factory):
    """Return the Python of an environment with Dask and these tools."""
    return sharing.python_with(tmp_path_factory.mktemp("dask"), "distributed==2026.8.0")


@pytest.mark.slow
def test_a_dask_cluster_does_the_same(
    ethosu, small_models, compiled, dask_python, repo, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    model, path, script = small_models["small_cnn"], tmp_path / "data.npz", tmp_path / "cluster.py"
    random = np.random.default_rng(5)
    images = random.integers(-128, 128, (SAMPLES, 1, 16, 16, 3)).astype("int8")
    np.savez(path, **{"0": images}, labels=random.integers(0, 10, SAMPLES))
    script.write_text(CLUSTER)
    words = ["validate", compiled(model), path, "--reference", model, "--json"]
    code, out, _ = ethosu(*words)
    assert code == 0 and json.loads(out)["exact"] == SAMPLES
    cluster = subprocess.Popen([dask_python, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with cluster:
        address = cluster.stdout.readline().decode().strip()
        command = [dask_python, "-m", "ethosu_tools.cli", *words, "--scheduler", address]
        done = subprocess.run(
            [str(word) for word in command],
            capture_output=True,
            text=True,
            env={**os.environ, "ETHOSU_ROOT": str(repo)},
        )
        cluster.stdin.close()
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(out)
