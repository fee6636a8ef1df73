# SPDX-License-Identifier: MIT
"""Two models at once: each waits its turn for the NPU; with two equal NPUs they run in parallel."""

import asyncio

import ethosu

image = ethosu.Model("/rom/small_cnn.tflite")
npus = ethosu.npus()
equal = [index for index, name in enumerate(npus) if name == npus[image.npu]]
sound = ethosu.Model("/rom/small_streaming.tflite", npu=equal[-1])


async def watch(name, model, times):
    """Run a model repeatedly."""
    x = bytearray(len(bytes(model.inputs[0].data)))
    for _ in range(times):
        (scores,) = await model.run([x])
        print(name, max(scores))


async def main():
    """Run both until both have finished."""
    await asyncio.gather(watch("image", image, 3), watch("sound", sound, 3))


asyncio.run(main())
