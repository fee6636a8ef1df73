# SPDX-License-Identifier: MIT
"""Models in the native module, for host_tests/exactness."""

from pathlib import Path

import pytest

from host_tests.exactness import models
from host_tests.exactness.hosts import Get, Host, Row, Rows, runner

from . import native_board


def _native(get: Get, npu: str, model: Path, inputs: Rows) -> Rows:
    """The native module on an emulated board, under the name of the built-in one."""
    if get("pytestconfig").getoption("--ethosu-port"):
        pytest.skip("the address of the NPU is the emulated board's")
    with native_board.start(npu) as board:
        board.exec("import sys\nsys.modules['ethosu'] = ethosu")
        assert board.eval("__import__('ethosu') is ethosu")
        return runner(board, get, npu, model, inputs)


HOSTS = {"native": Host(_native, (pytest.mark.on_board,))}
MODELS = {}
ROWS = (Row("native", [None], (*models.SMOKE, "hello_world_int8")),)
