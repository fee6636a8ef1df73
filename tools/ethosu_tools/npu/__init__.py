# SPDX-License-Identifier: MIT
"""The NPU simulator from Python: registers, single steps, feature maps, traces.

`Npu` is the bare hardware: a register window and the memory that it sees. `Session` runs a model
that Vela compiled, programming the registers as a driver would, and keeps the state of resource
variables from step to step.

    with Session(Path("kws_vela.tflite")) as session:
        for operation in session.steps(inputs):             # the NPU stands still after each
            if operation.ofm:
                print(operation.name, operation.cycles, session.feature_map(operation.ofm))
        print(session.outputs())
"""

from .hardware import (
    STATUS_BUS_ERROR,
    STATUS_END,
    STATUS_IRQ,
    STATUS_PARSE_ERROR,
    STATUS_RUNNING,
    STATUS_WEIGHT_FAULT,
    FeatureMap,
    Memory,
    Npu,
    NpuError,
    Operation,
    Outcome,
    Register,
    commands,
    configs,
)
from .program import command_stream
from .session import Session
from .trace import traffic

__all__ = [
    "STATUS_BUS_ERROR",
    "STATUS_END",
    "STATUS_IRQ",
    "STATUS_PARSE_ERROR",
    "STATUS_RUNNING",
    "STATUS_WEIGHT_FAULT",
    "FeatureMap",
    "Memory",
    "Npu",
    "NpuError",
    "Operation",
    "Outcome",
    "Register",
    "Session",
    "command_stream",
    "commands",
    "configs",
    "traffic",
]
