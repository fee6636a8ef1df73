# SPDX-License-Identifier: MIT
"""Models of any size, of random weights."""

import math
from pathlib import Path

from ethosu_tools.compile import vela
from ethosu_tools.compile.plan import plan_file
from ethosu_tools.model.make_model import Net

NPU = "ethos-u55-128"
CLASSES = 1000


def weights(count: int) -> bytes:
    """One fully connected layer with about this many weights."""
    side = max(1, math.isqrt(count))
    net = Net("weights", 1)
    return net.finish(net.dense(net.input((1, side)), side, gain=2.0))


def layers(count: int) -> bytes:
    """A chain of small convolutions."""
    net = Net("layers", 1)
    x = net.input((1, 2, 2, 4))
    for _ in range(count):
        x = net.conv(x, 4, kernel=(1, 1))
    return net.finish(x)


def inputs(count: int) -> bytes:
    """Inputs of 16 bytes that one operator joins."""
    net = Net("inputs", 1)
    given = [net.input((1, 1, 1, 16)) for _ in range(count)]
    joined = net.graph.tensor(
        "joined", (1, 1, count, 16), "int8", given[0].scale, given[0].zero_point
    )
    tensors = [each.tensor for each in given]
    net.graph.operator("CONCATENATION", tensors, [joined], "ConcatenationOptions", axis=2)
    return net.finish(joined)


def classifier() -> bytes:
    """A layer with CLASSES outputs, of a few inputs."""
    net = Net("classifier", 1)
    return net.finish(net.dense(net.input((1, 8)), CLASSES, gain=2.0))


def for_npu(model: bytes, folder: Path, name: str) -> Path:
    """Compile a model with Vela."""
    source, compiled = folder / f"{name}.tflite", folder / f"{name}_vela.tflite"
    source.write_bytes(model)
    vela.compile_model(source, NPU, compiled)
    return compiled


def for_cpu(model: bytes, folder: Path, name: str) -> Path:
    """Plan a model whose operators all stay on the CPU."""
    path = folder / f"{name}_planned.tflite"
    plan_file(model, path)
    return path
