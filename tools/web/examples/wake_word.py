# SPDX-License-Identifier: MIT
"""Say the word, or play the recording: live probabilities of a streaming model."""

import json
import time
from array import array

import browser
import ethosu
from ethosu_audio import MicroFrontend, Ring

NAME, CUTOFF, WINDOW = "okay_nabu", 0.85, 5

model = ethosu.Model(f"/rom/{NAME}.tflite")
_, rows, values = model.input_shape[0]  # rows of 10 ms per inference
scale, zero_point = model.output_scale[0], model.output_zero_point[0]
frontend, ring = MicroFrontend(), Ring(4096)
features = array("f", bytes(4 * rows * values))
recent = [0.0] * WINDOW
filled = steps = 0
reported = False
print("listening for", NAME, "(Ctrl-C ends it)")

while True:
    if not ring.fill(browser.microphone) and not ring.any():
        time.sleep_ms(10)
    while count := frontend.process(ring, memoryview(features)[filled * values :]):
        filled = (filled + count) % rows
        if filled:
            continue
        (answer,) = model.predict([features])
        steps += 1
        recent.pop(0)
        recent.append((answer[0] - zero_point) * scale)
        mean, now = sum(recent) / WINDOW, steps * rows / 100
        browser.show(json.dumps({"level": mean, "limit": CUTOFF, "at": now}))
        if mean > CUTOFF and not reported:
            print("heard", NAME, "at", now, "s")
            browser.show(json.dumps({"say": f"Heard {NAME} at {now:.2f} s."}))
        reported = mean > CUTOFF
