# SPDX-License-Identifier: MIT
"""Is the result right, here and now? The model contains golden outputs."""

import ethosu

# ethosu compile small_cnn.tflite --selftest -o proven.tflite
with ethosu.Model("/rom/proven.tflite") as model:
    print(model)
    for key, value in sorted(model.info().items()):
        print(" ", key, value)
    print("self-test passed:", model.selftest())
