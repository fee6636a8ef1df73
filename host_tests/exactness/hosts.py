# SPDX-License-Identifier: MIT
"""The hosts of the matrix, by name: each runs a compiled model and returns its outputs.

An add-on gives its own in exact_rows.py, in the folder of its tests.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ethosu_tools import boards
from ethosu_tools.boards.setup import emulated
from ethosu_tools.model import arrays, describe
from ethosu_tools.model.arrays import Array

from host_tests.kit.models.reference_cases import outputs_of
from host_tests.modules.ethosu.runtime.run import run_model

Rows = Iterable[Sequence[Array]]
# A function that returns a fixture by its name.
Get = Callable[[str], Any]


@dataclass(frozen=True)
class Host:
    """`run(get, npu, model, inputs)` gives the outputs of each step."""

    run: Callable[[Get, str, Path, Rows], Rows]
    marks: tuple[pytest.MarkDecorator, ...] = ()


class Row(NamedTuple):
    """All these models on all these NPUs; None is the host's own NPU."""

    host: str
    npus: Sequence[str | None]
    models: Sequence[str]
    vela: tuple[str, ...] = ()
    slow: bool = False


def runner(where: Any, get: Get, npu: str, model: Path, inputs: Rows, **options: Any) -> Rows:
    """What `ethosu run --on WHERE` opens."""
    return outputs_of(model, inputs, where, npu=npu, **options)


def _on_board(get: Get, npu: str, model: Path, inputs: Rows) -> Rows:
    """Run on the board of `--port` or `--board`, over its serial line."""
    return runner(get("board"), get, npu, model, inputs)


def _emulated(name: str, get: Get, npu: str, model: Path, inputs: Rows) -> Rows:
    """Run on the emulated board of this name."""
    return runner("qemu", get, npu, model, inputs, setup=emulated(name, npu))


def _sanitized(get: Get, npu: str, model: Path, inputs: Rows) -> Rows:
    """Run runtime, driver and simulator in a C program under ASan and UBSan."""
    data = run_model.run(model, inputs, npu=npu)
    ends = describe(model).outputs
    size = sum(end.size for end in ends)
    assert len(data) == size * len(inputs)
    return [arrays.split(data[at : at + size], ends) for at in range(0, len(data), size)]


EMULATED = tuple(name for name in boards.names() if boards.load(name).qemu)
HOSTS = {
    "sim": Host(partial(runner, "sim")),
    "sanitized": Host(_sanitized),
    "board": Host(_on_board, (pytest.mark.on_board,)),
    **{name: Host(partial(_emulated, name)) for name in EMULATED},
}
