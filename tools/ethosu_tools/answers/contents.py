# SPDX-License-Identifier: MIT
"""What a model file contains and needs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ..base.errors import InputError, SetupError
from ..base.ui import counted
from ..model import DATA, ModelFile
from ..model.tflite import signatures
from ..sim.simulation import Simulation
from ..sim.table import Names
from . import views
from .pictures import arena

# Constant methods that describe integer inputs and outputs; these are shown with the tensors.
_IO_CONSTANT = re.compile(r"(input|output)\d+_(scale|zp|zero_point|quant_min|quant_max|dtype)")


def describe(file: ModelFile) -> dict[str, Any]:
    """The contents, for JSON."""
    return {
        "model": str(file),
        "bytes": len(file.whole),
        **describe_signatures(file),
        **file.description.as_dict(),
        "vela": file.vela_version,
        **(_load_program(file) if file.is_program else {}),
        "debug_table": [asdict(entry) for entry in Names(file).entries],
    }


def describe_signatures(file: ModelFile) -> dict[str, Any]:
    """Return inputs and outputs of each signature of a file with several, and the chosen one."""
    models = {each.signature: each.description for each in signatures.each(file.undivided)}
    if len(models) < 2:
        return {}
    return {
        "signature": file.signature
        or next((name for name, graph in file.signatures.items() if graph == 0), None),
        "signatures": {name: each.as_dict() for name, each in models.items()},
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


def text(data: dict[str, Any]) -> str:
    """Format the description."""
    lines = [
        f"model      {data['model']}, {data['bytes']:,} bytes",
        f"npu        {data['npu'] or _no_npu(data)}",
        *([f"vela       {data['vela']}"] if data.get("vela") else []),
    ]
    several: Counter[str] = Counter()
    for operator in data["npu_operators"]:
        fast = operator["fast_scratch_bytes"]
        several[
            f"ethos-u    {operator['stream_bytes']:,} bytes of commands, "
            f"{operator['constant_bytes']:,} of constants, {operator['scratch_bytes']:,} of scratch"
            + (f", {fast:,} of fast scratch" if fast else "")
        ] += 1
    lines += [line if count == 1 else f"{line}, x {count}" for line, count in several.items()]
    for entry in data.get("debug_table", ()):
        commands = f"up to byte {entry['end']:,} of ethos-u {entry['npu_operator']}'s commands"
        lines.append(f"operator   {entry['name']}  ({commands})")
    if data["cpu_operators"] and "cpu" not in data:
        lines.append(f"cpu        {counted(data['cpu_operators'])}")
    lines += _render_program(data) if "methods" in data else []
    models = data.get("signatures", {})
    lines += [f"signature  {data['signature']}"] if models else []
    lines += _render_ends(data)
    for name in models:
        if name != data["signature"]:
            lines += [f"signature  {name}", *_render_ends(models[name])]
    lines += ["", *arena.text(data["memory"])] if "memory" in data else []
    lines += [f"picture    {data['picture']}"] if "picture" in data else []
    return "\n".join(lines)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return a table with one line per model."""
    head: tuple[str, ...] = ("bytes", "NPU", "on the CPU", "model")
    lines: list[tuple[str, ...]] = [
        (f"{row['bytes']:,}", row["npu"] or "-", counted(row["cpu_operators"]) or "-", row["model"])
        for row in rows
    ]
    if any("memory" in row for row in rows):
        head = ("arena", "Vela + scratch", "gain", *head)
        lines = [
            (*arena.cells(row["memory"]), *line) for row, line in zip(rows, lines, strict=True)
        ]
    return views.text(head, lines, "arena", "Vela + scratch", "gain", "bytes")


def _render_ends(data: dict[str, Any]) -> list[str]:
    """A line for each input and output."""
    return [
        f"{direction:<6} {index:<3} {_tensor(tensor)}"
        for direction in ("input", "output")
        for index, tensor in enumerate(data[f"{direction}s"])
    ]


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


def _tensor(tensor: dict[str, Any]) -> str:
    """One line for a tensor."""
    scale = f"scale {tensor['scale']:.6g} zero point {tensor['zero_point']}  "
    kind = f"{tensor['dtype']} {list(tensor['shape'])} "
    return f"{kind}{scale if tensor['scale'] else ' '}{tensor['name']}"
