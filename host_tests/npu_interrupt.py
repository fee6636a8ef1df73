# SPDX-License-Identifier: MIT
"""Masks the interrupt of the emulated board's NPU, so that an inference does not end."""

from ethosu_tools import boards

# By folder; not read from the firmware, whose number could be wrong.
_NUMBERS = {
    "MPS3_AN547": 56,
    "ALIF_ENSEMBLE_E7": 55,
    "OPENMV_AE3": 55,
    "GROVE_VISION_AI_V2": 192,
    "NUMAKER_M55M1": 13,
}
_ENABLE, _DISABLE = 0xE000E100, 0xE000E180  # NVIC: 32 interrupts a word


def mask() -> str:
    """Statement of the board's Python; it has imported machine."""
    return _write(_DISABLE)


def unmask() -> str:
    """The same to let the interrupt through."""
    return _write(_ENABLE)


def _write(registers: int) -> str:
    number = _NUMBERS[boards.chosen().name.partition("-")[0]]
    return f"machine.mem32[{registers + number // 32 * 4:#x}] = 1 << {number % 32}"
