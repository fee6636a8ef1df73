# SPDX-License-Identifier: MIT
"""Copies of an image with one value changed in one of its tables."""

import re
import struct
from pathlib import Path

from host_tests.kit import sharing


def patched(firmware: Path, copy: Path, symbol: str, word: int, value: int) -> int:
    """Make a copy in which this word of a constant has a new value; return the old one."""
    symbols = sharing.run(["arm-none-eabi-nm", firmware])
    address = int(re.search(rf"^(\w+) [Tt] {symbol}$", symbols, re.MULTILINE)[1], 16)
    sections = sharing.run(["arm-none-eabi-objdump", "-h", firmware])
    words = re.search(r"\.text +\w+ +(\w+) +\w+ +(\w+)", sections)
    start, offset = (int(number, 16) for number in words.groups())
    image = bytearray(firmware.read_bytes())
    place = offset + address - start + 4 * word
    old: int = struct.unpack_from("<I", image, place)[0]
    struct.pack_into("<I", image, place, value)
    copy.write_bytes(image)
    return old
