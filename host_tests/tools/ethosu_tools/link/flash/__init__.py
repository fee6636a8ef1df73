# SPDX-License-Identifier: MIT
"""The images that are flashed."""

import struct

IMAGE = bytes(range(256)) * 20

# Firmware for Himax's boot loader: name, address and bytes of its sections.
ENTRY = 0x10000011
VECTORS = struct.pack("<II", 0x30001000, ENTRY) + bytes(range(24))
SECTIONS = ((".table", 0x10000000, VECTORS), (".text", 0x3404D000, b"code" * 9))
NO_BITS = (".bss", 0x30000000, None)


def elf(sections=SECTIONS, entry=ENTRY):
    """Make an ELF file with these sections, and one without contents."""
    rows, names, body = [bytes(40)], b"\0", b""
    for name, address, data in (*sections, NO_BITS):
        kind = 8 if data is None else 1
        place = 52 + len(body)
        rows.append(
            struct.pack("<10I", len(names), kind, 2, address, place, len(data or b""), 0, 0, 4, 0)
        )
        names, body = names + name.encode() + b"\0", body + (data or b"")
    place = 52 + len(body)
    rows.append(struct.pack("<10I", 0, 3, 0, 0, place, len(names), 0, 0, 1, 0))
    body += names
    head = b"\x7fELF\1\1\1".ljust(16, b"\0")
    shape = 0, 52, 0, 0, 40, len(rows), len(rows) - 1
    return struct.pack("<16sHHIIIIIHHHHHH", head, 2, 40, 1, entry, 0, 52 + len(body), *shape) + (
        body + b"".join(rows)
    )


def himax_image(sections=SECTIONS, jump=None):
    """Make an image like Himax's tool: the boot loader's partition, and one of these sections."""
    start, certificate = 0x1000, 0x4AC + 52 * (len(sections) - 1)
    image = bytearray(start)
    size = certificate + sum(len(data) for _, _, data in sections)
    jump = sections[0][1] if jump is None else jump
    parts = ((0, 0x4AC, 0x1000, 0, 0x34005000), (3, certificate, start, size, jump))
    image[0x4EC:0x4F8] = struct.pack("<3I", 2, len(parts), 1 << 24)
    for index, (kind, length, *rest) in enumerate(parts):
        row = struct.pack("<IBBHIIII", kind, 1, 0, length, *rest, 0)
        image[0x4F8 + 24 * index : 0x4F8 + 24 * (index + 1)] = row
    partition = bytearray(certificate)
    at = certificate
    for index, (_, address, data) in enumerate(sections):
        struct.pack_into("<I", partition, 0x398 + 44 * index, address)
        place = certificate - 8 * (len(sections) - index)
        struct.pack_into("<II", partition, place, 0x3A000000 + start + at, len(data))
        at += len(data)
    return bytes(image + partition + b"".join(data for _, _, data in sections))
