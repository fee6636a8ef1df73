# SPDX-License-Identifier: MIT
"""Text of an estimate, from its plain data."""

from collections.abc import Iterable
from typing import Any

from ..base.ui import counted
from ..sim import figures

figure, frames = figures.time, figures.frames
BRACKET = " ("
BRACKETS = "In brackets: the range that measurements of chips suggest, or the minimum (>=)."
CPU = (
    "CPU: instructions counted on an emulated board, at two per cycle, the most that the core "
    "issues; `ethosu profile --on qemu` shows them at one; slow memory adds to it."
)


def summary(data: dict[str, Any], *, measured: bool = False) -> list[tuple[str, str]]:
    """The estimate in a few lines, with its uncertainty; `measured`: a measurement follows."""
    operators = counted(data["cpu_operators"])
    shares = ", ".join(f"{unit} {share:.0%}" for unit, share in list(data["bounds"].items())[:4])
    lines = [
        ("latency", f"{figure(data)}{'' if operators else f', {frames(data)}'}"),
        ("", f"{data['basis']}"),
        (
            "system",
            f"{data['system']}: {data['npu']} at {data['clock_mhz']:g} MHz, weights in "
            f"{data['weights']}, tensors in {data['tensors']}",
        ),
        ("bound by", shares),
    ]
    if operators:
        lines.append(("CPU", f"not included: {operators}"))
        lines += [] if measured else [("", "`ethosu profile --on qemu` counts their instructions")]
    return lines


def float_ends(cpu_operators: Iterable[str], dtypes: Iterable[str]) -> list[str]:
    """Advice for a model whose inputs or outputs, of these types, the CPU converts each time."""
    steps = [name for name in ("QUANTIZE", "DEQUANTIZE") if name in cpu_operators]
    if not steps or "float32" not in dtypes:
        return []
    removes = "--quantized-io of `ethosu compile` removes these steps"
    return [f"the CPU runs {' and '.join(steps)}; {removes}"]
