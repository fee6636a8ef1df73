# SPDX-License-Identifier: MIT
"""Runs batches of cases with TFLite's reference kernels and ours."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ethosu_tools.base.errors import ToolError
from ethosu_tools.sim.oracle import Oracle

from . import cases, cases_weighted, plan_writer  # noqa: F401  (generators register themselves)
from .maker import NO_UINT8, Array, Case, make


@dataclass
class Checked:
    """A case with the reference's outputs."""

    seed: int
    case: Case
    expected: list[list[Array]]


@dataclass
class Result:
    """The result of our runtime: a status, and outputs or an error message."""

    status: int
    data: bytes

    @property
    def text(self) -> str:
        return self.data.decode(errors="replace")


def _reference(case: Case) -> list[list[Array]]:
    oracle = Oracle(case.model)
    rows = [oracle.step(row) for row in case.inputs]
    return [clear_rest(row, case.group) for row in rows] if case.group else rows


def clear_rest(row: list[Array], group: int) -> list[Array]:
    """Clear entries after the last detection, which the reference leaves unchanged."""
    *lists, (count,) = row
    for array in lists:
        array[:, int(count) * group :] = 0
    return row


def generate(name: str, count: int) -> Iterator[Checked]:
    """Generate `count` cases of an operator that LiteRT accepts."""
    accepted = 0
    for seed in range(3 * count):
        case = make(name, seed)
        try:
            expected = _reference(case)
        except ToolError:
            continue
        yield Checked(seed, case, expected)
        accepted += 1
        if accepted == count:
            return
    raise AssertionError(f"LiteRT accepted {accepted} of {3 * count} cases of {name}")


def run(
    program: Path, folder: Path, batch: Sequence[tuple[bytes, list[list[Array]]]]
) -> list[Result]:
    """Run planned models, each on its inputs, in one process of run_cases.c."""
    with (folder / "cases").open("wb") as file:
        for model, inputs in batch:
            data = b"".join(array.tobytes() for row in inputs for array in row)
            file.write(struct.pack("<3I", len(model), len(inputs), len(data)))
            file.write(model)
            file.write(data)
    done = subprocess.run(
        [program, folder / "cases", folder / "results"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return list(_read(folder / "results"))


def _read(path: Path) -> Iterator[Result]:
    data = path.read_bytes()
    at = 0
    while at < len(data):
        status, size = struct.unpack_from("<iI", data, at)
        yield Result(status, data[at + 8 : at + 8 + size])
        at += 8 + size


def check(
    program: Path, folder: Path, name: str, count: int, *, cmsis_nn: bool = False
) -> list[str]:
    """Compare our kernel with the reference; returns a line for each case that differs."""
    checked = list(generate(name, count))
    batch = [
        (plan_writer.add_plan(item.case.model, cmsis_nn=cmsis_nn), item.case.inputs)
        for item in checked
    ]
    results = run(program, folder, batch)
    assert len(results) == len(checked)
    rows = [row for item in checked for row in (*item.case.inputs, *item.expected)]
    uint8 = any(array.dtype == np.uint8 for row in rows for array in row)
    assert uint8 == (name not in NO_UINT8), (
        f"{name}: the reference accepts {'' if uint8 else 'no '}uint8, but NO_UINT8 says "
        "the opposite (maker.py); prepare has to refuse uint8 if the reference does"
    )
    return [
        f"{name} case {item.seed}: {_difference(item, result)}"
        for item, result in zip(checked, results, strict=True)
        if _difference(item, result)
    ]


def _difference(item: Checked, result: Result) -> str:
    if result.status != 0:
        return f"refused with {result.status}: {result.text}"
    wanted = b"".join(array.tobytes() for row in item.expected for array in row)
    if result.data == wanted:
        return ""
    at = 0
    for step, row in enumerate(item.expected):
        for array in row:
            found = np.frombuffer(result.data, array.dtype, array.size, at).reshape(array.shape)
            at += array.nbytes
            wrong = int(np.count_nonzero(found != array))
            if wrong:
                return f"step {step}: {wrong} of {array.size} values differ"
    return "sizes differ"
