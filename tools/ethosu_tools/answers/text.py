# SPDX-License-Identifier: MIT
"""Text of an estimate, from its plain data."""

from typing import Any

from .. import boards
from ..base.ui import counted
from ..sim import figures, fit

# Notes below a table: basis of its figures, and what is unknown.
LEGEND = (
    "Milliseconds; the interval is 30 % below 0.2 ms, otherwise 20 %, from measurements of chips.",
    "Only a lower bound (>=) is known for Ethos-U65 and U85, for weights or tensors outside the",
    "chip, and for boards whose memory speeds are guesses. CPU operators are not included.",
    "Fits: the arena fits into the board's heap, and the file into /rom, or what is missing.",
    "Unknown for chips. `ethosu compile --board BOARD` says what would help.",
)


figure, interval, frames = figures.time, figures.bounds, figures.frames
BRACKET = " ms ("
BRACKETS = "In brackets: the range that measurements of chips suggest, or the minimum (>=)."


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
    if "cpu" in data:
        lines += [("CPU", line) for line in _cpu_time(data["cpu"], data["low_ms"])]
    elif operators:
        lines += [("", "`ethosu profile --on qemu` counts their instructions")]
    lines += [("faster", hint) for hint in data.get("hints", [])]
    if "blind_point" in data:
        lines += [("for scale", boards.BlindPoint(**data["blind_point"]).text)]
    lines += [("fits", fit.describe(data["fit"]))] if "fit" in data else []
    lines += [("picture", data["picture"])] if "picture" in data else []
    return lines


def _cpu_time(row: dict[str, Any], npu_ms: float) -> tuple[str, ...]:
    """Bounds of the CPU time, and of the sum if the NPU has to wait for the CPU."""
    text = f"{row['instructions']:,} instructions: driver, runtime, CPU operators, Python's call"
    if row["ms"] is None:
        return (f"{text}; the CPU clock is unknown",)
    return (
        text,
        f"at least {row['low_ms']:.3g} ms at {row['clock_mhz']:g} MHz, {row['ms']:.3g} ms at one "
        f"per cycle, more with slow memory; with the NPU at least {npu_ms + row['low_ms']:.3g} ms",
    )
