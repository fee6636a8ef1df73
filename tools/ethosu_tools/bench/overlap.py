# SPDX-License-Identifier: MIT
"""`ethosu bench overlap`: time saved when the CPU works while the NPU runs.

Runs one model twice on an emulated board whose time follows instructions and NPU cycles alone:
planned for the smallest arena, and planned so that CPU operators run during NPU calls.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from .. import boards, coherence, plan, romfs, vela
from ..board import Board, QemuBoard
from ..make_mixed import MODELS
from ..qemu import Machine
from ..ui import Ui

INFERENCES = 200

_MEASURE = f"""\
import emulator, ethosu, time
def measure(path):
    model = ethosu.Model(path)
    model.run_into()
    begin = time.ticks_us(), emulator.instructions()
    for _ in range({INFERENCES}):
        model.run_into()
    end = time.ticks_us(), emulator.instructions()
    return time.ticks_diff(end[0], begin[0]), end[1] - begin[1], model.info()
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    coherence.add_bench_option(parser)
    parser.add_argument(
        "model", nargs="?", type=Path, help="a compiled model (default: one made for it)"
    )
    boards.add_option(parser, "the board")
    vela.add_npu_option(parser, "another NPU than the board's", default=None)


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Plan the model in both ways and run it."""
    chosen = boards.chosen(args.board)
    npu = args.npu or chosen.npus[0]
    rows = {}
    with tempfile.TemporaryDirectory(prefix="ethosu-") as work:
        compiled = args.model or _made_for_it(npu, Path(work))
        files = {}
        for name, overlap in (("separate", False), ("concurrent", True)):
            planned = Path(work) / f"{name}.tflite"
            plan.plan_file(compiled, planned, overlap=overlap)
            files[planned.name] = planned.read_bytes()
        image = romfs.build(files)
        machine = Machine(
            npu, board=chosen.name, repeatable=True, romfs=image, coherence=args.coherence
        )
        with QemuBoard(machine) as board, ui.progress("running") as update:
            board.exec(_MEASURE)
            for index, name in enumerate(files):
                update(index, len(files))
                rows[Path(name).stem] = _measure(board, name)
    separate, concurrent = (rows[name]["microseconds"] for name in ("separate", "concurrent"))
    return {
        "board": f"{chosen.name} on QEMU",
        "plans": rows,
        "time_ratio": round(concurrent / separate, 4),
    }


def _made_for_it(npu: str, work: Path) -> Path:
    model = MODELS["two_branches"]
    source, compiled = work / "two_branches.tflite", work / "compiled.tflite"
    source.write_bytes(model.make())
    vela.compile_model(source, npu, compiled, more=model.options)
    return compiled


def _measure(board: Board, name: str) -> dict[str, Any]:
    """Of one inference."""
    microseconds, instructions, info = board.eval(f"measure('/rom/{name}')", timeout=300)
    return {
        "microseconds": round(microseconds / INFERENCES, 1),
        "instructions": round(instructions / INFERENCES),
        "cpu_operators": info["cpu_steps"],
        "concurrent": info["cpu_steps_overlapped"],
        "arena_bytes": info["arena_size"],
    }


def render(data: dict[str, Any]) -> str:
    """Lay both runs out side by side."""
    rows = data["plans"]
    lines = [f"{'per inference':<16}" + "".join(f"{name:>12}" for name in rows)]
    for key in next(iter(rows.values())):
        cells = "".join(f"{row[key]:>12,}" for row in rows.values())
        lines.append(f"{key.replace('_', ' '):<16}{cells}")
    return "\n".join(
        [*lines, "", f"time when the CPU works during NPU calls: {data['time_ratio']:.1%}"]
    )
