# SPDX-License-Identifier: MIT
"""Reads an image of Himax's tool as a WE2's boot loader does, and tells if it would not start.

The image is what the flash contains. It begins with a memory descriptor, whose entries are the
partitions. The boot loader copies the sections of those with type 3 to their addresses, then jumps
to `exec_addr` of the first: there it takes the stack and the entry. Each partition begins with a
certificate, which has a record for each section: its address near the start, where its bytes are at
the end. Sources: an image and the machine code of the first boot stage in HimaxWiseEyePlus/
Seeed_Grove_Vision_AI_Module_V2, layout.json of a recorded run of the tool in HimaxWiseEyePlus/
Himax-WiseEye-Module-G1-SDK.
"""

import struct
from dataclasses import dataclass

from ...base.errors import InputError

# Size of a certificate for one section, and what each further section adds.
_CERTIFICATE, _PER_SECTION = 0x4AC, 52
_FIRST_ADDRESS, _RECORD = 0x398, 44
# The flash's address for the CPU.
FLASH = 0x3A000000
# Offsets in the image: number of entries, first entry.
_COUNT, _ENTRIES = 0x4F0, 0x4F8
_ENTRY = struct.Struct("<IBBHIIII")
_APPLICATION = 3
_MOST_ENTRIES = 32

_ELF_HEADER = struct.Struct("<16sHHIIIIIHHHHHH")
_ELF_SECTION = struct.Struct("<10I")
_ALLOC, _NOBITS = 2, 8


@dataclass(frozen=True)
class Section:
    """Bytes that are loaded to an address."""

    name: str
    address: int
    data: bytes


def elf_sections(elf: bytes) -> tuple[int, list[Section]]:
    """Read the entry and loaded sections of an ELF file, in the order of their headers."""
    try:
        header = _ELF_HEADER.unpack_from(elf)
        entry, table, size, count, names = header[4], header[6], *header[11:14]
        rows = [_ELF_SECTION.unpack_from(elf, table + index * size) for index in range(count)]
        found = []
        for row in rows:
            if row[2] & _ALLOC and row[1] != _NOBITS:
                name = elf[rows[names][4] + row[0] :].split(b"\0", 1)[0].decode(errors="replace")
                found.append(Section(name, row[3], _cut(elf, row[4], row[5])))
    except (struct.error, IndexError, ValueError) as error:
        raise InputError(f"the firmware is not an ELF file with sections: {error}") from None
    return entry, found


def read(image: bytes) -> tuple[int, list[Section]]:
    """Read the application's jump address and sections; ValueError for an unknown layout."""
    try:
        (count,) = struct.unpack_from("<I", image, _COUNT)
        if not 0 < count <= _MOST_ENTRIES:
            raise ValueError(f"{count} partitions")
        entries = [_ENTRY.unpack_from(image, _ENTRIES + i * _ENTRY.size) for i in range(count)]
        parts = [entry for entry in entries if entry[0] == _APPLICATION]
        sections = [
            section for entry in parts for section in _sections(image, entry[3], entry[4], entry[5])
        ]
    except struct.error as error:
        raise ValueError(str(error)) from None
    if not parts:
        raise ValueError("no application")
    return parts[0][6], sections


def _sections(image: bytes, certificate: int, start: int, size: int) -> list[Section]:
    """Read the sections of a partition."""
    more, rest = divmod(certificate - _CERTIFICATE, _PER_SECTION)
    if more < 0 or rest:
        raise ValueError(f"a certificate of {certificate} bytes")
    sections = []
    for index in range(more + 1):
        at = start + _FIRST_ADDRESS + index * _RECORD
        (address,) = struct.unpack_from("<I", image, at)
        place = start + certificate - 8 * (more + 1 - index)
        stored, length = struct.unpack_from("<II", image, place)
        if not start <= stored - FLASH <= start + size - length:
            raise ValueError(f"a section at {stored:#x}")
        sections.append(Section("", address, _cut(image, stored - FLASH, length)))
    return sections


def _cut(data: bytes, start: int, size: int) -> bytes:
    if start < 0 or start + size > len(data):
        raise ValueError(f"{size} bytes at {start:#x} are beyond its end")
    return data[start : start + size]


def check(image: bytes, elf: bytes | None) -> int:
    """Return the jump address; InputError if the board would stay silent, ValueError as `read`."""
    jump, loaded = read(image)
    first = next((each for each in loaded if each.address == jump), None)
    if first is None or len(first.data) < 8:
        raise InputError(f"the boot loader would jump to {jump:#x}, where the image has nothing")
    stack, entry = struct.unpack_from("<II", first.data)
    expected, wanted = elf_sections(elf) if elf is not None else (entry, [])
    known = any(each.address <= entry < each.address + len(each.data) for each in loaded)
    if entry != expected or not entry & 1 or not known:
        raise InputError(
            f"the boot loader would jump to {jump:#x}, which is no vector table (stack {stack:#x}, "
            f"entry {entry:#x}): the vectors must be the first section of the firmware"
        )
    for each in wanted:
        if not each.data:
            raise InputError(f"section {each.name} of the firmware is loaded, but empty")
        if not any(_holds(other, each) for other in loaded):
            raise InputError(
                f"the image lacks section {each.name} of the firmware, {len(each.data):,} bytes at "
                f"{each.address:#x}"
            )
    return jump


def _holds(loaded: Section, wanted: Section) -> bool:
    start = wanted.address - loaded.address
    return start >= 0 and loaded.data[start : start + len(wanted.data)] == wanted.data
