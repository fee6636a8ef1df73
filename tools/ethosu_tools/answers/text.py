# SPDX-License-Identifier: MIT
"""Text of an estimate, from its plain data."""

from collections.abc import Iterable
from typing import Any

from ..base.ui import counted
from ..sim import figures

figure, frames = figures.time, figures.frames
BRACKET = " ("
BRACKETS = "In brackets: the range that measurements of chips suggest, or the minimum (>=)."
CPU = "CPU: instructions on an emulated board, at two per cycle; slow memory adds to it."


def summary(data: dict[str, Any]) -> list[tuple[str, str]]:
    """The estimate in a few lines, with its uncertainty."""
    operators = counted(data["cpu_operators"])
    shares = ", ".join(f"{unit} {share:.0%}" for unit, share in list(data["bounds"].items())[:4])
    lines = [
        ("latency", f"{figure(data)}, {frames(data)}"),
        ("", f"{data['basis']}"),
        (
            "system",
            f"{data['system']}: {data['npu']} at {data['clock_mhz']:g} MHz, weights in "
            f"{data['weights']}, tensors in {data['tensors']}",
        ),
        ("bound by", shares),
    ]
    lines += [("CPU", f"not included: {operators}")] if operators else []
    lines += [("", "`ethosu profile --on qemu` counts their instructions")] if operators else []
    return lines


def float_ends(cpu_operators: Iterable[str], dtypes: Iterable[str]) -> list[str]:
    """Advice for a model whose inputs or outputs, of these types, the CPU converts each time."""
    steps = [name for name in ("QUANTIZE", "DEQUANTIZE") if name in cpu_operators]
    if not steps or "float32" not in dtypes:
        return []
    removes = "--quantized-io of `ethosu compile` removes these steps"
    return [f"the CPU runs {' and '.join(steps)}; {removes}"]
