# SPDX-License-Identifier: MIT
"""By USB, to a boot loader that speaks DFU: the program dfu-util writes the image.

Settings: `device`, vendor and product of the boot loader; `partition`, the number of its alternate
setting that takes the image; `largest`, its bytes; `address`, where it begins; `how`, how the boot
loader is started. Facts of OpenMV's boot loader: its boot_config.h and its page on dfu-util.
"""

import shutil
from collections.abc import Mapping
from typing import Any

from ..errors import SetupError
from .job import Job, Step, Way, read_image, run_tool

_MISSING = (
    "dfu-util is not on PATH: install the package dfu-util; https://dfu-util.sourceforge.net "
    "explains it"
)


def steps(job: Job, settings: Mapping[str, Any]) -> list[Step]:
    """Have the user start the boot loader, dfu-util wait for it and write."""
    image = job.image(".bin")
    # In front of the comma would be the device as the running firmware shows it.
    command = ["dfu-util", "-w", "-d", f",{settings['device']}", "-a", str(settings["partition"])]
    command += ["--reset", "-D", str(image)]

    def write() -> None:
        read_image(image, settings["largest"])
        if shutil.which(command[0]) is None:
            raise SetupError(_MISSING)
        run_tool(command)

    return [
        Step(f"once dfu-util waits: {settings['how']}", lambda: None),
        Step(" ".join(command), write),
    ]


WAY = Way(
    "dfu",
    "written over USB by the board's own boot loader (DFU)",
    steps,
    frozenset({"device", "partition", "largest", "how"}),
    frozenset({"address"}),
)
