# SPDX-License-Identifier: MIT
"""`ethosu inspect`: show what a model contains and needs."""

import argparse
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..errors import InputError, SetupError
from ..layers.table import Names
from ..model import ANY, DATA, ModelFile
from ..sim import Simulation
from ..ui import Ui, counted
from ..vela_versions import open_model

# Constant methods that describe integer inputs and outputs; these are shown with the tensors.
_IO_CONSTANT = re.compile(r"(input|output)\d+_(scale|zp|zero_point|quant_min|quant_max|dtype)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, help=ANY)
    add_data_option(parser)


def add_data_option(parser: argparse.ArgumentParser) -> None:
    """Declare --data."""
    parser.add_argument(
        "--data",
        type=Path,
        metavar="PTD",
        help=f"data file of an ExecuTorch program (default: NAME{DATA.suffix} in its folder, "
        "if any)",
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Describe the model."""
    file = open_model(ui, args.model, args.data)
    return {
        "model": str(file),
        "bytes": len(file.data),
        **file.description.as_dict(),
        "vela": file.vela_version,
        **(_load_program(file) if file.is_program else {}),
        "debug_table": [asdict(entry) for entry in Names(file).entries],
    }


def _load_program(file: ModelFile) -> dict[str, Any]:
    """Facts of a program from the runtime, which loads it on a simulated NPU."""
    facts: dict[str, Any] = {"cases": len(file.cases), "runtime": None, "refused": None}
    try:
        with Simulation(file) as simulation:
            facts["runtime"] = simulation.info()
    except InputError as error:
        facts["refused"] = str(error)
    except SetupError:
        pass  # no simulator: show only what the file contains
    return facts


def render(data: dict[str, Any]) -> str:
    """Format the description."""
    lines = [
        f"model      {data['model']}, {data['bytes']:,} bytes",
        f"npu        {data['npu'] or _no_npu(data)}",
        *([f"vela       {data['vela']}"] if data.get("vela") else []),
    ]
    for operator in data["npu_operators"]:
        fast = operator["fast_scratch_bytes"]
        lines.append(
            f"ethos-u    {operator['stream_bytes']:,} bytes of commands, "
            f"{operator['constant_bytes']:,} of constants, {operator['scratch_bytes']:,} of scratch"
            + (f", {fast:,} of fast scratch" if fast else "")
        )
    for entry in data.get("debug_table", ()):
        commands = f"up to byte {entry['end']:,} of ethos-u {entry['npu_operator']}'s commands"
        lines.append(f"operator   {entry['name']}  ({commands})")
    if data["cpu_operators"] and "cpu" not in data:
        lines.append(f"cpu        {counted(data['cpu_operators'])}")
    lines += _render_program(data) if "methods" in data else []
    for direction in ("input", "output"):
        for index, tensor in enumerate(data[f"{direction}s"]):
            lines.append(f"{direction:<6} {index:<3} {render_tensor(tensor)}")
    return "\n".join(lines)


def _no_npu(data: dict[str, Any]) -> str:
    return "none: the CPU computes everything" if data["compiled"] else "none: not compiled yet"


def _render_program(data: dict[str, Any]) -> list[str]:
    """The lines that only an ExecuTorch program has."""
    lines = [f"methods    {', '.join(data['methods'])}"]
    lines += [
        f"constant   {name} = {value!r:.60}"
        for name, value in data["constants"].items()
        if not _IO_CONSTANT.fullmatch(name)
    ]
    lines.append(f"planned    {data['planned_bytes']:,} bytes")
    runtime = data.get("runtime")
    if runtime:
        lines.append(
            f"arena      {runtime['arena_size']:,} bytes: planned, {runtime['scratch_size']:,} of "
            f"scratch, {runtime['fast_scratch_size']:,} of fast scratch; "
            f"{runtime['cpu_steps']} steps on the CPU"
        )
    if data["state_bytes"]:
        lines.append(f"state      {data['state_bytes']:,} bytes persist between runs")
    if data.get("cases"):
        lines.append(f"cases      {data['cases']} with expected outputs: ethosu run, selftest()")
    for operator in data["cpu"]:
        macs = f", {operator['macs']:,} MACs" if operator["macs"] else ""
        lines.append(
            f"cpu        {operator['name']} x {operator['calls']}: "
            f"{operator['values']:,} values{macs}"
        )
    lines += [f"note       {note}" for note in data["notes"]]
    if data["missing"]:
        lines.append(f"missing    {', '.join(data['missing'])}: not in the firmware")
    if data["external"]:
        lines.append(
            f"external   not found: {', '.join(data['external'])}; "
            f"pass the {DATA.suffix} with --data"
        )
    if data.get("refused"):
        lines.append(f"refused    {data['refused']}")
    return lines


def render_tensor(tensor: dict[str, Any]) -> str:
    """One line for a tensor."""
    scale = f"scale {tensor['scale']:.6g} zero point {tensor['zero_point']}  "
    kind = f"{tensor['dtype']} {list(tensor['shape'])} "
    return f"{kind}{scale if tensor['scale'] else ' '}{tensor['name']}"
