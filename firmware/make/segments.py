# SPDX-License-Identifier: MIT
"""Check that a linked image loads nothing but its sections, into the memories of its linker script.

Usage: segments.py IMAGE MAP

A linker for paged memory may put the file's own headers in front of a section. A loader then
overwrites the memory there, which may have to survive a reset, for example.
Source of the format: Tool Interface Standard, Executable and Linking Format 1.2, part 1.
"""

import re
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

# e_phoff, e_shoff, e_flags, e_ehsize, e_phentsize, e_phnum, e_shentsize, e_shnum
HEADER_AT, HEADER = 28, struct.Struct("<3I5H")
# p_type, p_offset, p_vaddr, p_paddr, p_filesz, p_memsz, p_flags, p_align
SEGMENT = struct.Struct("<8I")
LOAD = 1  # PT_LOAD
# sh_name, sh_type, sh_flags, sh_addr, sh_offset, sh_size, ...
SECTION = struct.Struct("<6I16x")
ALLOCATED = 2  # SHF_ALLOC
# A line of the table "Memory Configuration".
MEMORY = re.compile(r"^(?!\*default\*)(\S+) +(0x[0-9a-f]+) +(0x[0-9a-f]+)(?: |$)", re.MULTILINE)


def memories(text: str) -> list[range]:
    """Read the memories from the linker's map."""
    table = text.partition("Memory Configuration")[2].partition("Linker script")[0]
    rows = ((int(start, 16), int(size, 16)) for _, start, size in MEMORY.findall(table))
    return [range(start, start + size) for start, size in rows]


def is_inside(start: int, size: int, places: list[range]) -> bool:
    """Whether a range is completely inside one of the places."""
    return any(place.start <= start and start + size <= place.stop for place in places)


def allocated(image: bytes) -> list[tuple[int, int]]:
    """Return first address and end of each section that has a place in memory."""
    _, at, _, _, _, _, _, count = HEADER.unpack_from(image, HEADER_AT)
    rows = (SECTION.unpack_from(image, at + n * SECTION.size) for n in range(count))
    return [(row[3], row[3] + row[5]) for row in rows if row[2] & ALLOCATED and row[5]]


def loaded(image: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Return address, load address, loaded bytes and bytes of each segment."""
    at, _, _, _, _, count, *_ = HEADER.unpack_from(image, HEADER_AT)
    for number in range(count):
        kind, _, start, load, filled, size, *_ = SEGMENT.unpack_from(
            image, at + number * SEGMENT.size
        )
        if kind == LOAD and size > 0:
            yield start, load, filled, size


def faults(image: bytes, places: list[range]) -> Iterator[str]:
    """Describe data that segments load outside of sections or of the places."""
    sections = allocated(image)
    for start, load, filled, size in loaded(image):
        name = (
            f"the segment at {start:#x} ({size:#x} bytes, {filled:#x} of them loaded to {load:#x})"
        )
        inside = [(low, high) for low, high in sections if start <= low and high <= start + size]
        first, last = min(inside, default=(0, 0))[0], max(inside, default=(0, 0))[1]
        if (first, last) != (start, start + size):
            yield f"{name} has more than its sections, which are {first:#x} to {last:#x}"
        if not is_inside(start, size, places) or (filled and not is_inside(load, filled, places)):
            yield f"{name} is not in a memory of the linker script"


def main(image: str, link_map: str) -> str | None:
    """Return what is wrong with the image, if anything."""
    places = memories(Path(link_map).read_text())
    found = list(faults(Path(image).read_bytes(), places))
    return f"{image}: {'; '.join(found)}" if found else None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
