# SPDX-License-Identifier: MIT
"""Damages files of any format, for readers written in Python."""

import random
import struct

_WORDS = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x10000, 2**31 - 1, 2**31, 2**32 - 1)


def damaged(data: bytes, draw: random.Random, head: int | None = None) -> bytes:
    """Make one to four changes: truncate, repeat a piece, change a byte or an aligned word.

    With `head`, bytes and words change only in this many first bytes.
    """
    out = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        if not out:
            break
        most = min(len(out), head or len(out))
        at = draw.randrange(most) & ~3
        match draw.randrange(8):
            case 0:
                del out[draw.randrange(len(out)) :]
            case 1:
                out[at:at] = out[at : at + draw.randrange(64)]
            case 2 | 3:
                out[draw.randrange(most)] = draw.randrange(256)
            case _:
                out[at : at + 4] = struct.pack("<I", draw.choice(_WORDS))
    return bytes(out)
