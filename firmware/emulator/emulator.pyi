# SPDX-License-Identifier: MIT
"""Features of emulated boards: exact counts, faults to inject, the host's log.

ImportError: the firmware does not run on QEMU with the plugin, or was built without it.
"""

from typing import Any

def instructions() -> int:
    """Instructions that the CPU has executed since the machine started."""

def npu_instructions() -> int:
    """Instructions that the CPU executed during the last run of an NPU."""

def npu_slept() -> bool:
    """Did the CPU sleep (WFI) when the last run of an NPU ended?"""

def dma_slept() -> bool:
    """Did the CPU sleep (WFI) when the last DMA transfer ended?"""

def copy_cost(to: Any, source: Any, hook: bool, /) -> int:
    """Instructions of one copy between two buffers: by the tensor copy hook, or by memcpy()."""

def model_costs(file: Any, /) -> dict[str, int]:
    """Instructions of loading and running a model, given as its bytes, in a C program.

    OSError: no NPU is free. ValueError: the model can't be run.
    """

def microphone(ring: Any, samples: int, interrupts: int, /) -> None:
    """Let an interrupt write samples to an `ethosu_audio.Ring`, so often, in each millisecond.

    Each time `samples` of them: 0, 1, 2, ... modulo 65536. Returns at once; the interrupts come
    while the program does something else. A firmware without `ethosu_audio` lacks it.
    ValueError: samples is not 1 to 256, or interrupts is less than 1.
    """

def fault(name: str, count: int = 1, after: int = 0, /) -> None:
    """Let a device have a fault, such as "npu1.bus-error", `count` times; 0 withdraws it.

    `after`: nanoseconds of the board's time from now. tools/qemu_plugin/README.md lists the names.
    ValueError: unknown fault.
    """

def log(text: str | bytes, /) -> None:
    """Print on the host's stderr."""
