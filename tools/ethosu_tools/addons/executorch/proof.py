# SPDX-License-Identifier: MIT
"""Compares an exported program with its PyTorch model.

The exporter runs some samples, in order, through the model and through the quantised one; here the
program runs them on the simulator.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...base.errors import InputError
from ...model import ModelFile, Tensor, arrays
from ...model.arrays import Array
from ...sim.difference import Difference
from ...sim.simulation import outputs

# Most samples to compare: enough to reveal wrong state, few enough for large models.
SAMPLES = 16
# Outputs with a lower signal-to-noise ratio show that the program is not the given model.
LEAST_DB = 10.0

# Steps of the export, in order, and what to do if a step makes the results wrong.
STEPS = {
    "exported": "torch.export.export() changes the model: keep state in buffers that are changed "
    "in place, as in self.past.copy_(x) instead of self.past = x",
    "quantised": "the quantisation changes it: give more `calibration` samples, like those of the "
    "application, or train the model for quantisation",
    "program": "ExecuTorch's exporter changes it: compile with --float-io, or leave out parts of "
    "the model, to see which one",
}
_FORCE = "--force writes it anyway"


def prove(program: ModelFile, samples: Path) -> dict[str, Any]:
    """Run a program with the exporter's samples; returns plain data, see `text`.

    InputError: its inputs or outputs are not those of the model.
    """
    with np.load(samples) as file:
        columns = {
            name: [file[f"{name}{i}"] for i in range(sum(key.startswith(name) for key in file))]
            for name in ("input", "eager", "exported", "quantised")
        }
        notes = file["notes"].tolist() if "notes" in file else []
    found = program.description
    for kind, name, tensors in (
        ("inputs", "input", found.inputs),
        ("outputs", "eager", found.outputs),
    ):
        if len(columns[name]) != len(tensors):
            raise InputError(
                f"{program} has {len(tensors)} {kind}, the PyTorch model {len(columns[name])}"
            )
    steps = list(zip(*map(_placed, columns["input"], found.inputs), strict=True))
    ours = outputs(program, [arrays.quantise_all(step, found.inputs) for step in steps])
    rows = []
    for number, tensor in enumerate(found.outputs):
        eager, exported, quantised = (
            _placed(columns[name][number], tensor) for name in ("eager", "exported", "quantised")
        )
        results = [step[number] for step in ours]
        made = {"exported": exported, "quantised": quantised, "program": results}
        rows.append(_compare(tensor, eager, made))
    return {"steps": len(steps), "outputs": rows, "notes": notes}


def _placed(column: Array, tensor: Tensor) -> list[Array]:
    """Arrange the values of each sample in a tensor's memory order."""
    if column.shape[1:] != tensor.sizes:
        raise InputError(
            f"{tensor.name} has shape {list(tensor.sizes)}, the PyTorch model's "
            f"{list(column.shape[1:])}"
        )
    return [sample.transpose(tensor.order) for sample in column]


def _compare(
    tensor: Tensor, eager: Sequence[Array], made: Mapping[str, Sequence[Array]]
) -> dict[str, Any]:
    """Compare one output: the ratio of each step to eager, and exactness to the quantised model.

    Only real values have ratios.
    """
    real = Tensor(tensor.name, tensor.shape, "float32")
    kinds = {name: tensor if name == "program" else real for name in made}
    ratios: dict[str, float] = {}
    for name, values in made.items() if eager[0].dtype.kind == "f" else ():
        if eager[0].size:
            ratio = Difference.of(values, eager, (kinds[name], real), LEAST_DB)
            ratios[name] = ratio.snr
    raw = [arrays.quantise(tensor.name, each, tensor) for each in made["quantised"]]
    exact = Difference.of(made["program"], raw, (tensor, tensor))
    return {
        "name": tensor.name,
        "snr": ratios,
        "exact": exact.as_dict(),
        "text": exact.text(),
    }


def reason(program: ModelFile, proof: dict[str, Any]) -> str:
    """Return why a program is not the given model; "" if it is."""
    poor = [row for row in proof["outputs"] if row["snr"].get("program", math.inf) < LEAST_DB]
    if not poor:
        return ""
    ratios = ", ".join(f"{row['snr']['program']:.1f} dB ({row['name']})" for row in poor)
    first = next(name for name in STEPS if any(row["snr"][name] < LEAST_DB for row in poor))
    return (
        f"the program for {program} does not compute what the PyTorch model computes: the "
        f"signal-to-noise ratio of {proof['steps']} samples is {ratios}, expected at least "
        f"{LEAST_DB:g} dB; {STEPS[first]}; {_FORCE}"
    )


def text(proof: dict[str, Any]) -> list[str]:
    """Format, for `ethosu compile`, how each output differs from both PyTorch models."""
    lines = []
    for row in proof["outputs"]:
        ratio = (
            f"{_decibels(row['snr']['program'])} against PyTorch's floats; " if row["snr"] else ""
        )
        lines.append(f"{row['name']}: {ratio}against its quantised model: {row['text']}")
    samples = f"{proof['steps']} sample{'s' if proof['steps'] > 1 else ''}"
    return [*lines, f"in {samples}, on the simulator", *proof["notes"]]


def _decibels(ratio: float) -> str:
    return "equal" if math.isinf(ratio) and ratio > 0 else f"{ratio:.1f} dB"
