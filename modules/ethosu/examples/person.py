# SPDX-License-Identifier: MIT
"""Person detection on pictures from the ROM: all .bmp files with one byte per pixel.

The model is TensorFlow Lite Micro's: person_detect.tflite of github.com/tensorflow/tflite-micro,
compiled with `ethosu compile`.
"""

import os
import struct

import ethosu
import ethosu_image

model = ethosu.Model("/rom/person_detect.tflite")
for name in sorted(os.listdir("/rom")):
    if not name.endswith(".bmp"):
        continue
    with open("/rom/" + name, "rb") as file:
        picture = memoryview(file)  # in place
    start, _, width, height, _, bits = struct.unpack_from("<IIiiHH", picture, 10)
    if bits != 8 or width % 4:
        raise ValueError(f"{name}: {bits} bits, {width} wide: expected 8, a multiple of 4")
    # The bottom row comes first; rotated by 180 degrees and mirrored, it is the last.
    see = ethosu_image.Input(
        picture[start : start + width * height], (width, height), rotate=180, mirror=True
    )
    (scores,) = model.predict([see])
    nobody, somebody = model.outputs[0].dequantize(scores)
    print(f"{name}: {'person' if somebody > nobody else 'nobody'}, score {somebody:.4f}")
