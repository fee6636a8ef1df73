# SPDX-License-Identifier: MIT
"""Object detection: a FOMO model on a picture from the ROM, boxes in pixels of the picture."""

import struct

import ethosu
import ethosu_image
from ethosu_results import FOMO, place

model = ethosu.Model("/rom/discs.tflite", postprocess=FOMO(threshold=0.6))

# Width and height, two bytes each, then RGB565.
with open("/rom/discs.565", "rb") as file:
    size = struct.unpack("<HH", file.read(4))
    frame = file.read()

see = ethosu_image.Input(
    frame, size, ethosu_image.RGB565, fit=ethosu_image.PAD, filter=ethosu_image.AREA
)
for label, score, box in model.predict([see]):
    print(model.labels[label], score, *place(see, box))
