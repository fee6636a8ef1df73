# SPDX-License-Identifier: MIT
"""Tests the firmware's copies and memset() through the modules struct and framebuf."""

CODE = """
import framebuf, struct

def copy_and_clear():
    source = memoryview(bytes((7 * i + i // 256 + 1) & 0xFF for i in range(400)))
    for size in list(range(70)) + [127, 128, 129, 300]:
        for start in (0, 1, 4, 15):
            for to in (1, 4, 7, 10, 13, 16):
                found = bytearray(b"\\x5a" * 360)
                view = memoryview(found)
                struct.pack_into(f"{size + 5}s", found, to, source[start:start + size])
                assert view[:to] == b"\\x5a" * to, ("before", size, start, to)
                assert view[to:to + size] == source[start:start + size], (size, start, to)
                assert view[to + size:to + size + 5] == bytes(5), ("cleared", size, to)
                assert view[to + size + 5:] == b"\\x5a" * (355 - to - size), ("after", size, to)

def fill():
    for width in list(range(1, 70)) + [127, 128, 129, 255]:
        for to in range(17):
            found = bytearray(300)
            frame = framebuf.FrameBuffer(memoryview(found)[to:to + width], width, 1, framebuf.GS8)
            frame.fill(0xA5)
            assert found == bytes(to) + b"\\xa5" * width + bytes(300 - to - width), (width, to)
"""


def test_sizes_and_alignments(board):
    """Copies of all sizes and alignments are right, and write nothing outside of the range."""
    board.exec(CODE)
    board.exec("copy_and_clear()")
    board.exec("fill()")
