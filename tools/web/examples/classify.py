# SPDX-License-Identifier: MIT
"""Classify pictures from the camera or from a file."""

import json
import time

import browser
import ethosu
import ethosu_image
import ethosu_results

NAME = "small_cnn"

model = ethosu.Model(f"/rom/{NAME}.tflite")
size = browser.WIDTH, browser.HEIGHT
frame = bytearray(3 * browser.WIDTH * browser.HEIGHT)
see = ethosu_image.Input(frame, size, ethosu_image.RGB888, fit=ethosu_image.CROP)
print("waiting for pictures (Ctrl-C ends it)")

while True:
    if not browser.camera.readinto(frame):
        time.sleep_ms(20)
        continue
    (scores,) = model.predict([see])
    best = ethosu_results.top(model, scores, 3)
    browser.show(json.dumps({"scores": [[str(label), score] for label, score in best]}))
