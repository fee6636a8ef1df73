# SPDX-License-Identifier: MIT
"""`ethosu bench sim`: how fast the functional NPU model is, beside LiteRT on the same machine.

Time does not repeat on a busy machine, a ratio does: one inference of ours and one of LiteRT's run
after each other, both on one thread, and the median of many such pairs counts.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .. import arrays, make_model, oracle, vela
from ..arrays import Array
from ..errors import UsageError
from ..oracle import Oracle
from ..sim import Simulation
from ..ui import Ui

DEFAULT_MODEL = "mobilenet_v2"
# Each measured piece repeats its inference until it takes about so long.
SAMPLE_S = 0.01
SEED = 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "model",
        type=Path,
        nargs="?",
        help=f"a .tflite file before compiling (default: the project's own {DEFAULT_MODEL})",
    )
    parser.add_argument(
        "--npu", default="ethos-u55-256", choices=vela.NPUS, metavar="NPU", help="the NPU to be"
    )
    parser.add_argument("--pairs", type=int, default=15, help="measured pairs (default: 15)")


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Compile the model, run it everywhere, compare."""
    if args.pairs < 1:
        raise UsageError(f"--pairs must be at least 1, found {args.pairs}")
    with tempfile.TemporaryDirectory(prefix="ethosu-bench-") as folder:
        model = args.model or _make_default(Path(folder))
        compiled = Path(folder) / "compiled.tflite"
        ui.note(f"compiling {model.stem} for {args.npu}")
        estimate = vela.compile_model(model, args.npu, compiled)["estimate"]
        with Simulation(compiled) as simulation, ui.progress("running pairs") as update:
            result = _measure(simulation, model, args.pairs, update)
            cycles = simulation.cycles
    return {
        "model": model.stem if args.model is None else str(model),
        "npu": args.npu,
        "macs": estimate["macs"],
        "npu_cycles": cycles,
        "pairs": args.pairs,
        **result,
    }


def _make_default(folder: Path) -> Path:
    path = folder / f"{DEFAULT_MODEL}.tflite"
    path.write_bytes(make_model.LARGE_MODELS[DEFAULT_MODEL]())
    return path


def _measure(
    simulation: Simulation, model: Path, pairs: int, update: Callable[[int, int], None]
) -> dict[str, Any]:
    rivals = {
        "litert_builtin": Oracle(model, kernels=oracle.BUILTIN),
        "xnnpack": Oracle(model, kernels=oracle.XNNPACK),
    }
    inputs = arrays.random_inputs(simulation.inputs, np.random.default_rng(SEED))
    expected = Oracle(model).step(inputs)
    equal = all(map(np.array_equal, simulation.step(inputs), expected))
    times: dict[str, list[float]] = {name: [] for name in ("sim", *rivals)}
    ratios: dict[str, list[float]] = {name: [] for name in rivals}
    for pair in range(pairs):
        update(pair, pairs)
        for name, rival in rivals.items():
            ours, theirs = _pair(simulation.step, rival.step, inputs, swap=pair % 2 == 1)
            times["sim"].append(ours)
            times[name].append(theirs)
            ratios[name].append(ours / theirs)
    return {
        "equals_reference": equal,
        **{f"ratio_to_{name}": round(statistics.median(all_), 3) for name, all_ in ratios.items()},
        **{f"{name}_ms": round(1e3 * statistics.median(all_), 3) for name, all_ in times.items()},
    }


def _pair(
    ours: Callable[[list[Array]], Any],
    theirs: Callable[[list[Array]], Any],
    inputs: list[Array],
    *,
    swap: bool,
) -> tuple[float, float]:
    """Seconds for one inference of each, measured right after each other."""
    times = [_seconds(step, inputs) for step in ((theirs, ours) if swap else (ours, theirs))]
    return (times[1], times[0]) if swap else (times[0], times[1])


def _seconds(step: Callable[[list[Array]], Any], inputs: list[Array]) -> float:
    """Seconds for one inference; the first one, which fills caches, only says how many to do."""
    start = time.perf_counter()
    step(inputs)
    count = max(1, round(SAMPLE_S / (time.perf_counter() - start)))
    start = time.perf_counter()
    for _ in range(count):
        step(inputs)
    return (time.perf_counter() - start) / count


def render(data: dict[str, Any]) -> str:
    """Lay times and ratios out."""
    verdict = "equals" if data["equals_reference"] else "DIFFERS from"
    return "\n".join(
        [
            f"{data['model']} for {data['npu']}: {data['macs'] / 1e6:,.1f} million MACs, one "
            f"thread, medians of {data['pairs']} pairs",
            "",
            f"functional NPU model     {data['sim_ms']:>10.3f} ms",
            f"LiteRT, built-in kernels {data['litert_builtin_ms']:>10.3f} ms   "
            f"ratio {data['ratio_to_litert_builtin']:.2f}",
            f"LiteRT with XNNPACK      {data['xnnpack_ms']:>10.3f} ms   "
            f"ratio {data['ratio_to_xnnpack']:.2f}",
            "",
            f"The result {verdict} that of TFLite's reference kernels.",
        ]
    )
