# SPDX-License-Identifier: MIT
"""Makes copies of an image with one value changed in a table."""

import struct
from pathlib import Path

from elftools.elf.elffile import ELFFile

from host_tests.kit.firmware_image import Image


def patched(firmware: Path, copy: Path, symbol: str, word: int, value: int) -> int:
    """Make a copy in which this word of a constant has a new value; return the old one."""
    with firmware.open("rb") as file:
        (place,) = ELFFile(file).address_offsets(Image(firmware).symbol(symbol) + 4 * word, 4)
    image = bytearray(firmware.read_bytes())
    old: int = struct.unpack_from("<I", image, place)[0]
    struct.pack_into("<I", image, place, value)
    copy.write_bytes(image)
    return old
