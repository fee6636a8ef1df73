# SPDX-License-Identifier: MIT
"""asyncio: a task takes the next picture while the NPU processes the previous one."""

import asyncio

import ethosu

model = ethosu.Model("/rom/small_cnn.tflite")
size = len(model.inputs[0].data)
frames = [bytearray(size), bytearray(size)]
scores = bytearray(len(model.outputs[0].data))


async def take(frame, number):
    """Replaces a camera whose DMA fills a frame."""
    for i in range(0, size, 64):
        frame[i : i + 64] = bytes([(number * 16 + i) & 255]) * min(64, size - i)
        await asyncio.sleep_ms(0)


async def main():
    """Run on each frame while the other one is filled."""
    await take(frames[0], 0)
    for number in range(1, 5):
        following = asyncio.create_task(take(frames[number % 2], number))
        await model.run([frames[(number - 1) % 2]], [scores])
        print("frame", number - 1, bytes(scores[:4]))
        await following


asyncio.run(main())
