# SPDX-License-Identifier: MIT
"""Instruction counts of weighted operators, which are reproducible; `pytest -s` prints them.

For CMSIS-NN, `--firmware` must name an image built with CMSIS_NN_DIR, and CMSIS_NN_DIR must be
set. The products of a layer are counted from its shape, including those with padding.
"""

import math
import os

import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.compile import plan
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import romfs

from host_tests.kit.models.mixed_models import MixedNet

# The board's clock ticks at different times in each run, so it must be excluded.
MEASURE = """\
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


def conv(shape, depth, kernel, stride=(1, 1)):
    def build(net):
        y = net.conv(net.input(shape), depth, kernel=kernel, stride=stride)
        return y, math.prod(y.shape) * kernel[0] * kernel[1] * shape[3]

    return build


def depthwise(shape, kernel):
    def build(net):
        y = net.depthwise(net.input(shape), kernel=kernel)
        return y, math.prod(y.shape) * kernel[0] * kernel[1]

    return build


def dense(depth, filters):
    return lambda net: (net.dense(net.input((1, depth)), filters, gain=1.0), depth * filters)


def transpose_conv(shape, depth):
    def build(net):
        y = net.transpose_conv(net.input(shape), depth, stride=2)
        return y, math.prod(y.shape) * shape[3]

    return build


LAYERS = {
    "CONV_2D 3x3, 16x16x16 to 16x16x16": conv((1, 16, 16, 16), 16, (3, 3)),
    "CONV_2D 3x3 stride 2, 32x32x3 to 16x16x8": conv((1, 32, 32, 3), 8, (3, 3), (2, 2)),
    "CONV_2D 1x1, 16x16x32 to 16x16x64": conv((1, 16, 16, 32), 64, (1, 1)),
    "CONV_2D 1x5, 1x64x16 to 1x64x16": conv((1, 1, 64, 16), 16, (1, 5)),
    "DEPTHWISE_CONV_2D 3x3, 16x16x32": depthwise((1, 16, 16, 32), (3, 3)),
    "DEPTHWISE_CONV_2D 5x5, 16x16x8": depthwise((1, 16, 16, 8), (5, 5)),
    "FULLY_CONNECTED 256 to 64": dense(256, 64),
    "TRANSPOSE_CONV 2x2 stride 2, 8x8x32 to 16x16x16": transpose_conv((1, 8, 8, 32), 16),
}


@pytest.fixture
def layers(tmp_path):
    """Return the number of products in each layer, and the layer's model."""
    layers = {}
    for name, layer in LAYERS.items():
        net = MixedNet("layer", 1)
        y, products = layer(net)
        path = tmp_path / f"{len(layers)}.tflite"
        path.write_bytes(net.finish(y))
        plan.plan_file(path, path, cmsis_nn="CMSIS_NN_DIR" in os.environ)
        layers[name] = products, path
    return layers


def measure(layers, firmware):
    image = romfs.build({path.name: path.read_bytes() for _, path in layers.values()})
    machine = Machine(
        emulated("MPS3_AN547", firmware=firmware, coherence="off"), repeatable=True, romfs=image
    )
    with QemuBoard(machine) as board:
        board.exec(MEASURE)
        return [
            board.eval(f"measure('/rom/{path.name}')", timeout=300) for _, path in layers.values()
        ]


def test_figures_repeat_and_are_no_worse(layers, request):
    firmware = request.config.getoption("--firmware")
    counts = measure(layers, firmware)
    for (name, (products, _)), count in zip(layers.items(), counts, strict=True):
        print(f"\n{name:<50}{count:>12,}, products per instruction {products / count:.2f}", end="")
        assert count < 12 * products
    assert counts == measure(layers, firmware)
