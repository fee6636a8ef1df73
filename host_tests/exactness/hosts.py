# SPDX-License-Identifier: MIT
"""The hosts of the matrix, by name: each runs a compiled model and returns its outputs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ethosu_tools import boards
from ethosu_tools.boards.setup import emulated
from ethosu_tools.model import arrays, describe
from ethosu_tools.model.arrays import Array

from host_tests.kit import needs
from host_tests.kit.reference_cases import outputs_of
from host_tests.modules.ethosu.accel import kernel
from host_tests.modules.ethosu.natmod import native_board
from host_tests.modules.ethosu.runtime import run_model

Rows = Iterable[Sequence[Array]]
# Gets a fixture by its name.
Get = Callable[[str], Any]


@dataclass(frozen=True)
class Host:
    """`run(get, npu, model, inputs)` gives the outputs of each step."""

    run: Callable[[Get, str, Path, Rows], Rows]
    marks: tuple[pytest.MarkDecorator, ...] = ()


def _runner(where: Any, get: Get, npu: str, model: Path, inputs: Rows, **options: Any) -> Rows:
    return outputs_of(model, inputs, where, npu=npu, **options)


def _on_board(get: Get, npu: str, model: Path, inputs: Rows) -> Rows:
    """The board of `--port` or `--board`, over its serial line."""
    return _runner(get("board"), get, npu, model, inputs)


def _on_accel(get: Get, npu: str, model: Path, inputs: Rows) -> Rows:
    """Linux's interface, with the kernel's side simulated."""
    with kernel.simulated(npu):
        return _runner("accel", get, npu, model, inputs)


def _emulated(name: str, get: Get, npu: str, model: Path, inputs: Rows) -> Rows:
    """The emulated board of this name."""
    return _runner("qemu", get, npu, model, inputs, setup=emulated(name, npu))


def _on_web(get: Get, npu: str, model: Path, inputs: Rows) -> Rows:
    """The board that is a WebAssembly instance."""
    needs.web()
    return _runner("web", get, npu, model, inputs)


def _sanitized(get: Get, npu: str, model: Path, inputs: Rows) -> Rows:
    """Runtime, driver and simulator in a C program under ASan and UBSan."""
    data = run_model.run(model, inputs, npu=npu)
    ends = describe(model).outputs
    size = sum(end.size for end in ends)
    assert len(data) == size * len(inputs)
    return [arrays.split(data[at : at + size], ends) for at in range(0, len(data), size)]


def _native(get: Get, npu: str, model: Path, inputs: Rows) -> Rows:
    """The native module on an emulated board, under the name of the built-in one."""
    if get("pytestconfig").getoption("--ethosu-port"):
        pytest.skip("the address of the NPU is the emulated board's")
    with native_board.start(npu) as board:
        board.exec("import sys\nsys.modules['ethosu'] = ethosu")
        assert board.eval("__import__('ethosu') is ethosu")
        return _runner(board, get, npu, model, inputs)


EMULATED = tuple(name for name in boards.names() if boards.load(name).qemu)
HOSTS = {
    "sim": Host(partial(_runner, "sim")),
    "sanitized": Host(_sanitized),
    "accel": Host(_on_accel),
    "board": Host(_on_board, (pytest.mark.on_board,)),
    "native": Host(_native, (pytest.mark.on_board,)),
    "web": Host(_on_web, (pytest.mark.page,)),
    **{name: Host(partial(_emulated, name)) for name in EMULATED},
}
