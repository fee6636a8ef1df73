# SPDX-License-Identifier: MIT
"""The driver itself: a payload, base pointers, a callback, no model.

The payload is a command stream that stops at once. Replace it with the `cmd_data` that Vela writes
with --output-format raw, and pass weights and scratch as bases.
"""

import struct
import time

import ethosu

with ethosu.reserve() as npu:
    print(npu.info())
    # Driver actions: "COP1", then NOPs up to 16-byte alignment, then a stream of one word: STOP.
    nop, command_stream, stop = 5, 2, 0xFFFF << 16
    payload = bytearray(struct.pack("<4sIII", b"COP1", nop, nop, command_stream | 1 << 16))
    payload += struct.pack("<I", stop)
    scratch = ethosu.buffer(64)

    npu.invoke(payload, [None, scratch])
    npu.invoke_async(payload, [None, scratch], callback=lambda npu: print("done:", npu.wait()))
    time.sleep_ms(10)
