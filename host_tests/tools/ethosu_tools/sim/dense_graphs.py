# SPDX-License-Identifier: MIT
"""Makes random models of one FULLY_CONNECTED operator, of all integer types of TFLite.

Numbers are equal on every machine, because no mathematical library rounds them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from ethosu_tools.model.tflite.writer import Graph, schema, write

KINDS = ("int8", "int8 per channel", "int16", "int16 per channel", "uint8")
BIASES = ("int32", "int64", "none", "absent")
_SPREAD = 74  # standard deviation of bytes
_VERSION = 11  # the operator's version that has all of these types


@dataclass
class Dense:
    """A model and its inputs; kind: the types of its layer and bias."""

    model: bytes
    feeds: list[list[np.ndarray]]
    kind: str
    name: str


def make(seed: int) -> Dense:
    """Make a model; kinds and types of the bias come in turn, the rest is drawn."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    bias = BIASES[seed // len(KINDS) % len(BIASES)]
    dtype = kind.split()[0]
    if bias == "int64" and dtype != "int16":
        bias = "int32"
    depth, units = int(rng.choice([1, 3, 8, 64, 640])), int(rng.choice([1, 2, 10, 33]))
    rows = tuple(int(n) for n in rng.integers(1, 4, rng.integers(1, 3)))
    keep = bool(len(rows) > 1 and rng.integers(2))
    graph = Graph("main")
    x = _input(graph, rng, (*rows, depth), dtype)
    weights = _weights(graph, rng, kind, (units, depth))
    unit = _scale(graph, x) * np.float32(graph.tensors[weights][0].quantization.scale)
    computed = []  # weights or bias that are inputs
    inputs = [x, weights, -1]
    spread = math.sqrt(depth) * _SPREAD * (_SPREAD if dtype != "int16" else 256 * _SPREAD)
    largest = int(spread)
    if bias in ("int32", "int64"):
        values = rng.integers(-largest, largest + 1, units).astype(bias)
        if rng.integers(5):
            inputs[2] = graph.constant("bias", values, unit)
        else:
            inputs[2] = graph.tensor("bias", (units,), bias, unit)
            computed.append(values)
    graph.inputs = [x, *([inputs[2]] if computed else [])]
    shape = (*rows, units) if keep else (int(np.prod(rows)), units)
    steps = 127 if dtype != "int16" else 32767
    scale = float(unit.max()) * spread * rng.uniform(1, 6) / steps
    zero = 0 if dtype == "int16" else int(rng.integers(*_limits(dtype)))
    graph.outputs = [graph.tensor("y", shape, dtype, scale, zero)]
    named = {"int32": schema.TensorType.INT32, "int64": schema.TensorType.INT64}.get(bias, 0)
    if bias == "none":
        named = int(rng.choice([0, schema.TensorType.INT32, schema.TensorType.INT64]))
    if bias == "int64" and rng.integers(2):
        named = 0
    activation = int(rng.integers(4))
    graph.operator(
        "FULLY_CONNECTED",
        inputs if bias != "absent" else inputs[:2],
        graph.outputs,
        "FullyConnectedOptions",
        fusedActivationFunction=activation,
        keepNumDims=keep,
        quantizedBiasType=named if dtype == "int16" else 0,
    )
    graph.versions["FULLY_CONNECTED"] = _VERSION
    low, high = _limits(dtype)
    feeds = [rng.integers(low, high + 1, (*rows, depth)).astype(dtype) for _ in range(3)]
    feeds += [np.full((*rows, depth), extreme, dtype) for extreme in (low, high)]
    types = f"{kind}, bias {bias}"
    name = f"{seed}: {types}, activation {activation}, {rows} x {depth} to {shape}"
    return Dense(write([graph], name), [[feed, *computed] for feed in feeds], types, name)


def _limits(dtype: str) -> tuple[int, int]:
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def _scale(graph: Graph, tensor: int) -> np.float32:
    return np.float32(graph.tensors[tensor][0].quantization.scale[0])


def _input(graph: Graph, rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> int:
    scale = _draw(rng, -9, -1) / (256 if dtype == "int16" else 1)
    zero = 0 if dtype == "int16" else int(rng.integers(*_limits(dtype)))
    return graph.tensor("x", shape, dtype, scale, zero)


def _weights(graph: Graph, rng: np.random.Generator, kind: str, shape: tuple[int, int]) -> int:
    """Make constant weights; int8 may have a zero point, which TFLite ignores per channel."""
    dtype = "uint8" if kind == "uint8" else "int8"
    values = rng.integers(*_limits(dtype), shape, endpoint=True).astype(dtype)
    count = shape[0] if "channel" in kind else 1
    scales = _draw(rng, -10, -3) * rng.uniform(0.3, 1, count)
    zero = int(rng.integers(0, 256)) if dtype == "uint8" else 0
    if dtype == "int8" and rng.integers(3) == 0:
        zero = int(rng.choice([-128, -127, -5, 1, 127]))
    return graph.constant("w", values, scales, zero)


def _draw(rng: np.random.Generator, low: int, high: int) -> float:
    """Draw a number between two powers of 2."""
    return math.ldexp(rng.uniform(1, 2), int(rng.integers(low, high)))
