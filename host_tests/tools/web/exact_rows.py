# SPDX-License-Identifier: MIT
"""Models on the board of the page, for host_tests/exactness."""

from pathlib import Path

import pytest
from ethosu_tools.addons.web import board

from host_tests.exactness import models
from host_tests.exactness.hosts import Get, Host, Row, Rows, runner

from . import needed


def _on_web(get: Get, npu: str, model: Path, inputs: Rows) -> Rows:
    """The board that is a WebAssembly instance."""
    needed.web()
    return runner("web", get, npu, model, inputs)


def _in_wasmtime(get: Get, npu: str, model: Path, inputs: Rows) -> Rows:
    """The same without node."""
    needed.web()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(board, "_node", lambda: Path("absent"))
        return runner("web", get, npu, model, inputs)


HOSTS = {
    "web": Host(_on_web, (pytest.mark.page,)),
    "web in wasmtime": Host(_in_wasmtime, (pytest.mark.page,)),
}
MODELS = {}
ROWS = (
    Row("web", ["ethos-u55-128"], models.SMOKE),
    Row("web in wasmtime", ["ethos-u55-128"], models.SMOKE),
    Row(
        *("web", ("ethos-u55-128", "ethos-u55-256", "ethos-u65-512", "ethos-u85-256")),
        (*models.SMALL, *models.WAKE_WORDS, *models.NETWORKS, models.LSTM, *models.MIXED, "discs"),
        slow=True,
    ),
)
