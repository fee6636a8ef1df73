# SPDX-License-Identifier: MIT
"""The arena of a model: what its plan saves, and which part each operator needs when."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...compile import plan
from ...model import ModelFile, ProgramDescription
from ...sim import table
from ...sim.simulation import Simulation
from . import memory, picture


def of(file: ModelFile) -> dict[str, Any]:
    """Plan a model as `ethosu compile` does; a program has the plan of its exporter."""
    description = file.description
    if not isinstance(description, ProgramDescription):
        return plan.plan_model(file)[0].as_dict()
    with Simulation(file) as simulation:
        info = simulation.info()
    copies = info["cpu_steps"] - sum(description.cpu_operators.values())
    return {
        "arena": info["arena_size"],
        "planned": description.planned_bytes,
        "scratch": info["scratch_size"],
        "fast_scratch": info["fast_scratch_size"],
        "state": description.state_bytes,
        "delegate_io": description.delegate_io,
        "copies": max(copies, 0),
        "npu": memory.scratch(file, table.record(file), info["scratch_size"]),
    }


def save(row: Mapping[str, Any], path: Path) -> None:
    """Draw the arena over time, or the NPU's scratch of a program (.svg or .html)."""
    picture.save(row.get("npu", row), path)


def text(row: Mapping[str, Any]) -> list[str]:
    """A drawing of the arena over time, and its sizes."""
    if "npu" in row:
        drawn = [picture.draw_text(row["npu"]), ""] if row["npu"]["blocks"] else []
        return [
            *drawn,
            f"arena      {row['arena']:,} bytes: {row['planned']:,} planned by the exporter, "
            f"{row['scratch']:,} of scratch, {row['fast_scratch']:,} of fast scratch",
            f"state      {row['state']:,} bytes of the planned memory persist between runs",
            f"in place   {row['copies']} of {row['delegate_io']} inputs and outputs of delegates "
            "are copied",
        ]
    return [
        picture.draw_text(row),
        "",
        f"arena      {sizes(row)}",
        *(
            f"concurrent with operator {call} (ethos-u): {', '.join(names)}"
            for call, names in row["concurrent"].items()
        ),
    ]


def sizes(row: Mapping[str, Any]) -> str:
    """One line with sizes and gain."""
    text = f"{row['arena']:,} bytes"
    if row["largest_scratch"]:
        text += f", up to {row['largest_scratch']:,} for a CPU operator's scratch"
    if row["fast_scratch"]:
        text += f", and {row['fast_scratch']:,} of fast scratch, after the arena or elsewhere"
    if row["arena_before"] is None or not row["gain"]:
        return text
    change = "saved" if row["gain"] > 0 else "more, so that the CPU can work while the NPU runs"
    return f"{text}; {row['arena_before']:,} without a plan: {abs(row['gain']):,} bytes {change}"


def cells(row: Mapping[str, Any] | None) -> tuple[str, str, str]:
    """Arena, Vela's arena with scratch behind it, and what the plan saves, for a table."""
    if row is None:
        return "-", "-", "-"
    if row.get("gain") is None:
        return f"{row['arena']:,}", "-", "-"
    return f"{row['arena']:,}", f"{row['arena_before']:,}", f"{row['gain']:,}"
