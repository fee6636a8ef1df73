# SPDX-License-Identifier: MIT
"""Object detection: a FOMO model on a picture from the ROM, boxes in pixels of the picture."""

import ethosu
import ethosu_image
from ethosu_files import bmp
from ethosu_results import FOMO, place

model = ethosu.Model("/rom/discs.tflite", postprocess=FOMO(threshold=0.6))

picture = bmp("/rom/discs.bmp")
see = ethosu_image.Input(*picture, fit=ethosu_image.PAD, filter=ethosu_image.AREA)
for label, score, box in model.predict([see]):
    print(model.labels[label], score, *place(see, box))
