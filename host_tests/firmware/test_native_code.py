# SPDX-License-Identifier: MIT
"""Code that MicroPython writes is executed: it must leave the data cache before it is fetched.

QEMU has no caches, so that a missing operation shows in no result there. These tests read the image
instead. All native code passes mp_emit_glue_assign_native(): of @micropython.native, viper and
asm_thumb as of a native .mpy file, which py/persistentcode.c relocates before it calls it.
"""

import re
import subprocess
from pathlib import Path

import pytest

FUNCTION = "mp_emit_glue_assign_native"

# Cortex-M55 Technical Reference Manual and CMSIS: registers, as distances from SCB (0xE000ED00).
CLEAN_LINE = 0x268  # DCCMVAC
INVALIDATE_CODE = 0x250  # ICIALLU


def cache_operations(code: str) -> list[str]:
    """What a function's disassembly does to the caches, barriers included, in its order."""
    kinds = {CLEAN_LINE: "clean", INVALIDATE_CODE: "invalidate"}
    operations = []
    for line in code.splitlines():
        if barrier := re.search(r"\t(dsb|isb)\t", line):
            operations.append(barrier[1])
        elif (store := re.search(r"\tstr[.\w]*\t.*\[r\d+, #(\d+)\]", line)) and (
            kind := kinds.get(int(store[1]))
        ):
            operations.append(kind)
    return operations


def follow_each_other(operations: list[str], *wanted: str) -> bool:
    """Are these among the operations, in this order? Others may be between them."""
    rest = iter(operations)
    return all(operation in rest for operation in wanted)


@pytest.fixture(scope="module")
def code(firmware: Path) -> str:
    command = ["arm-none-eabi-objdump", "-d", "--no-show-raw-insn", f"--disassemble={FUNCTION}"]
    text = subprocess.run([*command, firmware], check=True, capture_output=True, text=True).stdout
    assert f"<{FUNCTION}>:" in text
    return text


def test_native_code_is_cleaned_and_old_code_invalidated(code):
    """Clean, wait until it is in memory, invalidate, wait, and drop what was fetched ahead."""
    assert "e000ed00" in code, "the base of the registers"
    wanted = ("clean", "dsb", "invalidate", "dsb", "isb")
    assert follow_each_other(cache_operations(code), *wanted), code


@pytest.mark.parametrize("offset", [CLEAN_LINE, INVALIDATE_CODE])
def test_an_absent_operation_would_be_seen(code, offset):
    lines = [line for line in code.splitlines() if f", #{offset}]" not in line]
    assert lines != code.splitlines()
    wanted = ("clean", "dsb", "invalidate", "dsb", "isb")
    assert not follow_each_other(cache_operations("\n".join(lines)), *wanted)


def test_code_of_an_mpy_file_is_relocated_first(repo):
    """By the source: relocation writes into the code, so it comes before the cleaning."""
    for tree in sorted((repo / "build/micropython").glob("1.*")):
        text = (tree / "py/persistentcode.c").read_text()
        loader = text[text.index("static mp_raw_code_t *load_raw_code(") :]
        relocated = loader.index("mp_native_relocate(&ri, fun_data")
        assigned = loader.index(f"{FUNCTION}(rc, kind,")
        assert relocated < assigned and "fun_data," in loader[assigned : assigned + 80], tree
        assert loader.count(f"{FUNCTION}(") == 1, tree
