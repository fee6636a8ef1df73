# SPDX-License-Identifier: MIT
"""Addresses in a firmware image: the symbols of a 32-bit little-endian ELF file.

Source: Tool Interface Standard, Executable and Linking Format 1.2, part 1.
"""

import struct
from pathlib import Path

from ...base.errors import InputError
from ...base.files import read_whole

# e_shoff, and after e_flags to e_phnum e_shentsize and e_shnum.
_SECTIONS_AT, _SECTION_COUNT_AT = 32, 46
# sh_name, sh_type, sh_flags, sh_addr, sh_offset, sh_size, sh_link, sh_info, sh_addralign,
# sh_entsize
_SECTION = struct.Struct("<10I")
_SYMBOL = struct.Struct("<2I8x")  # st_name, st_value
_SYMBOL_TABLE = 2  # SHT_SYMTAB


def symbols(image: Path) -> dict[str, int]:
    """The value of each symbol, by name; of several with one name, the last."""
    data = read_whole(image)
    try:
        (start,) = struct.unpack_from("<I", data, _SECTIONS_AT)
        size, count = struct.unpack_from("<2H", data, _SECTION_COUNT_AT)
        rows = [_SECTION.unpack_from(data, start + index * size) for index in range(count)]
        table = next(row for row in rows if row[1] == _SYMBOL_TABLE)
        names = rows[table[6]]
        texts = data[names[4] : names[4] + names[5]]
        values = _SYMBOL.iter_unpack(data[table[4] : table[4] + table[5]])
        return {texts[at : texts.index(0, at)].decode(): value for at, value in values}
    except (IndexError, StopIteration, ValueError, struct.error):
        raise InputError(f"{image} has no symbol table: it was stripped, or is damaged") from None
