# SPDX-License-Identifier: MIT
"""Compiles the models of cases."""

from __future__ import annotations

import re
import signal
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ethosu_tools.compile.vela_process import VelaProcess

from host_tests.kit.process.isolated import DiedError

from .case import Case

CONFIG_FILE = "Arm/vela.ini"
TIMEOUT_S = 120


class RefusedError(Exception):
    """Vela does not compile the model."""


@dataclass(frozen=True)
class Compiled:
    """A compiled model, and Vela's messages about it."""

    model: bytes
    log: str


def compile_case(case: Case) -> Compiled:
    """Compile the model of a case with the case's options; DiedError if Vela crashes or hangs."""
    with tempfile.TemporaryDirectory(prefix="generator-") as folder:
        work = Path(folder)
        source = work / "case.tflite"
        source.write_bytes(case.model)
        arguments = [
            *("--accelerator-config", case.npu, "--config", CONFIG_FILE),
            *("--output-dir", folder, "--show-cpu-operations"),
            *case.options,
            str(source),
        ]
        product = work / "case_vela.tflite"
        try:
            code, said, complaint = VelaProcess.shared().run(arguments, TIMEOUT_S)
        except (TimeoutError, ValueError) as error:
            raise DiedError(str(error)) from error
        if code < 0:
            raise DiedError(signal.Signals(-code).name)
        # Vela 5.2 fails on some operators in its report, after the model has been written.
        if not product.is_file():
            raise RefusedError(_reason(complaint) if code else _first_line(said + complaint))
        return Compiled(product.read_bytes(), said + complaint)


def cpu_reason(log: str) -> str:
    """Return Vela's reason why an operator stays on the CPU, without names and numbers."""
    for line in log.splitlines():
        if re.search(r"CPU|not supported|unsupported", line) and "CPU operators" not in line:
            return re.sub(r"\s+", " ", re.sub(r"'[^']*'|\d+", "#", line)).strip()[:160]
    return "Vela gives no reason"


def _reason(complaint: str) -> str:
    """Return the first line of the exception at the end of a traceback."""
    found = re.findall(r"^\w[\w.]*(?:Error|Exception|Exit)\b.*", complaint, re.MULTILINE)
    return _first_line(found[-1] if found else complaint)


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0][:160] if lines else "without a word"
