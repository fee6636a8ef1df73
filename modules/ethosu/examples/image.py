# SPDX-License-Identifier: MIT
"""An image in, the best class out: real values in, real values out."""

import ethosu

MODEL = "/rom/small_cnn.tflite"


def picture(height, width, channels):
    """Replaces a camera: a gradient, with values from -1 to 1."""
    count = height * width * channels
    return [2 * i / count - 1 for i in range(count)]


with ethosu.Model(MODEL) as model:
    _, height, width, channels = model.input_shape[0]
    (scores,) = model.predict([picture(height, width, channels)], real=True)
    best = max(range(len(scores)), key=lambda i: scores[i])
    print("class", best, "score", scores[best])
