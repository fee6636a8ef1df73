# SPDX-License-Identifier: MIT
"""`ethosu run`: run a compiled model on the simulator, an emulated board or a real board."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import boards
from ..answers import outputs
from ..base import addons, verification
from ..base.errors import UsageError
from ..base.files import Output
from ..base.ui import Ui
from ..boards import coherence, targets
from ..boards.setup import CONSOLES, emulated
from ..link.open import open_runner, places
from ..model import RUNNABLE, Case, ModelFile, Tensor, arrays, reading
from ..model.arrays import Feed
from ..model.tflite import signatures
from ..model.vela_versions import add_data_option, open_model

EPILOG = """\
Arrays have the keys "0", "1", ... in the order of the model's inputs and outputs; in --input, the
names that `ethosu inspect` prints work too. They hold raw quantised values. An array has the shape
of its tensor, or one more leading dimension: time. The model then runs once per index and keeps its
state between steps, and the outputs get that dimension as well. A file for `ethosu validate` also
works if it has raw values: each sample is a step, and labels are ignored. An .npy file holds the
array of the first input. Without --input, the inputs are random (see --seed), as a smoke test.

    ethosu run kws_vela.tflite --on qemu --input in.npz --output out.npz --reference kws.tflite
    ethosu run kws_vela.tflite --reference kws.tflite

A bundled program (.bpte) contains test cases with inputs and expected outputs. Without --input,
these are run and compared: integers must be equal, floats may differ as in ExecuTorch (relative
1e-5, absolute 1e-8).

    ethosu run kws.bpte --on qemu

Vela's raw output (`vela --output-format raw`) is run with its own command stream and memory; its
integers have no scale, and it has no model for the CPU:

    ethosu run kws_vela.npz --on qemu --input in.npz
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, help=RUNNABLE)
    add_data_option(parser)
    signatures.add_option(parser)
    parser.add_argument(
        "--on",
        default="sim",
        metavar="|".join((*places(), "PORT")),
        help="the simulated NPU, an emulated board, "
        + "".join(f"{text}, " for text in addons.texts("place").values())
        + "or a board's serial port or pyserial URL (default: sim)",
    )
    parser.add_argument(
        "--input",
        type=Path,
        metavar="NPZ",
        help="input arrays (default: the test cases of a bundled program, else random values)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of random inputs (default: 0)")
    parser.add_argument("--output", type=Output, metavar="NPZ", help="save the output arrays here")
    parser.add_argument("--steps", type=int, help="number of steps to run (default: all)")
    boards.add_option(parser, "the board to emulate", boards.DEFAULT_HELP)
    targets.add_npu_option(
        parser, "NPU to simulate or emulate (default: the model's)", default=None
    )
    parser.add_argument(
        "--console",
        choices=CONSOLES,
        help="console of the emulated board (default: fast)",
    )
    coherence.add_option(parser)
    verification.add_option(parser)
    parser.add_argument(
        "--reference",
        type=Path,
        metavar="MODEL",
        help="the original model, before compilation: compare with TFLite's reference kernels",
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Run all steps."""
    file = open_model(ui, args.model, args.data, args.signature)
    description = file.compiled
    cases = () if args.input else _cases(file)
    if cases:
        feed = arrays.as_feed([case.inputs for case in cases])
    elif args.input:
        feed = arrays.check(arrays.load(args.input), description.inputs, args.steps)
    else:
        feed = _random(description.inputs, args, positive=file.needs_positive)
    place = None
    if args.on == "qemu":
        given = {"console": args.console, "coherence": args.coherence}
        place = emulated(args.board, args.npu, file=file, **given)
    with ui.progress("loading the model") as progress:
        runner = open_runner(
            file,
            args.on,
            npu=args.npu,
            setup=place,
            coherence=args.coherence,
            progress=progress,
        )
    rows = []
    with runner, ui.progress(f"running on {args.on}") as progress:
        for row in runner.run(feed):
            rows.append(row)
            progress(len(rows), feed.steps)
    found = arrays.collect(rows, has_time=feed.has_time)
    if args.output:
        arrays.save(args.output, found)
    if args.reference:
        original = signatures.select(ModelFile(args.reference), args.signature)
        with ui.progress("running the reference kernels") as progress:
            outputs.compare(file, rows, feed, original, progress)
    outputs.compare_cases(rows, cases)
    return {
        "model": str(args.model),
        "signature": args.signature,
        "on": args.on,
        "npu": runner.npu,
        "steps": feed.steps,
        "output": str(args.output) if args.output else None,
        "outputs": {key: outputs.summary(array) for key, array in found.items()},
        "equals_reference": True if args.reference else None,
        "cases": len(cases),
        "seed": None if args.input or cases else args.seed,
    }


def _random(tensors: Sequence[Tensor], args: argparse.Namespace, *, positive: bool) -> Feed:
    """Make random inputs that differ in each step."""
    if args.seed < 0:
        raise UsageError(f"--seed must be 0 or more, found {args.seed}")
    (first,) = arrays.random_steps(tensors, 1, args.seed, positive=positive)
    feed = arrays.check({str(key): array for key, array in enumerate(first)}, tensors, args.steps)
    rows = arrays.random_steps(tensors, feed.steps, args.seed, positive=positive)
    return replace(arrays.as_feed(rows), has_time=feed.has_time)


def _cases(file: ModelFile) -> tuple[Case, ...]:
    """Return the test cases of the method that is run, arranged as in memory."""
    cases = [case for case in file.cases if case.method == "forward"]
    with reading(file):
        return tuple(case.arrange(file.methods["forward"]) for case in cases)


def render(data: dict[str, Any]) -> str:
    """Summarise the outputs."""
    steps = "1 step" if data["steps"] == 1 else f"{data['steps']} steps"
    signature = f", signature {data['signature']}" if data["signature"] else ""
    lines = [f"{data['model']}{signature}: {steps} on {data['on']} ({data['npu']})"]
    if data["seed"] is not None:
        lines.append(f"random inputs, seed {data['seed']}; use --input for your own")
    lines += [
        f"output {key}  {array['dtype']} {array['shape']}{_render_values(array)}"
        for key, array in data["outputs"].items()
    ]
    if data["output"]:
        lines.append(f"saved in {data['output']}")
    if data["equals_reference"]:
        lines.append("every value equals TFLite's reference kernels")
    if data["cases"]:
        lines.append(f"all {data['cases']} test cases of the file passed")
    return "\n".join(lines)


def _render_values(array: dict[str, Any]) -> str:
    if "max" not in array:
        return ""
    return f"  {array['min']:g} to {array['max']:g}, largest at {array['largest_at']}"
