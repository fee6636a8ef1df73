# SPDX-License-Identifier: MIT
"""Other runtimes: would they take this file, and if not, what do they say?

RUNTIMES has the limits of each, RULES a function for each kind of limit. Each limit has its source
in the other project, and the message (messages.py) in which it ends. Limits are those of the named
commit; users can build firmware with others.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..vela import NPUS
from . import messages, sscma
from .subject import Subject

ACCEPTS, REFUSES, NEEDS = "takes it", "refuses it", "needs"
_KIB = 1024
_LITERT = "TFLite's interpreter; printed by ai-edge-litert 1.2.0"
_LISTED = 3  # NPUs in a sentence
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
_TFLM = {*_KNOWN["tflm"], *_KNOWN["tflm_custom"], *_KNOWN["detection"]}
_OPENMV = _TFLM - {*_KNOWN["openmv_lacks"]}
_OPENMV_TYPES = ("int8", "uint8", "int16", "uint16", "float32")


@dataclass(frozen=True)
class Limit:
    """One limit of a runtime, and where it is set; `message` is what users see, if one is known."""

    value: Any
    message: str
    source: str


@dataclass(frozen=True)
class Runtime:
    """Another runtime, with the limits that RULES knows by name.

    `programs`: it takes ExecuTorch programs, and no `.tflite`.
    """

    name: str
    limits: dict[str, Limit]
    programs: bool = False


@dataclass(frozen=True)
class Verdict:
    """What a runtime would do: one of ACCEPTS, REFUSES, NEEDS, and why."""

    runtime: str
    verdict: str
    reasons: tuple[dict[str, str], ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "runtime": self.runtime,
            "verdict": self.verdict,
            "reasons": [dict(reason) for reason in self.reasons],
        }


def _commands(subject: Subject, _: Any) -> str | None:
    if subject.npu:
        return "the file has commands for an NPU (the operator ethos-u), which a PC does not have"
    return None


def _custom(subject: Subject, names: Collection[str]) -> str | None:
    """TFLite itself has one custom operator only."""
    custom = [name for name in subject.cpu if name in names]
    if not custom:
        return None
    return (
        f'it lacks custom operators of TFLite Micro: {", ".join(custom)} ("Encountered unresolved '
        f'custom op: {custom[0]}")'
    )


def _rejected(subject: Subject, _: Any) -> str | None:
    return subject.rejected or None


def _npus(*families: str) -> tuple[str, ...]:
    return tuple(npu for npu in NPUS if npu.split("-")[1] in families)


def _npu(subject: Subject, npus: tuple[str, ...]) -> str | None:
    if subject.npu and subject.npu not in npus:
        known = f"one of {len(npus)} others" if len(npus) > _LISTED else " or ".join(npus)
        return f"compiled for {subject.npu}, but the NPU is {known}"
    return None


def _operators(subject: Subject, known: Collection[str]) -> str | None:
    missing = [name for name in subject.cpu if name not in known]
    if not missing:
        return None
    why = "" if subject.npu else "the file was not compiled for the NPU, and "
    return f"{why}the resolver of this firmware lacks {', '.join(missing)}"


def _kernels(subject: Subject, known: Collection[str]) -> str | None:
    missing = [name for name in subject.cpu if name not in known]
    return f"TFLite Micro has no kernel for {', '.join(missing)}" if missing else None


def _arena(subject: Subject, sizes: int | dict[str, int]) -> str | None:
    """One size, or one for each NPU."""
    size = sizes if isinstance(sizes, int) else sizes.get(subject.npu or "", max(sizes.values()))
    if subject.arena > size:
        return (
            f"its arena has {size:,} bytes, the model needs at least {subject.arena:,} "
            f"({subject.arena - size:,} too few), and TFLite Micro's tables some KB more"
        )
    return None


def _types(subject: Subject, known: tuple[str, ...]) -> str | None:
    tensors = (*subject.inputs, *subject.outputs)
    wrong = sorted({tensor.dtype for tensor in tensors} - set(known))
    return f"inputs or outputs of {', '.join(wrong)}" if wrong else None


def _outputs(subject: Subject, _: Any) -> str | None:
    if sscma.kind(subject.input_shapes, subject.output_shapes):
        return None
    inputs, outputs = (
        ", ".join(str(list(shape)) for shape in shapes)
        for shapes in (subject.input_shapes, subject.output_shapes)
    )
    return (
        f"SSCMA has no post-processing for inputs {inputs} and outputs {outputs}: a model that "
        f"loads ends in code 8. It knows {'; '.join(sscma.KINDS)}; each with one image whose "
        "height is a multiple of 32"
    )


def _pool(subject: Subject, size: int) -> str | None:
    if subject.scratch > size:
        return (
            f"its temporary pool has {size:,} bytes, the NPU's scratch needs {subject.scratch:,} "
            f"({subject.scratch - size:,} too few)"
        )
    return None


def _method_pool(subject: Subject, size: int) -> str | None:
    if subject.planned > size:
        return (
            f"its method pool has {size:,} bytes, the planned tensors need {subject.planned:,} "
            f"({subject.planned - size:,} too few)"
        )
    return None


def _build(subject: Subject, _: Any) -> str | None:
    """What firmware of one's own must provide."""
    names = [*(["ethos-u"] if subject.npu else []), *subject.cpu]
    arena = f"an arena of at least {subject.arena:,} bytes, plus some KB for its tables"
    npu = f"an {subject.npu}, " if subject.npu else ""
    return f"{npu}{arena}; in the resolver: {', '.join(names) or 'nothing'}"


# Limits by name: whether a model keeps within one; the sentence is the reason if it does not.
RULES: dict[str, Callable[[Subject, Any], str | None]] = {
    "commands": _commands,
    "custom": _custom,
    "rejected": _rejected,
    "npus": _npu,
    "operators": _operators,
    "kernels": _kernels,
    "arena": _arena,
    "types": _types,
    "outputs": _outputs,
    "pool": _pool,
    "method_pool": _method_pool,
    "build": _build,
}

RUNTIMES = (
    Runtime(
        "TFLite or LiteRT on a PC",
        {
            "commands": Limit(None, messages.UNRESOLVED, _LITERT),
            "custom": Limit(_KNOWN["tflm_custom"], "", _LITERT),
            "rejected": Limit(None, "", "ai-edge-litert 1.2.0, run here"),
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


def verdicts(subject: Subject) -> list[Verdict]:
    """What each runtime for this kind of file would do with it."""
    return [
        _verdict(subject, runtime) for runtime in RUNTIMES if runtime.programs == subject.program
    ]


def _verdict(subject: Subject, runtime: Runtime) -> Verdict:
    reasons = tuple(
        {"rule": name, "text": text, "message": limit.message, "source": limit.source}
        for name, limit in runtime.limits.items()
        if (text := RULES[name](subject, limit.value))
    )
    only_needs = bool(reasons) and all(reason["rule"] == "build" for reason in reasons)
    return Verdict(runtime.name, NEEDS if only_needs else REFUSES if reasons else ACCEPTS, reasons)
