# SPDX-License-Identifier: MIT
"""Person detection on the pictures of the ROM: all .bmp files.

The model is TensorFlow Lite Micro's: person_detect.tflite of github.com/tensorflow/tflite-micro,
compiled with `ethosu compile`.
"""

import os

import ethosu
import ethosu_image
from ethosu_files import bmp

model = ethosu.Model("/rom/person_detect.tflite")
for name in sorted(os.listdir("/rom")):
    if not name.endswith(".bmp"):
        continue
    (scores,) = model.predict([ethosu_image.Input(*bmp("/rom/" + name))])
    nobody, somebody = model.outputs[0].dequantize(scores)
    print(f"{name}: {'person' if somebody > nobody else 'nobody'}, score {somebody:.4f}")
