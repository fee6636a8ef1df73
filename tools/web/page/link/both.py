# SPDX-License-Identifier: MIT
"""Runs one inference on the emulated board and on the user's, with the same inputs. Prints lines of
JSON.

The page prepends SOURCE: the model, or its path."""

import array
import binascii
import json
import time

import ethosu

PIECE = 256


def noise(size):
    """Return the same bytes on each board; not those of `random`, which a port may replace."""
    state, data = 1, bytearray(size)
    for index in range(size):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        data[index] = state >> 16 & 255
    return data


def values(tensor, size):
    if tensor.dtype == "f":
        return bytearray(array.array("f", [each / 128 - 1 for each in noise(size // 4)]))
    if tensor.dtype in "iIlLqQ":  # usually an index
        return bytearray(size)
    return noise(size)


def main(model):
    inputs = [values(tensor, len(bytes(tensor.data))) for tensor in model.inputs]
    start = time.ticks_us()
    outputs = model.predict(inputs)
    us = time.ticks_diff(time.ticks_us(), start)
    print(json.dumps({"npu": str(model.npu), "us": us}))
    for output in outputs:
        data = memoryview(bytes(output))
        for at in range(0, len(data), PIECE):
            print(json.dumps({"hex": binascii.hexlify(data[at : at + PIECE]).decode()}))


main(ethosu.Model(SOURCE))  # noqa: F821  # prepended
