# SPDX-License-Identifier: MIT
"""`ethosu inspect`: show what a model contains and needs."""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .. import debug_table, models
from ..tflite.metadata import get
from ..ui import Ui


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "model", type=Path, help="a .tflite file, compiled or not, or an ExecuTorch program"
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Describe the model."""
    description = models.describe(args.model)
    data = models.read(args.model)
    with models.reading(args.model):
        table = None if models.is_program(data) else get(data, debug_table.NAME)
        operators = [] if table is None else debug_table.parse(table)
    return {
        "model": str(args.model),
        "bytes": len(data),
        **description.as_dict(),
        "debug_table": [asdict(entry) for entry in operators],
    }


def render(data: dict[str, Any]) -> str:
    """Lay the description out in lines."""
    lines = [
        f"model      {data['model']}, {data['bytes']:,} bytes",
        f"npu        {data['npu'] or 'none: not compiled yet'}",
    ]
    for operator in data["npu_operators"]:
        fast = operator["fast_scratch_bytes"]
        lines.append(
            f"ethos-u    {operator['stream_bytes']:,} bytes of commands, "
            f"{operator['constant_bytes']:,} of constants, {operator['scratch_bytes']:,} of scratch"
            + (f", {fast:,} of fast scratch" if fast else "")
        )
    for entry in data.get("debug_table", ()):
        place = f"ethos-u {entry['npu_operator']}, to byte {entry['end']:,}"
        lines.append(f"operator   {entry['name']}  ({place})")
    if data["cpu_operators"]:
        names = (f"{name} x {count}" for name, count in data["cpu_operators"].items())
        lines.append(f"cpu        {', '.join(names)}")
    lines += _render_program(data) if "methods" in data else []
    for end in ("input", "output"):
        for index, tensor in enumerate(data[f"{end}s"]):
            lines.append(f"{end:<6} {index:<3} {render_tensor(tensor)}")
    return "\n".join(lines)


def _render_program(data: dict[str, Any]) -> list[str]:
    """What only an ExecuTorch program has."""
    lines = [
        f"methods    {', '.join(data['methods'])}",
        f"planned    {data['planned_bytes']:,} bytes",
    ]
    if data["ends"]:
        lines.append(
            f"ends       {data['ends']:,} values quantised and dequantised by the CPU in each run; "
            "an export with int8 ends has none"
        )
    if data["nchw"]:
        lines.append(
            "layout     inputs are NCHW, so the NPU has to transpose them; "
            "export with torch.channels_last"
        )
    if data["missing"]:
        lines.append(f"missing    {', '.join(data['missing'])}: the firmware has no such operator")
    return lines


def render_tensor(tensor: dict[str, Any]) -> str:
    """One tensor in a line."""
    return (
        f"{tensor['dtype']} {list(tensor['shape'])} scale {tensor['scale']:.6g} "
        f"zero point {tensor['zero_point']}  {tensor['name']}"
    )
