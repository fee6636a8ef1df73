# SPDX-License-Identifier: MIT
"""Builds a program for Corstone-300 with newlib's semihosting start-up (program.c)."""

from pathlib import Path

from host_tests.kit import sharing

SOURCES = Path(__file__).parent
FLAGS = "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard --specs=rdimon.specs -O1 -Wall -Wextra -Werror"
# Exit code after a fault.
FAULT = 99


def build(code_start: int | None = None) -> Path:
    """Build the image; its code may be in another memory than the ITCM."""
    place = [f"-Wl,--defsym=code_start={code_start:#x}"] if code_start else []
    sources = [SOURCES / "program.c", SOURCES / "start.c"]
    command = ["arm-none-eabi-gcc", *FLAGS.split(), *place]
    command += [f"-T{SOURCES / 'program.ld'}", *sources, "-o"]
    return sharing.program(f"newlib{code_start or ''}.elf", command)
