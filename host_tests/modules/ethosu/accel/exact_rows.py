# SPDX-License-Identifier: MIT
"""Models under Linux, for host_tests/exactness."""

from pathlib import Path

from host_tests.exactness import models
from host_tests.exactness.hosts import Get, Host, Row, Rows, runner

from . import kernel


def _on_accel(get: Get, npu: str, model: Path, inputs: Rows) -> Rows:
    """Linux's interface, with the kernel's side simulated."""
    with kernel.simulated(npu):
        return runner("accel", get, npu, model, inputs)


HOSTS = {"accel": Host(_on_accel)}
MODELS = {}
_U65, _U85 = ("ethos-u65-256", "ethos-u65-512"), "ethos-u85-256"
ROWS = (
    Row("accel", (*_U65, _U85), models.SMOKE),
    Row("accel", _U65[:1], ("mixed_cnn", "detection")),
    Row("accel", (*_U65, _U85), models.NETWORKS, slow=True),
)
