# SPDX-License-Identifier: MIT
"""The recurrent operator."""

from __future__ import annotations

import numpy as np

from ..builder import Builder, Value

TANH = 4
_GATES = 4  # input, forget, cell, output


def unidirectional_sequence_lstm(b: Builder) -> None:
    """UNIDIRECTIONAL_SEQUENCE_LSTM in TFLite's full-integer form: 8x8 weights, 16-bit cell."""
    draws = b.draws
    time_major = draws.chance(20)
    batch = 1
    steps, features, units = draws.integer(1, 6), draws.size(24), draws.size(24)
    shape = (steps, batch, features) if time_major else (batch, steps, features)
    x = b.input(shape, "int8")
    weights = [_weights(b, (units, features)) for _ in range(_GATES)]
    recurrent = [_weights(b, (units, units)) for _ in range(_GATES)]
    biases = [_bias(b, x, weight, units) for weight in weights]
    hidden = (1 / 128, 0)
    if draws.chance(50):
        hidden = (1 / 128 * 0.93, draws.integer(-6, 6))
    state = b.variable((batch, units), "int8", *hidden)
    cell = b.variable((batch, units), "int16", 2.0 ** -draws.integer(11, 12), 0)
    out = b.tensor((*shape[:-1], units), "int8", *hidden)
    # Scales of the four gates matter to layer normalisation only; the fifth is the hidden state's.
    between = [b.tensor((0,), "int16", 1 / 4096, 0) for _ in range(_GATES)]
    between.append(b.tensor((0,), "int8", *hidden))
    none: list[Value | None] = [None]
    b.operator(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        [x, *weights, *recurrent, *none * 3, *biases, *none * 2, state, cell, *none * 4],
        [out],
        "UnidirectionalSequenceLSTMOptions",
        intermediates=[value.index for value in between],
        fusedActivationFunction=TANH,
        cellClip=draws.choice((10.0, 0.0)),
        timeMajor=time_major,
    )


def _weights(b: Builder, shape: tuple[int, int]) -> Value:
    data = b.draws.rng().integers(-127, 128, shape).astype(np.int8)
    b.use_once(data)
    return b.constant(data, 1 / (127 * np.sqrt(shape[1])) * b.draws.choice((1.0, 0.77, 1.6)))


def _bias(b: Builder, x: Value, weight: Value, units: int) -> Value:
    data = b.draws.rng().integers(-2000, 2000, units).astype(np.int32)
    return b.constant(data, x.scale * weight.scale)


OPERATORS = {"UNIDIRECTIONAL_SEQUENCE_LSTM": unidirectional_sequence_lstm}
