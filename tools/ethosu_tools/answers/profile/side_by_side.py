# SPDX-License-Identifier: MIT
"""Two models, or one on two NPUs or boards, layer by layer."""

from __future__ import annotations

from typing import Any

from ...base.errors import InputError
from ...model import arrays
from ...sim import simulation
from ...sim.difference import Difference
from .. import views
from ..subject import Subject
from ..views import cell

_HEAD = ("layer", "A cycles", "B cycles", "B - A", "A bytes", "B bytes", "A bound", "B bound")
_STEPS = 3  # random inputs whose outputs are compared


def compare(a: Subject, b: Subject) -> dict[str, Any]:
    """Both models, their layers, and how far their outputs differ."""
    return {
        "a": a.as_dict(),
        "b": b.as_dict(),
        "layers": _layers(a, b),
        "outputs": compare_outputs(a, b),
    }


def _layers(a: Subject, b: Subject) -> list[dict[str, Any]]:
    """One row per layer name, in A's order, followed by the layers that only B has."""
    rows: dict[str, dict[str, Any]] = {}
    for key, model in (("a", a), ("b", b)):
        peak = views.peak(model.system.npu)
        for layer in model.layers:
            row = rows.setdefault(layer.name, {"name": layer.name, "a": None, "b": None})
            row[key] = views.as_dict(layer, model.cycles, peak)
    return list(rows.values())


def compare_outputs(a: Subject, b: Subject) -> dict[str, Any]:
    """Compare outputs for the same inputs; "why" is the reason if they cannot be compared."""
    try:
        given = arrays.random_steps(a.file.description.inputs, _STEPS)
        return Difference.of_outputs(
            simulation.outputs(a.file, given), simulation.outputs(b.file, given)
        ).as_dict()
    except InputError as error:
        return {"why": str(error)}


def text(data: dict[str, Any]) -> str:
    """Format the layers, followed by the totals."""
    lines = [views.text(_HEAD, [_row(row) for row in data["layers"]], *_HEAD[1:6]), ""]
    for name, model in (("A", data["a"]), ("B", data["b"])):
        lines.append(f"{name}  {model['model']} on {model['npu'] or 'the CPU'}, {model['system']}")
    for key in ("cycles", "arena", "bytes"):
        first, second = data["a"][key], data["b"][key]
        change = f" ({second / first - 1:+.1%})" if first else ""
        lines.append(f"{key:<10} {first:,} -> {second:,}{change}")
    figures = data["outputs"]
    outputs = f"not compared: {figures['why']}" if "why" in figures else views.difference(figures)
    return "\n".join([*lines, f"outputs    {outputs}"])


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    both = row["a"], row["b"]
    cycles = [layer and layer["cycles"] for layer in both]
    return (
        row["name"],
        *(cell(layer, "cycles") for layer in both),
        "" if None in cycles else f"{cycles[1] - cycles[0]:+,}",
        *(cell(layer, "bytes") for layer in both),
        *(cell(layer, "bound") for layer in both),
    )
