# SPDX-License-Identifier: MIT
"""`ethosu bench sim`: speed of the simulator, compared with LiteRT on the same machine.

Time does not repeat on a busy machine, a ratio does: one inference of ours and one of LiteRT's run
after each other, both on one thread, and the median of many such pairs counts. With `--qemu` the
same model also runs on an emulated board.
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
from ..remote import EmulatedRunner
from ..sim import Simulation
from ..ui import Ui

DEFAULT_MODEL = "mobilenet_v2"
# Each measured piece repeats its inference until it takes about so long.
SAMPLE_S = 0.01
SEED = 0

# On the board. Its DMA controller takes the time of the bus that it models, so the CPU copies.
_ON_BOARD = """\
import dma, time
dma.enable(False)
_ends = [[bytearray(size) for size in sizes] for sizes in ({inputs}, {outputs})]
def _microseconds(count):
    start = time.ticks_us()
    for _ in range(count):
        {model}.run_into(*_ends)
    return time.ticks_diff(time.ticks_us(), start) / count
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "model",
        type=Path,
        nargs="?",
        help=f"a .tflite file before compiling (default: the project's own {DEFAULT_MODEL})",
    )
    vela.add_npu_option(parser, "the NPU to be", default="ethos-u55-256")
    parser.add_argument("--qemu", action="store_true", help="measure on an emulated board, too")
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
        with (
            Simulation(compiled, coherence="off") as simulation,
            Simulation(compiled, coherence="strict") as strict,
            ui.progress("running pairs") as update,
        ):
            result = _measure(simulation, strict, model, args.pairs, update)
            cycles = simulation.cycles
            if args.qemu:
                result |= _measure_qemu(simulation, compiled, args.pairs)
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
    simulation: Simulation,
    strict: Simulation,
    model: Path,
    pairs: int,
    update: Callable[[int, int], None],
) -> dict[str, Any]:
    rivals: dict[str, Oracle | Simulation] = {
        "litert_builtin": Oracle(model, kernels=oracle.BUILTIN, here=True),
        "xnnpack": Oracle(model, kernels=oracle.XNNPACK, here=True),
        "strict": strict,
    }
    inputs = arrays.random_inputs(simulation.inputs, np.random.default_rng(SEED))
    expected = Oracle(model).step(inputs)
    equal = all(
        np.array_equal(found, right)
        for ours in (simulation, strict)
        for found, right in zip(ours.step(inputs), expected, strict=True)
    )
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


def _measure_qemu(simulation: Simulation, compiled: Path, pairs: int) -> dict[str, Any]:
    """The same inference on an emulated board, in pairs with one in this process."""
    inputs = arrays.random_inputs(simulation.inputs, np.random.default_rng(SEED))
    start = time.perf_counter()
    with EmulatedRunner(compiled) as runner:
        started = time.perf_counter() - start
        names = {
            "model": runner.name,
            "inputs": [tensor.size for tensor in runner.inputs],
            "outputs": [tensor.size for tensor in runner.outputs],
        }
        runner.board.exec(_ON_BOARD.format(**names))
        once = runner.board.eval("_microseconds(1)", timeout=120) / 1e6
        count = max(1, round(SAMPLE_S / once))
        times, ratios = [], []
        for _ in range(pairs):
            times.append(runner.board.eval(f"_microseconds({count})", timeout=120) / 1e6)
            ratios.append(times[-1] / _seconds(simulation.step, inputs))
    return {
        "ratio_qemu_to_sim": round(statistics.median(ratios), 3),
        "qemu_ms": round(1e3 * statistics.median(times), 3),
        "qemu_start_s": round(started, 3),
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
    rows = [
        ("NPU simulator", "sim_ms", None),
        ("LiteRT, built-in kernels", "litert_builtin_ms", "ratio_to_litert_builtin"),
        ("LiteRT with XNNPACK", "xnnpack_ms", "ratio_to_xnnpack"),
        ("ours, strict coherence", "strict_ms", "ratio_to_strict"),
    ]
    lines = [
        f"{data['model']} for {data['npu']}: {data['macs'] / 1e6:,.1f} million MACs, one thread, "
        f"medians of {data['pairs']} pairs",
        "",
    ]
    for name, key, ratio in rows:
        share = f"   ours takes {data[ratio]:.2f} times as long" if ratio else ""
        lines.append(f"{name:<25}{data[key]:>10.3f} ms{share}")
    if "qemu_ms" in data:
        lines.append(
            f"{'on an emulated board':<25}{data['qemu_ms']:>10.3f} ms   "
            f"{data['ratio_qemu_to_sim']:.2f} times as long as ours, after "
            f"{data['qemu_start_s']:.2f} s to start"
        )
    lines += ["", f"The result {verdict} that of TFLite's reference kernels."]
    return "\n".join(lines)
