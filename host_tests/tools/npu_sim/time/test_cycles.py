# SPDX-License-Identifier: MIT
"""Compares cycles of the MAC array with Vela's own function for Ethos-U55 and U65.

Vela gets output units and memories that take no time, and OFMs of whole blocks, so that its sum
is that of the MAC array alone. test_traffic.py tests the project's additions.
"""

import itertools
from dataclasses import replace

import pytest
from ethosu.vela import npu_performance as vela
from ethosu.vela.architecture_features import Accelerator, NpuBlockType, create_default_arch
from ethosu.vela.operation import Kernel, Op
from ethosu.vela.shape4d import Shape4D
from ethosu_tools.sim.trace import Operation

from host_tests.tools.npu_sim.assembler import Stream
from host_tests.tools.npu_sim.hardware import Hardware, Outcome
from host_tests.tools.npu_sim.time.test_traffic import (
    PART_KERNEL,
    Layer,
    constants,
    registers,
    symbols,
)

SMALLEST = ((1, 1, 64), (1, 1, 16))  # one micro block across and down: a step waits
LINE = ((2, 32, 64), (2, 8, 16))
PLANE = ((16, 16, 64), (8, 8, 16))
KINDS = {
    "depth first": Layer("CONV", *PLANE, 64),
    "3x3": Layer("CONV", *PLANE, 64, kernel=(3, 3), padding=(1,) * 4),
    "part kernel": Layer("CONV", *PLANE, 64, kernel=(3, 3), stride=PART_KERNEL, padding=(1,) * 4),
    "depthwise": Layer("DEPTHWISE", *PLANE, 64, kernel=(3, 3), padding=(1,) * 4),
    "sub-kernels": Layer("POOL", *PLANE, 64, kernel=(9, 9), padding=(4,) * 4),
}
BLOCKS = {
    "CONV": NpuBlockType.ConvolutionMxN,
    "DEPTHWISE": NpuBlockType.ConvolutionDepthWise,
    "POOL": NpuBlockType.Pooling,
}
CONFIGS = ("ethos-u55-32", "ethos-u55-64", "ethos-u55-128", "ethos-u55-256", "ethos-u65-256")


def simulated(config: str, layer: Layer, wide: bool) -> int:
    """Return the simulator's result."""
    layer = replace(layer, weights=0 if layer.op == "POOL" else 16 * (symbols(layer) // 16 + 4))
    layer = replace(layer, scales=10 * layer.ofm[2] + 16 - 10 * layer.ofm[2] % 16)
    commands = Stream(config).defaults().set(**registers(layer, 0)).set(ACC_FORMAT=int(wide))
    operations: list[Operation] = []
    with Hardware(config) as device:
        regions = [device.add(constants(layer), writable=False), device.add(1 << 19)]
        device.observe(operations.append)
        stream = commands.set(WEIGHT_REGION=0, SCALE_REGION=0).op(layer.op, int(layer.op == "POOL"))
        device.start(device.add(stream.stop()), [region.address for region in regions])
        assert device.execute() is Outcome.STOPPED, device.log
    return operations[0].costs.mac


def expected(config: str, layer: Layer, wide: bool, monkeypatch) -> float:
    """Return Vela's result."""
    arch = create_default_arch(Accelerator(config))
    arch.output_cycles_per_elem = (0,) * 8
    arch.activation_cycles_per_elem = (0,) * 3
    monkeypatch.setattr(vela, "_estimate_minimum_memory_cycles", lambda *_: (0, 0))
    query = vela.PerformanceQuery(BLOCKS[layer.op])
    query.ifm_shape = Shape4D(1, *layer.ofm[:2], layer.inputs)
    query.ofm_shape = Shape4D(1, *layer.ofm)
    query.ifm_bits = query.ofm_bits = 8
    query.kernel = Kernel(layer.kernel[1], layer.kernel[0])
    query.config.is_partkernel = bool(layer.stride & PART_KERNEL)
    depth = 16 if query.config.is_partkernel else 32 if layer.op == "CONV" else layer.block[2]
    query.config.ifm_block = Shape4D(1, 64, 64, depth)
    query.config.ofm_block = Shape4D(1, *layer.block)
    query.config.acc_type = vela.SHRAMElements.Acc40 if wide else vela.SHRAMElements.Acc32
    total = float(vela._estimate_conv_cycles(arch, Op.Conv2D, None, query))
    # Vela's output part is at least a quarter of a block, and added once.
    blocks = query.ofm_shape.div_round_up(query.config.ofm_block).elements()
    return total * blocks / (blocks + 0.25)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("config", CONFIGS)
def test_the_mac_array_takes_as_long_as_vela_says(config, kind, monkeypatch) -> None:
    """The MAC array takes Vela's cycles in planes, lines, and where steps wait for others."""
    for wide, (ofm, block) in itertools.product((False, True), (PLANE, LINE, SMALLEST)):
        layer = replace(KINDS[kind], ofm=ofm, block=block)
        found = simulated(config, layer, wide)
        assert found == expected(config, layer, wide, monkeypatch), (wide, ofm, block)
