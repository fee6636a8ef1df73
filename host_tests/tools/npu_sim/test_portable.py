# SPDX-License-Identifier: MIT
"""The simulator's sources compile for a 32-bit host without lossy conversions."""

import re
import subprocess

# A 32-bit compiler has no 128-bit integers, and its C library hides the 64-bit formats.
STAND_INS = ["-D__int128=long long", *(f'-DPRI{kind}64="ll{kind}"' for kind in "dux")]
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wconversion", "-Wno-format"]


def compile_for_32_bits(*sources):
    command = ["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-std=gnu11", "-fsyntax-only"]
    return subprocess.run(
        [*command, *STAND_INS, *WARNINGS, *sources],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_no_conversion_loses_bits_on_a_32_bit_host(repo):
    room = repo / "tools/npu_sim"
    sources = [path for path in sorted(room.glob("*/*.c")) if path.parent.name != "fuzz"]
    assert len(sources) > 30
    done = compile_for_32_bits(f"-I{room}", *sources)
    assert done.returncode == 0, done.stderr


def test_a_lossy_conversion_is_detected(tmp_path):
    source = tmp_path / "lossy.c"
    source.write_text(
        "#include <stddef.h>\n#include <stdint.h>\n"
        "size_t lossy(uint64_t count);\nsize_t lossy(uint64_t count) { return count; }\n"
    )
    done = compile_for_32_bits(source)
    assert done.returncode != 0 and "-Werror=conversion" in done.stderr


def test_no_target_of_a_function_is_forgotten(repo):
    """Targets of functions are kept, which GCC 13 and 14 forget before optimize() below -O2."""
    attributes = re.compile(r"__attribute__\(\((.*)\)\)")
    found = [
        words
        for path in sorted((repo / "tools/npu_sim").rglob("*.[ch]"))
        for words in attributes.findall(path.read_text())
        if "target" in words and "optimize" in words
    ]
    assert len(found) >= 3
    assert [words for words in found if not words.startswith("optimize(")] == []
