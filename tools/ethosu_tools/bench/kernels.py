# SPDX-License-Identifier: MIT
"""`ethosu bench kernels`: instructions of CPU operators with weights, with and without CMSIS-NN.

With a second firmware, built with CMSIS_NN_DIR, both are compared. The products of a layer are
counted by its shape: what falls on padding counts too.
"""

import argparse
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import boards, plan, romfs
from ..board import QemuBoard
from ..make_mixed import MixedNet
from ..make_model import Signal
from ..qemu import Machine
from ..ui import Ui

# The board's clock ticks at other places in each run: it has to wait.
_MEASURE = """\
import emulator, ethosu, machine
def measure(path):
    with ethosu.Model(path) as model:
        model.run_into()
        state = machine.disable_irq()
        begin = emulator.instructions()
        model.run_into()
        count = emulator.instructions() - begin
        machine.enable_irq(state)
        return count
"""

Layer = Callable[[MixedNet], tuple[Signal, int]]


def _conv(
    shape: tuple[int, ...], depth: int, kernel: tuple[int, int], stride: tuple[int, int] = (1, 1)
) -> Layer:
    def build(net: MixedNet) -> tuple[Signal, int]:
        y = net.conv(net.input(shape), depth, kernel=kernel, stride=stride)
        return y, math.prod(y.shape) * kernel[0] * kernel[1] * shape[3]

    return build


def _depthwise(shape: tuple[int, ...], kernel: tuple[int, int]) -> Layer:
    def build(net: MixedNet) -> tuple[Signal, int]:
        y = net.depthwise(net.input(shape), kernel=kernel)
        return y, math.prod(y.shape) * kernel[0] * kernel[1]

    return build


def _dense(depth: int, filters: int) -> Layer:
    return lambda net: (net.dense(net.input((1, depth)), filters, gain=1.0), depth * filters)


def _transpose_conv(shape: tuple[int, ...], depth: int) -> Layer:
    def build(net: MixedNet) -> tuple[Signal, int]:
        y = net.transpose_conv(net.input(shape), depth, stride=2)
        return y, math.prod(y.shape) * shape[3]

    return build


LAYERS: dict[str, Layer] = {
    "CONV_2D 3x3, 16x16x16 to 16x16x16": _conv((1, 16, 16, 16), 16, (3, 3)),
    "CONV_2D 3x3 stride 2, 32x32x3 to 16x16x8": _conv((1, 32, 32, 3), 8, (3, 3), (2, 2)),
    "CONV_2D 1x1, 16x16x32 to 16x16x64": _conv((1, 16, 16, 32), 64, (1, 1)),
    "CONV_2D 1x5, 1x64x16 to 1x64x16": _conv((1, 1, 64, 16), 16, (1, 5)),
    "DEPTHWISE_CONV_2D 3x3, 16x16x32": _depthwise((1, 16, 16, 32), (3, 3)),
    "DEPTHWISE_CONV_2D 5x5, 16x16x8": _depthwise((1, 16, 16, 8), (5, 5)),
    "FULLY_CONNECTED 256 to 64": _dense(256, 64),
    "TRANSPOSE_CONV 2x2 stride 2, 8x8x32 to 16x16x16": _transpose_conv((1, 8, 8, 32), 16),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    boards.add_option(parser, "the board")
    parser.add_argument("--firmware", type=Path, help="(default: the one that make builds)")
    parser.add_argument(
        "--cmsis-nn", type=Path, metavar="FIRMWARE", help="one that was built with CMSIS_NN_DIR"
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Run each layer on each firmware."""
    chosen = boards.chosen(args.board)
    layers = []
    for name, layer in LAYERS.items():
        net = MixedNet("layer", 1)
        y, products = layer(net)
        net.graph.outputs.append(y.tensor)
        layers.append((name, net.finish(), products))
    rows: list[dict[str, Any]] = [{"layer": name, "products": n} for name, _, n in layers]
    firmwares = {"own": args.firmware} | ({"cmsis_nn": args.cmsis_nn} if args.cmsis_nn else {})
    for kind, firmware in firmwares.items():
        ui.note(f"running {len(layers)} layers on {firmware or 'the firmware'}")
        models = [model for _, model, _ in layers]
        counts = _measure(models, chosen.name, firmware, kind == "cmsis_nn")
        for row, count in zip(rows, counts, strict=True):
            row[kind] = count
    return {"board": f"{chosen.name} on QEMU", "layers": rows}


def _measure(
    models: list[bytes], board_name: str, firmware: Path | None, cmsis_nn: bool
) -> list[int]:
    files = {}
    with tempfile.TemporaryDirectory(prefix="ethosu-") as work:
        for index, model in enumerate(models):
            path = Path(work) / f"{index}.tflite"
            path.write_bytes(model)
            plan.plan_file(path, path, cmsis_nn=cmsis_nn)
            files[path.name] = path.read_bytes()
    machine = Machine(
        board=board_name,
        firmware=firmware,
        repeatable=True,
        romfs=romfs.build(files),
        coherence="off",
    )
    with QemuBoard(machine) as board:
        board.exec(_MEASURE)
        return [int(board.eval(f"measure('/rom/{name}')", timeout=300)) for name in files]


def render(data: dict[str, Any]) -> str:
    """A line for each layer; the numbers behind are products per instruction."""
    rows = data["layers"]
    kinds = [kind for kind in ("own", "cmsis_nn") if kind in rows[0]]
    lines = [f"{'instructions':<50}" + "".join(f"{kind:>18}" for kind in kinds)]
    for row in rows:
        cells = "".join(f"{row[kind]:>12,} {row['products'] / row[kind]:>5.2f}" for kind in kinds)
        lines.append(f"{row['layer']:<50}{cells}")
    return "\n".join([*lines, "", "behind each: products per instruction"])
