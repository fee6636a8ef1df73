# SPDX-License-Identifier: MIT
"""Whether other runtimes would take a file, and which message they print if not.

RUNTIMES has the limits of each, rules.py a function for each kind of limit. Each limit has its
source in the other project, and the message (messages.py) in which it ends. Limits are those of the
named commit; users can build firmware with others. The web page uses this table, too.
"""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..boards.targets import NPUS
from . import messages, rules
from .traits import Subject

_KIB = 1024
_LITERT = "TFLite's interpreter; printed by ai-edge-litert 1.2.0"
_DRIVER = "zephyrproject-rtos/hal_ethos_u@0356707 src/ethosu_device_u55_u65.c:352"
_DRIVER_U85 = "zephyrproject-rtos/hal_ethos_u@0356707 src/ethosu_device_u85.c:334"
_TFLM_FILES = "tensorflow/tflite-micro@90b983c tensorflow/lite/micro/"
_SSCMA = "Seeed-Studio/sscma-example-we2@461496f EPII_CM55M_APP_S/library/sscma_micro_porting/"
_BOARD = f"{_SSCMA}porting/himax/we2/ma_config_board.h"
_OPENMV_FILES = "openmv/openmv@cbbb877 "
_EXECUTORCH = "pytorch/executorch@cff6f4d examples/arm/executor_runner/"
_KIT = "ML embedded evaluation kit (alifsemi/alif_ml-embedded-evaluation-kit@b1b93fc) "

_KNOWN = {
    name: text.split()
    for name, text in tomllib.loads((Path(__file__).parent / "operators.toml").read_text()).items()
}
_TFLM = [*_KNOWN["tflm"], *_KNOWN["tflm_custom"], *_KNOWN["detection"]]
_OPENMV = [name for name in _TFLM if name not in _KNOWN["openmv_lacks"]]
_OPENMV_TYPES = ("int8", "uint8", "int16", "uint16", "float32")


@dataclass(frozen=True)
class Limit:
    """One limit of a runtime, and where it is set; `message` is what users see, if one is known."""

    value: Any
    message: str
    source: str


@dataclass(frozen=True)
class Runtime:
    """Another runtime, with the limits that rules.py knows by name.

    `programs`: it takes ExecuTorch programs, and no `.tflite`.
    """

    name: str
    limits: dict[str, Limit]
    programs: bool = False


def _npus(*families: str) -> tuple[str, ...]:
    return tuple(npu for npu in NPUS if npu.split("-")[1] in families)


RUNTIMES = (
    Runtime(
        "TFLite or LiteRT on a PC",
        {
            "commands": Limit(None, messages.UNRESOLVED, _LITERT),
            "custom": Limit(_KNOWN["tflm_custom"], "", _LITERT),
            "rejected": Limit(None, "", "ai-edge-litert, run here"),
        },
    ),
    Runtime(
        "TFLite Micro in your own firmware",
        {
            "kernels": Limit(
                _TFLM,
                messages.NO_BUILTIN,
                f"{_TFLM_FILES}micro_mutable_op_resolver.h",
            ),
            "build": Limit(
                None,
                messages.RESIZE,
                f"{_TFLM_FILES}micro_interpreter.cc:131, "
                "arena_allocator/single_arena_buffer_allocator.cc:98",
            ),
        },
    ),
    Runtime(
        "SSCMA (SenseCraft) on Grove Vision AI V2",
        {
            "npus": Limit(("ethos-u55-64",), messages.MISMATCH, _DRIVER),
            "operators": Limit(_KNOWN["sscma"], messages.NO_BUILTIN, f"{_BOARD}:50"),
            "arena": Limit(1100 * _KIB, messages.RESIZE, f"{_BOARD}:47"),
            "outputs": Limit(
                None,
                messages.INVOKE,
                "Seeed-Studio/SSCMA-Micro@60e2ede sscma/core/model/ma_model_factory.cpp",
            ),
        },
    ),
    Runtime(
        "OpenMV on the AE3",
        {
            "npus": Limit(("ethos-u55-256", "ethos-u55-128"), messages.MISMATCH, _DRIVER),
            "operators": Limit(
                _OPENMV,
                messages.NO_BUILTIN,
                f"{_OPENMV_FILES}lib/tflm/tflm_backend.cc:111",
            ),
            "arena": Limit(
                {"ethos-u55-256": 4 * _KIB * _KIB, "ethos-u55-128": 2 * _KIB * _KIB},
                messages.TENSORS,
                f"{_OPENMV_FILES}lib/tflm/tflm_backend.cc:243, "
                "board_config.h of the AE3:106 and :127 (the largest block of the heap)",
            ),
            "types": Limit(
                _OPENMV_TYPES, messages.INPUT_TYPE, f"{_OPENMV_FILES}lib/tflm/tflm_backend.cc:84"
            ),
        },
    ),
    Runtime(
        "Arm's ML embedded evaluation kit, inference runner on Corstone-300",
        {
            "arena": Limit(
                2 * _KIB * _KIB,
                messages.RESIZE,
                f"{_KIT}source/use_case/inference_runner/usecase.cmake:21",
            )
        },
    ),
    Runtime(
        "ExecuTorch's arm_executor_runner, Shared_Sram (Corstone-300)",
        {
            "npus": Limit(_npus("u55", "u65"), messages.MISMATCH, _DRIVER),
            "pool": Limit(0x200000, messages.POOL, f"{_EXECUTORCH}CMakeLists.txt:199"),
            "method_pool": Limit(
                60 * _KIB * _KIB, messages.POOL, f"{_EXECUTORCH}arm_executor_runner.cpp:231"
            ),
        },
        programs=True,
    ),
    Runtime(
        "ExecuTorch's arm_executor_runner, Dedicated_Sram (Corstone-320)",
        {
            "npus": Limit(_npus("u85"), messages.MISMATCH, _DRIVER_U85),
            "pool": Limit(0x4000000, messages.POOL, f"{_EXECUTORCH}CMakeLists.txt:190"),
            "method_pool": Limit(
                60 * _KIB * _KIB, messages.POOL, f"{_EXECUTORCH}arm_executor_runner.cpp:231"
            ),
        },
        programs=True,
    ),
)


def verdicts(subject: Subject) -> list[dict[str, Any]]:
    """Return what each runtime for this kind of file would do with the file."""
    return [
        rules.verdict(subject, asdict(runtime))
        for runtime in RUNTIMES
        if runtime.programs == subject.program
    ]
