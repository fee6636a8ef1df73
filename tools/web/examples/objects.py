# SPDX-License-Identifier: MIT
"""Find red and green discs in a picture from the camera or from a file; boxes are in its pixels."""

import json
import time

import browser
import ethosu
import ethosu_image
from ethosu_results import FOMO, place

NAME, LABELS = "discs", ("nothing", "red", "green")

model = ethosu.Model(f"/rom/{NAME}.tflite", postprocess=FOMO(threshold=0.6))
size = browser.WIDTH, browser.HEIGHT
frame = bytearray(3 * browser.WIDTH * browser.HEIGHT)
see = ethosu_image.Input(
    frame, size, ethosu_image.RGB888, fit=ethosu_image.PAD, filter=ethosu_image.AREA
)
print("waiting for pictures (Ctrl-C ends it)")

while True:
    if not browser.camera.readinto(frame):
        time.sleep_ms(20)
        continue
    boxes = []
    for label, score, box in model.predict([see]):
        row = [LABELS[label], score]
        row.extend(place(see, box))
        boxes.append(row)
    browser.show(json.dumps({"boxes": boxes}))
