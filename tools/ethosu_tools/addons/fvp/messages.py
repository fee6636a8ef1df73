# SPDX-License-Identifier: MIT
"""Messages of Arm's FVP, see answers/messages.py. Titles are headings of the page here."""

from ...answers.messages import Message

STACK = "FVP: cannot enable executable stack"
TIME = "FVP: CPU time has been exceeded"

MESSAGES = (
    Message(
        STACK,
        "Error: (E549) uncaught exception: libarmctmodel.so: cannot enable executable stack",
        r"cannot enable executable stack",
        "newer releases of glibc refuse to load a library of the FVP that asks for an executable "
        "stack",
        "`ethosu fvp install DIR` and this folder first on PATH: programs with the FVPs' names, "
        "which run the same firmware in QEMU",
        "ArmDeveloperEcosystem/arm-learning-paths#2038",
    ),
    Message(
        TIME,
        "Info: Simulation is stopping. Reason: CPU time has been exceeded.",
        r"Simulation is stopping\. Reason: (?P<reason>[\w ]+ exceeded)",
        "the FVP was still computing when its --timelimit ended: nothing is known about the model",
        "`ethosu fvp install DIR` and this folder first on PATH: the same command line takes "
        "seconds",
        "pytorch/executorch@cff6f4d backends/arm/scripts/run_fvp.sh:238",
    ),
)
