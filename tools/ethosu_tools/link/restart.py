# SPDX-License-Identifier: MIT
"""Recognises a board's restart by the firmware's fault report and MicroPython's banner.

firmware/cortex_m/fault.c prints the report; the banner is that of MicroPython's
shared/runtime/pyexec.c.
"""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

# The first lines of a report.
REPORT = re.compile(rb"\*\*\* (?:Fault|Fatal): ")
# The friendly prompt follows the banner.
BANNER = re.compile(rb'MicroPython v[^\r\n]{1,200}\r?\nType "help\(\)" for more information\.\r?\n')
PROMPT = b"\n>>> "
_VECTORS = 0x400  # no code is below; such a value in lr is not an address
_ADDR2LINE = "arm-none-eabi-addr2line"
# A report, whose first lines may be missing in a truncated log.
REPORT_LINES = (
    r"(?:\*\*\* (?P<kind>Fault: [^\n]+|Fatal: [^\n]+)|\br\d+ +[0-9a-f]{8}\b[^\n]*)(?:\n +.*)*"
)


@dataclass(frozen=True)
class FaultReport:
    """A CPU fault, or a fatal error of the firmware, as the board reported it."""

    text: str
    kind: str  # such as "Fault: BusFault, exception 5, in the main program"; "" if it was cut off
    causes: tuple[str, ...]
    address: str | None  # the address that the CPU accessed
    pc: str | None  # hexadecimal, without 0x
    lr: str | None

    def functions(self, firmware: Path | None) -> str:
        """Look up function, file and line of pc and lr in the .elf `firmware`; "" without one."""
        codes = [code for code in (self.pc, self.lr) if int(code or "0", 16) > _VECTORS]
        if firmware is None or not codes:
            return ""
        if not shutil.which(_ADDR2LINE):
            return f"{_ADDR2LINE}, which names the functions, is not installed"
        command = [_ADDR2LINE, "-fpse", str(firmware), *(f"0x{code}" for code in codes)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return "; called by ".join(done.stdout.split("\n")[: len(codes)]) or done.stderr.strip()

    def summary(self) -> str:
        """Describe cause and place in one clause."""
        cause = (
            "; ".join(self.causes)
            or self.kind
            or "a CPU fault; the report does not contain a cause"
        )
        cause += f" at {self.address}" if self.address else ""
        return cause + (f", pc 0x{self.pc}" if self.pc else "")


def is_in(sent: bytes) -> bool:
    """Whether a board that sent this data may have faulted or restarted."""
    return bool(REPORT.search(sent) or BANNER.search(sent))


def read_report(text: str) -> FaultReport | None:
    """Find the last fault report in a board's output whose first line was received."""
    matches = re.finditer(REPORT_LINES, text.replace("\r\n", "\n"))
    whole = [match for match in matches if match["kind"]]
    return parse_report(whole[-1]) if whole else None


def parse_report(match: re.Match[str]) -> FaultReport:
    """Parse a match of REPORT_LINES."""
    text = match[0]
    address = re.search(r"^ +address: (0x[0-9a-f]+)", text, re.MULTILINE)
    registers = dict(re.findall(r"\b(pc|lr) +([0-9a-f]{8})\b", text))
    return FaultReport(
        text=text,
        kind=match["kind"] or "",
        causes=tuple(re.findall(r"^ +cause: (.+?)$", text, re.MULTILINE)),
        address=address[1] if address else None,
        pc=registers.get("pc"),
        lr=registers.get("lr"),
    )
