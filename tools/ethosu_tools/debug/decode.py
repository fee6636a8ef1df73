# SPDX-License-Identifier: MIT
"""Explains a pasted error or fault report: the layer of the model, the operator, the cause.

Each row of _PATTERNS pairs a form of message with the function that parses it. Driver messages are
defined in modules/ethosu/driver/include/ethosu_errors.def, runtime messages in
modules/ethosu/runtime/tflite/operators.c, fault reports in firmware/cortex_m/fault.c, messages of
other runtimes in answers/messages.py and answers/logs.toml.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..answers import messages
from ..link import restart
from ..model import Model, ModelFile
from ..sim.table import Names

# Bits of the NPU's register STATUS: meaning, and most frequent cause.
STATUS = {
    2: ("bus error", "the NPU cannot access an address: check where the model and the arena are"),
    4: ("command parse error", "the stream was damaged, or overwritten while the NPU ran"),
    7: ("watchdog", "the NPU made no progress: a memory did not respond"),
    8: ("memory error (ECC)", "a bit in the NPU's own memory changed"),
    9: ("branch out of range", "the stream was damaged"),
}
_CHANNELS = {
    0: "commands",
    1: "an input feature map",
    2: "weights",
    3: "scales",
    4: "the source of a DMA copy",
    8: "an output feature map",
    9: "the destination of a DMA copy",
}
RUNNING = "the NPU was still running: its clock may be too slow, or timeout_ms too short"


@dataclass(frozen=True)
class Finding:
    """One decoded message; `layer` names operators of the model before compiling."""

    message: str
    layer: str | None
    operator: str | None
    cause: str
    advice: str = ""


@dataclass(frozen=True)
class Context:
    """Sources for looking up messages."""

    model: ModelFile
    names: Names
    firmware: Path | None

    def layers(self, offset: int) -> str | None:
        """Layers with a command at this offset: one per stream that is long enough."""
        names = self.names.find_all(offset)
        if len(names) == 1:
            return names[0][1]
        return " or ".join(f"{name} (ethos-u {stream})" for stream, name in names) or None


def decode(text: str, model: Model, firmware: Path | None = None) -> list[Finding]:
    """Decode all known messages of a text, in order.

    `firmware` is the .elf in which a fault report's addresses are looked up.
    """
    file = ModelFile.of(model)
    context = Context(file, Names(file), firmware)
    # The tools' own errors join the lines of a log with bars.
    text = text.replace("\r\n", "\n").replace(" | ", "\n  ")
    matches = [
        (match, read(match, context))
        for pattern, read in _PATTERNS
        for match in re.finditer(pattern, text, re.MULTILINE)
    ]
    matches += [(match, _foreign(match, each, file)) for match, each in messages.matches(text)]
    starts = sorted(match.start() for match, _ in matches)
    return [
        finding  # not if it is the beginning of another message
        for match, finding in sorted(matches, key=lambda pair: pair[0].start())
        if not any(match.start() < start < match.end() for start in starts)
    ]


def _foreign(match: re.Match[str], message: messages.Message, model: ModelFile) -> Finding:
    """Decode a message of another runtime."""
    cause, advice = message.found(match)
    needs = [each.scratch_bytes for each in model.description.npu_operators]
    if message.memory and needs:
        cause += f". The NPU's arena of {model} is {max(needs):,} bytes"
    return Finding(match[0], None, None, cause, advice)


def status(value: int) -> tuple[str, str]:
    """Explain a STATUS value and its most common cause."""
    bits = [row for bit, row in STATUS.items() if value >> bit & 1]
    if not bits:
        return ("running", RUNNING) if value & 1 else ("no error bit", "")
    words = ", ".join(name for name, _ in bits)
    channel = _CHANNELS.get(value >> 12 & 15)
    if value & 4 and channel:
        words += f" at {channel}, port M{value >> 11 & 1}"
    return words, bits[0][1]


def _npu(match: re.Match[str], context: Context) -> Finding:
    """Decode a message that the NPU stopped or timed out."""
    groups = match.groupdict()
    layer = groups.get("name") or None
    if layer is None and groups.get("byte"):
        layer = context.layers(int(groups["byte"], 0))
    cause, advice = status(int(groups["status"], 0))
    return Finding(match[0], layer, _on_npu(layer), cause, advice)


def _on_npu(layer: str | None) -> str:
    """Describe an NPU layer's operator, which is a part of an ethos-u operator."""
    kind = re.match(r"\d+ (\w+)", layer or "")
    return f"{kind[1]}, in an ethos-u operator" if kind else "ethos-u"


def _word(match: re.Match[str], context: Context) -> Finding:
    """Decode a message that the driver's verifier rejected a command."""
    layer = context.layers(4 * int(match["word"]))
    advice = "the file was damaged, or compiled for another NPU: compile it again"
    return Finding(match[0], layer, _on_npu(layer), match[0].strip(), advice)


def _operator(match: re.Match[str], context: Context) -> Finding:
    """Decode a message that the runtime rejected an operator."""
    number, name = int(match["number"]), match["name"]
    inside = int(match["graph"]) == 0 and number < len(context.names.operators)
    layer = context.names.operators[number][0] if inside else None
    if layer and layer.split()[0] != name:
        advice = f"operator {number} of {context.model} is {layer}: check that this model was run"
        layer = None
    else:
        advice = f"`ethosu inspect {context.model} --memory` checks it with the runtime on this PC"
    return Finding(match[0], layer, name, match["why"], advice)


def _other_npu(match: re.Match[str], context: Context) -> Finding:
    model, npu = match["model"], match["npu"]
    if model in (match["all"] or "").split(", "):
        cause = f"compiled for {model}, but loaded on the board's {npu}"
        advice = f"omit npu= of ethosu.Model(), or reserve the NPU with npu='{model}'"
    else:
        cause = f"compiled for {model}, but the board has {match['all'] or npu}"
        advice = f"ethosu compile MODEL --npu {npu}"
    return Finding(match[0], None, None, cause, advice)


def _memory(match: re.Match[str], context: Context) -> Finding:
    cause = f"the NPU cannot {match['use']} memory at {match['at']}"
    advice = "load the model into memory of the board's table, such as that of ethosu.buffer()"
    return Finding(match[0], None, "ethos-u", cause, advice)


def _fault(match: re.Match[str], context: Context) -> Finding:
    """Decode a CPU fault; its cause is code rather than the model."""
    report = restart.parse_report(match)
    functions = report.functions(context.firmware)
    advice = functions or "pass the firmware's .elf with --firmware to see the functions"
    title = report.text.splitlines()[0].strip("* ")
    return Finding(title, None, None, report.summary(), advice)


def _zephyr(match: re.Match[str], context: Context) -> Finding:
    """Decode a CPU fault as Zephyr reports it (arch/arm/core/cortex_m/fault.c)."""
    kinds = r"(?:Precise|Imprecise) data bus error|Data Access Violation|Instruction [A-Z]\w+ \w+"
    address = re.search(r"(?:BFAR|MMFAR) Address: (0x[0-9a-f]+)", match[0])
    place = re.search(r"\(r15/pc\): 0x([0-9a-f]+)", match[0])
    report = restart.FaultReport(
        text=match[0],
        kind=match["kind"],
        causes=(match["kind"].capitalize(), *re.findall(kinds, match[0])),
        address=address and address[1],
        pc=place and place[1],
        lr=None,
    )
    functions = report.functions(context.firmware)
    ask = "pass zephyr.elf with --firmware to see the function"
    advice = functions or (ask if place else "paste the lines after it, too, up to the r15/pc")
    return Finding(match[0].splitlines()[0], None, None, report.summary(), advice)


_STATUS = r".*?\(STATUS (?P<status>0x[0-9a-fA-F]+)\)(?:; operator (?P<name>.+?)\s*$)?"
_PATTERNS: tuple[tuple[str, Callable[[re.Match[str], Context], Finding]], ...] = (
    (r"NPU stopped at byte (?P<byte>\d+) of the command stream:" + _STATUS, _npu),
    (r"(?:inference took longer|NPU finished, but no interrupt)" + _STATUS, _npu),
    # Format of Arm's driver log.
    (
        r"(?i)\bstatus ?[=:] ?(?P<status>0x[0-9a-f]+),? +qread ?[=:] ?(?P<byte>0x[0-9a-f]+|\d+)",
        _npu,
    ),
    (r"command (?:stream|at) word (?P<word>\d+).*$", _word),
    (r"operator (?P<number>\d+) \((?P<name>[^)]*)\) of subgraph (?P<graph>\d+): (?P<why>.+)$",
     _operator),
    (
        r"model was compiled for (?P<model>\S+), the NPU is (?P<npu>[\w-]+).*?"
        r"(?:; NPUs of this board: (?P<all>[\w, -]+))?$",
        _other_npu,
    ),
    (
        r"\d+ bytes at (?P<at>0x[0-9a-f]+), is in memory that the NPU can't (?P<use>see|write)",
        _memory,
    ),
    (restart.REPORT_LINES, _fault),
    (r"\*{5} (?P<kind>[A-Z]+ FAULT) \*{5}(?:\n.*(?:<err>|^ ).*)*", _zephyr),
)  # fmt: skip
