# SPDX-License-Identifier: MIT
"""Keyword spotting: labels, and a post-processor for raw scores."""

from array import array

import ethosu

MODEL = "/rom/small_cnn.tflite"
LABELS = ("silence", "yes", "no", "up", "down", "left", "right", "on", "off", "stop")


def best_label(model, inputs, outputs):
    """Convert raw scores to a label and its probability."""
    raw = outputs[0]
    best = max(range(len(raw)), key=lambda i: raw[i])
    return LABELS[best], (raw[best] - model.output_zero_point[0]) * model.output_scale[0]


model = ethosu.Model(MODEL, postprocess=best_label)
size = len(model.inputs[0].data)
features = array("f", [0.01 * (i % 50) for i in range(size)])  # in place of a spectrogram
label, probability = model.predict([features])
print("heard", label, probability)
