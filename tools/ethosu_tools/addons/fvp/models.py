# SPDX-License-Identifier: MIT
"""The FVPs that the emulator replaces."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ...base import paths
from ...boards import files


@dataclass(frozen=True)
class Model:
    """A program, and the emulated board behind it.

    `board` and `machine` are names of the plugin and of QEMU. `macs` is the default of `num_macs`.
    `instances` are the names of its parts in parameters. `memories`: the plugin's names of memories
    whose size parameters can change, and their default sizes in KiB. `uarts` have a terminal,
    `silent_uarts` are not emulated. `vectors` is the address of the vector table at reset.
    """

    name: str
    board: str
    machine: str
    npu: str
    macs: int
    instances: Mapping[str, str]
    memories: Mapping[str, int]
    uarts: tuple[int, ...]
    silent_uarts: tuple[int, ...] = field(default=(), kw_only=True)
    clock_mhz: int
    vectors: int

    def sizes(self) -> list[int]:
        """Numbers of MACs that the NPU can have, by the plugin's names of NPUs."""
        names = re.findall(rf"{self.npu}-(\d+)\0".encode(), paths.qemu_plugin().read_bytes())
        return sorted({int(name) for name in names})


# Sizes and clock: Arm DAI 0547, and the profile of Arm's ML embedded evaluation kit for SSE-300,
# whose images run on the FVP without parameters. UARTs 3 and 4 of MPS3 have no terminal.
_U55 = Model(
    name="FVP_Corstone_SSE-300_Ethos-U55",
    board=files.DEFAULT,  # this board has the memory map of Corstone-300
    machine="mps3-an547",
    npu="ethos-u55",
    macs=128,
    instances={"board": "mps3_board", "cpu": "cpu0", "npu": "ethosu", "sse": "mps3_board.sse300"},
    memories={"ITCM": 512, "DTCM": 512, "SSRAM": 2048, "ISRAM": 4096},
    uarts=(0, 1, 2, 5),
    clock_mhz=32,
    vectors=0x10000000,
)
_U65 = replace(_U55, name="FVP_Corstone_SSE-300_Ethos-U65", npu="ethos-u65", macs=256)
# The sizes are those of ExecuTorch's linker script for Corstone-320.
_U85 = Model(
    name="FVP_Corstone_SSE-320",
    board="CORSTONE_320",
    machine="none",
    npu="ethos-u85",
    macs=256,
    instances={
        "board": "mps4_board",
        "cpu": "mps4_board.subsystem.cpu0",
        "npu": "mps4_board.subsystem.ethosu",
        "sse": "mps4_board.subsystem",
    },
    memories={"ITCM": 32, "DTCM": 32},
    uarts=(0,),
    silent_uarts=(1, 2),
    clock_mhz=25,
    vectors=0x11000000,
)

MODELS = {model.name: model for model in (_U55, _U65, _U85)}
