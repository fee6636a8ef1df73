# SPDX-License-Identifier: MIT
"""Anomaly score: the distance of an output from the normal one, computed without allocation."""

from array import array

import ethosu

MODEL = "/rom/small_cnn.tflite"

model = ethosu.Model(MODEL)
x, y = model.inputs[0], model.outputs[0]
values = array("f", [0.0] * len(x.data))
normal = array("f", [0.0] * len(y.data))
now = array("f", [0.0] * len(y.data))


def observe(vibration, into):
    """Run on a sample of a machine's vibration; the real outputs are written to `into`."""
    for i in range(len(values)):
        values[i] = vibration * ((i % 7) - 3)
    x.quantize(values)
    model.run_into()
    y.dequantize(None, into)


def difference(some, others):
    """Sum over all outputs."""
    return sum(abs(some[i] - others[i]) for i in range(len(some)))


observe(0.1, normal)
for vibration in (0.1, 0.2, 0.9):
    observe(vibration, now)
    print("vibration", vibration, "anomaly", difference(now, normal))
