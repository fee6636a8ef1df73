# SPDX-License-Identifier: MIT
"""A wake word: a streaming model keeps its state between steps; reset() makes it forget."""

import ethosu

MODEL = "/rom/small_streaming.tflite"
THRESHOLD = 0.5

model = ethosu.Model(MODEL)
frames = model.inputs[0].data
probability = model.outputs[0]


def listen(steps):
    """Run on `steps` groups of frames and return the highest probability."""
    highest = 0.0
    for step in range(steps):
        for i in range(len(frames)):  # replace by the features of 30 ms of sound
            frames[i] = (step * 31 + i * 7) % 100 - 50
        model.run_into()
        highest = max(highest, probability.dequantize()[0])
    return highest


first = listen(20)
model.reset()
assert listen(20) == first, "the same sound after a reset"
print("wake word" if first > THRESHOLD else "nothing heard", first)
