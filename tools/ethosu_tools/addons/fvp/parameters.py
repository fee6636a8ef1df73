# SPDX-License-Identifier: MIT
"""The parameters of an FVP that scripts set, and their effects here.

Names, types and defaults are those that `FVP --list-params` shows, where scripts and manuals quote
it; README.md lists the scripts.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from ...base.errors import UsageError
from .models import Model


class Effect(Enum):
    """The effect of setting a parameter."""

    YES = "has an effect"
    NEEDLESS = "changes nothing that a program sees"  # accepted silently
    LACKING = "has no effect"  # accepted with a warning, unless set to the default


@dataclass(frozen=True)
class Parameter:
    """A parameter; `does` ends a sentence on its effect, or on why it has none."""

    name: str
    kind: type
    default: Any
    effect: Effect
    does: str
    values: range | None = None

    def read(self, text: str) -> Any:
        """Convert a text to a value; UsageError if it is invalid."""
        try:
            value = _READERS[self.kind](text)
        except (KeyError, ValueError):
            value = None
        if value is None or (self.values and value not in self.values):
            raise UsageError(f"{self.name}={text}: expected {self._expected()}, found {text!r}")
        return value

    def _expected(self) -> str:
        if self.values is None:
            return _EXPECTED[self.kind]
        of = f"a multiple of {self.values.step}" if self.values.step > 1 else "a whole number"
        last = self.values[-1]
        show = hex if last > 1 << 16 else str
        return f"{of} from {show(self.values[0])} to {show(last)}"


_BOOLS = {"0": False, "1": True, "false": False, "true": True}
_READERS: Mapping[type, Callable[[str], Any]] = {
    bool: lambda text: _BOOLS[text.lower()],
    int: lambda text: int(text, 0),
    str: str,
}
_EXPECTED = {bool: "0 or 1", int: "a whole number"}

_ADDRESSES = range(1 << 32)
_VECTORS = range(0, 1 << 32, 128)
_YES, _NEEDLESS, _LACKING = Effect.YES, Effect.NEEDLESS, Effect.LACKING
# {board}, {cpu}, {npu} and {sse} are the model's instances, {n} is each UART.
_TABLE = (
    Parameter("{npu}.num_macs", int, None, _YES, "MACs of the NPU"),
    Parameter("{npu}.extra_args", str, "", _YES, "--fast: changes nothing; others are not known"),
    Parameter("{cpu}.semihosting-enable", bool, True, _YES, "semihosting"),
    Parameter("{cpu}.semihosting-cmd_line", str, "", _YES, "command line, the program first"),
    Parameter("{cpu}.semihosting-cwd", str, "", _YES, "folder of semihosting's files"),
    Parameter(
        "{cpu}.semihosting-heap_base", int, 0, _YES, "answer to SYS_HEAPINFO; 0: unknown",
        _ADDRESSES,
    ),
    Parameter("{cpu}.semihosting-heap_limit", int, 0, _YES, "the same", _ADDRESSES),
    Parameter("{cpu}.semihosting-stack_base", int, 0, _YES, "the same", _ADDRESSES),
    Parameter("{cpu}.semihosting-stack_limit", int, 0, _YES, "the same", _ADDRESSES),
    Parameter("{cpu}.CFGITCMSZ", int, None, _YES, "size of the ITCM: 2^(N-1) KiB", range(3, 16)),
    Parameter("{cpu}.CFGDTCMSZ", int, None, _YES, "size of the DTCM: 2^(N-1) KiB", range(3, 16)),
    Parameter("{cpu}.INITSVTOR", int, None, _YES, "address of the vector table at reset", _VECTORS),
    Parameter("{cpu}.INITNSVTOR", int, 0, _LACKING, "the program sets the non-secure table"),
    Parameter("{cpu}.MPU_S", int, 16, _LACKING, "the MPU has 16 regions"),
    Parameter("{cpu}.MPU_NS", int, 16, _LACKING, "the MPU has 16 regions"),
    Parameter("{cpu}.SAU", int, 8, _LACKING, "the SAU has 8 regions"),
    Parameter("{cpu}.FPU", bool, True, _LACKING, "the core has an FPU"),
    Parameter("{cpu}.MVE", int, 2, _LACKING, "the core has MVE for integers and floats"),
    Parameter(
        "{cpu}.CFGPACBTI", bool, False, _NEEDLESS, "the hints of PAC and BTI do nothing"
    ),
    Parameter("{cpu}.min_sync_level", int, 0, _NEEDLESS, "for debuggers"),
    Parameter("{board}.DISABLE_GATING", bool, False, _NEEDLESS, "no peripheral is gated"),
    Parameter(
        "{board}.visualisation.disable-visualisation", bool, False, _NEEDLESS, "there is no window"
    ),
    Parameter("{board}.visualisation.window_title", str, "", _NEEDLESS, "there is no window"),
    Parameter("{board}.visualisation.rate_limit-enable", bool, True, _NEEDLESS, "no window"),
    Parameter("vis_hdlcd.disable_visualisation", bool, False, _NEEDLESS, "there is no window"),
    Parameter("{board}.smsc_91c111.enabled", bool, False, _LACKING, "there is no network"),
    Parameter("{board}.hostbridge.userNetworking", bool, False, _LACKING, "there is no network"),
    Parameter("{board}.hostbridge.userNetPorts", str, "", _LACKING, "there is no network"),
    Parameter("{board}.hostbridge.interfaceName", str, "", _LACKING, "there is no network"),
    Parameter("{board}.v_path", str, "", _LACKING, "there are no virtual streaming interfaces"),
    Parameter("{board}.uart{n}.out_file", str, "", _YES, "output to a file; -: stdout"),
    Parameter("{board}.uart{n}.in_file", str, "", _LACKING, "input comes from the terminal only"),
    Parameter("{board}.uart{n}.unbuffered_output", bool, False, _NEEDLESS, "output is unbuffered"),
    Parameter("{board}.uart{n}.rx_overrun_mode", bool, False, _NEEDLESS, "input is never lost"),
    Parameter("{board}.uart{n}.untimed_fifos", bool, False, _NEEDLESS, "a byte takes no time"),
    Parameter("{board}.uart{n}.shutdown_on_eot", bool, False, _YES, "EOT (4) ends the run"),
    Parameter("{board}.uart{n}.shutdown_tag", str, "", _YES, "this text ends the run"),
    Parameter(
        "{board}.telnetterminal{n}.start_telnet", bool, True, _YES,
        "1: the UART is at a TCP port. 0: its output goes to out_file only. Not given: UART 0 is "
        "at stdout; no window is opened",
    ),
    Parameter(
        "{board}.telnetterminal{n}.start_port", int, 5000, _YES,
        "the UART is at this TCP port, or the next free one", range(1, 1 << 16),
    ),
    Parameter("{board}.telnetterminal{n}.mode", str, "telnet", _YES, "telnet or raw"),
    Parameter("{board}.telnetterminal{n}.quiet", bool, False, _YES, "do not print the port"),
    Parameter(
        "{board}.telnetterminal{n}.terminal_command", str, "", _NEEDLESS, "no window is opened"
    ),
    Parameter(
        "{sse}.iotss3_systemcontrol.INITSVTOR_RST", int, None, _YES, "the same as INITSVTOR",
        _VECTORS,
    ),
)  # fmt: skip
# Memories that only MPS3 can resize.
_MPS3 = (
    Parameter(
        "{board}.FPGA_SRAM_SIZE", int, None, _YES, "MiB of SRAM at 0x01000000", range(1, 241)
    ),
    Parameter("{sse}.NUMVMBANK", int, None, _YES, "banks of the internal SRAM", range(1, 5)),
    Parameter(
        "{sse}.VM_BANK_SIZE", int, None, _YES, "KiB of each of these banks", range(1, (1 << 14) + 1)
    ),
)
# Scripts set these for all UARTs, used or not.
_OF_A_SILENT_UART = (".start_telnet", ".mode", ".quiet")
# Names may begin with the top of the hierarchy, which has another name in virtual hardware.
_TOP = re.compile(r"^(?:cpu_core|FVP_\w+)\.")
# A line up to its comment; a # in quotes or in a word begins no comment.
_SETTING = re.compile(r"""(?:"[^"]*"|'[^']*'|[^#]|(?<=\S)#)*""")
_QUOTES = ('"', "'")


def of_model(model: Model) -> dict[str, Parameter]:
    """Return all parameters of a model, by name, with the model's defaults."""
    rows = [*_TABLE, *(_MPS3 if "SSRAM" in model.memories else ())]
    known = {}
    for row in rows:
        for n in (*model.uarts, *model.silent_uarts) if "{n}" in row.name else (0,):
            name = row.name.format(n=n, **model.instances)
            known[name] = replace(row, name=name, default=_default(model, row))
            if "{n}" in row.name and n in model.silent_uarts and row.effect is _YES:
                harmless = row.name.endswith(_OF_A_SILENT_UART)
                effect = _NEEDLESS if harmless else _LACKING
                known[name] = replace(known[name], effect=effect, does=f"UART {n} does nothing")
    return known


def _default(model: Model, row: Parameter) -> Any:
    """Return the default of a row: the model's, else the table's."""
    memories = model.memories
    defaults = {
        "{npu}.num_macs": model.macs,
        "{cpu}.CFGITCMSZ": memories["ITCM"].bit_length(),
        "{cpu}.CFGDTCMSZ": memories["DTCM"].bit_length(),
        "{cpu}.INITSVTOR": model.vectors,
        "{sse}.iotss3_systemcontrol.INITSVTOR_RST": model.vectors,
        "{board}.FPGA_SRAM_SIZE": memories.get("SSRAM", 0) // 1024,
        "{sse}.NUMVMBANK": 2,
        "{sse}.VM_BANK_SIZE": memories.get("ISRAM", 0) // 2,
    }
    return defaults.get(row.name, row.default)


class Settings:
    """The values of a run's parameters."""

    def __init__(self, model: Model, warn: Callable[[str], None]) -> None:
        """Start with the defaults; `warn` gets a sentence about each setting without effect."""
        self.known = of_model(model)
        self._model, self._warn = model, warn
        self._given: dict[str, Any] = {}

    def set(self, text: str) -> None:
        """Take NAME=VALUE; the value may be in quotes."""
        name, equals, value = text.partition("=")
        name, value = _TOP.sub("", name.strip()), value.strip()
        if not equals or not name:
            raise UsageError(f"parameter {text!r}: expected NAME=VALUE")
        if len(value) > 1 and value[0] in _QUOTES and value[0] == value[-1]:
            value = value[1:-1]
        parameter = self.known.get(name)
        if parameter is None:
            near = self._nearest(name)
            self._warn(f"unknown parameter {name}; the nearest known one is {near}")
            return
        self._given[name] = parameter.read(value)
        if parameter.effect is Effect.LACKING and self._given[name] != parameter.default:
            self._warn(f"{name}={value} has no effect: {parameter.does}")

    def _nearest(self, name: str) -> str:
        """Find the known parameter that a name most resembles; models differ in the path."""
        last = name.rpartition(".")[2]
        same = [known for known in self.known if known.rpartition(".")[2] == last]
        return difflib.get_close_matches(name, same or self.known, 1, 0)[0]

    def name(self, name: str) -> str:
        """Return the model's name of a parameter of the table, such as {cpu}.INITSVTOR."""
        return name.format(**self._model.instances)

    def given(self, name: str) -> Any:
        """Return a value that was set, else None."""
        return self._given.get(self.name(name))

    def get(self, name: str) -> Any:
        """Return the value that was set, or the default."""
        name = self.name(name)
        return self._given.get(name, self.known[name].default)


def listing(model: Model) -> str:
    """List all parameters in the form of a configuration file."""
    lines = []
    for name, row in sorted(of_model(model).items()):
        default = int(row.default) if isinstance(row.default, bool) else row.default
        effect = "" if row.effect is Effect.YES else f"{row.effect.value}: "
        note = f" # ({row.kind.__name__}) {effect}{row.does}"
        lines.append(f"{name}={default}".ljust(60) + note)
    return "\n".join(lines)


def file_lines(text: str) -> list[str]:
    """Read a configuration file's settings: NAME=VALUE in each line, # begins a comment."""
    lines = [_SETTING.match(line) for line in text.splitlines()]
    return [line[0].strip() for line in lines if line and line[0].strip()]
