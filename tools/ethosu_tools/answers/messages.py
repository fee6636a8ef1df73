# SPDX-License-Identifier: MIT
"""Messages of other runtimes about a model, with their causes and remedies.

Titles are headings of docs/errors.md. Each row names the place in the other project's source that
prints the message, or the thread in which users reported it, with a commit if the text or its
place has changed. logs.toml has the other messages, by the format strings in the sources.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..base import addons


@dataclass(frozen=True)
class Message:
    """A message of another runtime; groups of `pattern` are fields of `cause` and `advice`.

    `says` is an example as printed; `memory` marks messages about memory for the NPU's tensors.
    """

    title: str
    says: str
    pattern: str
    cause: str
    advice: str
    source: str
    memory: bool = False

    def found(self, match: re.Match[str]) -> tuple[str, str]:
        """Cause and advice for a message."""
        groups = {name: _readable(value or "?") for name, value in match.groupdict().items()}
        return self.cause.format(**groups), self.advice.format(**groups)


def _readable(value: str) -> str:
    """Add thousands separators to a number; return other words unchanged."""
    return f"{int(value):,}" if value.isdecimal() else value


UNRESOLVED = "Encountered unresolved custom op: ethos-u"
NO_REGISTRATION = "Failed to get registration from op code CUSTOM"
NO_BUILTIN = "Didn't find op for builtin opcode"
RESIZE = "Failed to resize buffer. Requested"
TENSORS = "Failed to allocate tensors"
INVOKE = "Invoke failed"
MISMATCH = "NPU config mismatch"
INPUT_TYPE = "Unsupported input data type"
NETWORK = "Failed to load network"
POOL = "0x21: Memory allocation failed"
MISSING = "0x14: Missing operator"
MPY = "incompatible .mpy file"
ON_CPU = "is not supported on the NPU. Placing on CPU instead"

_TFLM = "tensorflow/tflite-micro@90b983c tensorflow/lite/micro/"
_EXECUTORCH = "pytorch/executorch@cff6f4d "
_CHECK = "`ethosu check MODEL`"

MESSAGES = (
    Message(
        UNRESOLVED,
        "RuntimeError: Encountered unresolved custom op: ethos-u.",
        r"Encountered unresolved custom op: ethos-u",
        "TFLite on a PC was given a file that Vela compiled: its operator `ethos-u` holds commands "
        "for the NPU, which the PC does not have",
        "run it with `ethosu run MODEL`, which simulates the NPU, and compare with the original "
        "model by `--reference ORIGINAL`",
        "TFLite's interpreter; printed by ai-edge-litert 1.2.0",
    ),
    Message(
        NO_REGISTRATION,
        "Failed to get registration from op code CUSTOM",
        r"Failed to get registration from op code CUSTOM",
        "TFLite Micro was built without the operator `ethos-u`, or its resolver does not have it: "
        "the firmware has no AddEthosU(), or TFLite Micro's own stub instead of the kernel of "
        "Ethos-U",
        "call AddEthosU() and build TFLite Micro with CO_PROCESSOR=ethos_u or the vendor's "
        f"library for it; {_CHECK} lists all operators that the resolver needs",
        f"{_TFLM}micro_interpreter.cc:131; HimaxWiseEyePlus/Seeed_Grove_Vision_AI_Module_V2#49",
    ),
    Message(
        NO_BUILTIN,
        "Didn't find op for builtin opcode 'CONV_2D'",
        r"Didn't find op for builtin opcode '?(?P<name>\w+)?'?",
        "the resolver of the firmware lacks the operator {name}. Either the file was never "
        "compiled by Vela, or Vela left this operator to the CPU",
        f"{_CHECK} tells which; compile it with `ethosu compile`, or add {{name}} to the resolver",
        f"{_TFLM}micro_op_resolver.cc:37",
    ),
    Message(
        RESIZE,
        "Failed to resize buffer. Requested: 55296, available 20256, missing: 35040",
        r"Failed to (?:resize buffer|allocate (?:tail|temp) memory)\. Requested: (?P<size>\d+), "
        r"available:? (?P<has>\d+), missing: (?P<missing>\d+)",
        "the arena of TFLite Micro is too small: it lacks at least {missing} bytes, and more is "
        "needed after this allocation",
        "enlarge the arena (often tensor_arena_size or kTensorArenaSize) by at least {missing} "
        f"bytes; if the RAM has no room, compile with --vela='--optimise Size'. {_CHECK} prints "
        "the smallest arena",
        f"{_TFLM}arena_allocator/single_arena_buffer_allocator.cc:98; "
        "HimaxWiseEyePlus/Seeed_Grove_Vision_AI_Module_V2#36",
        memory=True,
    ),
    Message(
        TENSORS,
        "ValueError: Failed to allocate tensors",
        r"(?:Failed to allocate tensors|AllocateTensors\(\) failed)",
        "TFLite Micro could not prepare the model: the heap has no block that is large enough for "
        "its arena, or an operator is missing or has unsupported types. The line before says which",
        f"{_CHECK} compares arena, operators and types with the firmware's",
        "openmv/openmv@cbbb877 lib/tflm/tflm_backend.cc:250; openmv/openmv#2462 #2626",
        memory=True,
    ),
    Message(
        INVOKE,
        "Invoke failed",
        r"(?i:invoke failed)",
        "the firmware does not say why. It could not load the model, or has no post-processing for "
        "its outputs (SSCMA), or the NPU stopped: compiled for another NPU, a damaged file, or "
        "memory that the NPU cannot access",
        f"{_CHECK} applies the rules of SSCMA, OpenMV and TFLite Micro to the file and runs it on "
        "the simulated NPU",
        "Seeed-Studio/SSCMA-Micro@60e2ede sscma/server/at/callback/invoke.hpp, prepareAlgorithm(); "
        "openmv/openmv@cbbb877 lib/tflm/tflm_backend.cc:339; "
        "HimaxWiseEyePlus/Seeed_Grove_Vision_AI_Module_V2#68; Seeed-Studio/ModelAssistant#276 #319",
    ),
    Message(
        MISMATCH,
        "E: NPU config mismatch. npu.macs_per_cc=6, optimizer.macs_per_cc=8",
        r"NPU config mismatch\. npu\.(?P<what>\w+)=(?P<npu>\d+), optimizer\.\w+=(?P<model>\d+)",
        "the file was compiled for another NPU: {what} is {npu} in hardware and {model} in the "
        "file (of macs_per_cc it is the logarithm: 2 to this power are the MACs)",
        "compile the original for this NPU: `ethosu compile MODEL --npu NPU`; on Vela's command "
        "line it is --accelerator-config",
        "Arm's core driver, zephyrproject-rtos/hal_ethos_u@0356707 src/ethosu_device_u55_u65.c:352",
    ),
    Message(
        INPUT_TYPE,
        "ValueError: Unsupported input data type 2",
        r"Unsupported (?:in|out)put data type (?P<type>\d+)",
        "OpenMV takes tensors of int8, uint8, int16, uint16 and float32 only; this is TFLite's "
        "type {type}",
        "convert the model with int8 or float inputs and outputs; `ethosu inspect MODEL` shows the "
        "types",
        "openmv/openmv@cbbb877 lib/tflm/tflm_backend.cc:287",
    ),
    Message(
        NETWORK,
        "RuntimeError: Failed to load network",
        r"Failed to load network",
        "it comes from the OpenMV N6, whose NPU is ST's and no Ethos-U. The file is not in ST's "
        "format, or in memory that this NPU does not read",
        "a file with an `ethos-u` operator is for the OpenMV AE3: `ethosu check MODEL` tells. For "
        "the N6, put a file made by ST's compiler into /rom",
        "openmv/openmv#3272",
    ),
    Message(
        POOL,
        "Failed to allocate scratch buffer of 8197520 bytes from temp_allocator",
        r"Failed to allocate scratch buffer of (?P<size>\d+) bytes"
        r"|Memory allocation failed: (?P<asked>\d+)B requested"
        r"|failed with status 0x0*21\b|MemoryAllocationFailed",
        "a pool of ExecuTorch's runner is too small: the temporary one holds the NPU's scratch, "
        "the method's one holds planned tensors and inputs",
        f"{_CHECK} prints both sizes; set ET_ARM_BAREMETAL_SCRATCH_TEMP_ALLOCATOR_POOL_SIZE or "
        "ET_ARM_BAREMETAL_METHOD_ALLOCATOR_POOL_SIZE to more (under Zephyr "
        "CONFIG_EXECUTORCH_TEMP_ALLOCATOR_POOL_SIZE or "
        "CONFIG_EXECUTORCH_METHOD_ALLOCATOR_POOL_SIZE), or export for a memory mode that needs "
        "less SRAM",
        f"{_EXECUTORCH}backends/arm/runtime/EthosUBackend.cpp:177, runtime/core/error.h, "
        "runtime/core/memory_allocator.h:103; ultralytics/ultralytics#24171",
        memory=True,
    ),
    Message(
        MISSING,
        "E [executorch:method.cpp:824] Missing operator: [4] aten::avg_pool2d.out",
        r"Missing operator: \[\d+\] (?P<name>\S+)|failed with status 0x0*14\b|OperatorMissing",
        "the runner was built without a kernel for an operator that the exporter left to the CPU; "
        "`Missing operator` in the log names it",
        "`ethosu inspect MODEL` lists the operators; build the runner with them (its CMake option "
        "for selected operators), or change the model so that they are delegated to the NPU",
        f"{_EXECUTORCH}runtime/executor/method.cpp:824, "
        "examples/arm/executor_runner/arm_executor_runner.cpp, runner_init()",
    ),
    Message(
        MPY,
        "ValueError: incompatible .mpy file",
        r"incompatible \.mpy (?P<what>file|arch)",
        "the .mpy was made for another version of MicroPython, another architecture, or as a "
        "native module for a firmware that has none",
        "load the module's .mpy for the board's version: `make firmware` makes it; firmware that "
        "contains `ethosu` needs none",
        "micropython/micropython@v1.25.0 py/persistentcode.c:470",
    ),
    Message(
        ON_CPU,
        "Warning: TRANSPOSE 'x' is not supported on the NPU. Placing on CPU instead",
        r"(?:Warning: |supported operators\) operator: )(?P<name>\w+)"
        r"(?:, ofm: '| '[^']*' is not supported on the NPU)",
        "Vela leaves this {name} to the CPU, because it breaks the constraint in the next line of "
        "the message. Vela 5 prints `Warning (supported operators) operator: {name}`",
        f"{_CHECK} tells whether the firmware has a kernel for it; `ethosu inspect MODEL "
        "--memory` shows its memory, `ethosu profile MODEL --on qemu` its cost",
        "renesas/ruhmi-framework-mcu#2; ethos-u-vela 5.2.0, run here",
    ),
)


# Regular expressions for what C's printf() prints for each conversion.
_PRINTED = {"d": r"-?\d+", "u": r"\d+", "x": r"[0-9a-fA-F]+", "p": r"(?:0x)?[0-9a-fA-F]+"}


def _pattern(form: str) -> str:
    """Return a regular expression for what a format string prints; %s at its end takes a line."""
    parts = re.split(r"%[lz]?([a-z])", form)
    texts, conversions = parts[::2], parts[1::2]
    printed = (
        _PRINTED.get(conversion, r"[^\n]*?" if text else r"[^\n]*")
        for conversion, text in zip(conversions, texts[1:], strict=True)
    )
    return re.escape(texts[0]) + "".join(
        part + re.escape(text) for part, text in zip(printed, texts[1:], strict=True)
    )


@functools.cache
def logs() -> dict[str, Message]:
    """The messages of logs.toml, by their format strings."""
    rows = tomllib.loads(Path(__file__).with_name("logs.toml").read_text())["log"]
    return {
        form: Message(form, "", _pattern(form), **row)
        for row in rows
        for form in row.pop("formats")
    }


def every() -> list[Message]:
    """All messages, with those of add-ons."""
    return [*MESSAGES, *(row for rows in addons.every("message").values() for row in rows)]


def matches(text: str) -> Iterator[tuple[re.Match[str], Message]]:
    """Find all known messages in a text; of overlapping ones, the longest counts."""
    end = 0
    found = [
        (match, message)
        for message in (*every(), *logs().values())
        for match in re.finditer(message.pattern, text)
    ]
    for match, message in sorted(found, key=lambda pair: (pair[0].start(), -pair[0].end())):
        if match.end() > end:
            end = match.end()
            yield match, message
