# SPDX-License-Identifier: MIT
"""The functional NPU model from Python: registers, single steps, feature maps, traces.

`Npu` is the bare hardware: a register window and the memory that it sees. `Session` runs a model
that Vela compiled, programming the registers as a driver would, and keeps the state of resource
variables from step to step.
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
]
