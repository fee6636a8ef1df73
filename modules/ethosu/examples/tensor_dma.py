# SPDX-License-Identifier: MIT
"""A DMA controller copies tensors while the CPU sleeps; tensors in the arena need no copy.

The CPU copies small ones itself, which is faster.
"""

import ethosu

model = ethosu.Model("/rom/discs.tflite")
image = bytearray(len(model.inputs[0].data))
scores = bytearray(len(model.outputs[0].data))

try:
    import dma

    before = dma.counters()["transfer_bytes"]
    model.run_into([image], [scores])
    print("bytes copied by DMA:", dma.counters()["transfer_bytes"] - before)
except ImportError:
    print("this board has no DMA controller for tensors")

model.inputs[0].data[:] = image
model.run_into()  # reads and writes where the data is
assert bytes(model.outputs[0].data) == bytes(scores)
print("in place: the same, and nothing copied")
