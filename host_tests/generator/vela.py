# SPDX-License-Identifier: MIT
"""Compiles the models of cases. Vela can crash: call it by kit/isolated.py."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from host_tests.kit import loaded_vela

from .case import Case

CONFIG_FILE = "Arm/vela.ini"


class RefusedError(Exception):
    """Vela does not compile the model."""


@dataclass(frozen=True)
class Compiled:
    """A compiled model, and Vela's messages about it."""

    model: bytes
    log: str


def compile_case(case: Case) -> Compiled:
    """Compile the model of a case with the case's options."""
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
        log = work / "log.txt"
        product = work / "case_vela.tflite"
        try:
            loaded_vela.run(arguments, log)
        except (Exception, SystemExit) as error:
            # Vela 5.2 fails on some operators in its report, after the model has been written.
            if not product.is_file():
                raise RefusedError(f"{type(error).__name__}: {_first_line(str(error))}") from error
        text = log.read_text(errors="replace")
        if not product.is_file():
            raise RefusedError(_first_line(text))
        return Compiled(product.read_bytes(), text)


def cpu_reason(log: str) -> str:
    """Why an operator stays on the CPU, in Vela's words without names and numbers."""
    for line in log.splitlines():
        if re.search(r"CPU|not supported|unsupported", line) and "CPU operators" not in line:
            return re.sub(r"\s+", " ", re.sub(r"'[^']*'|\d+", "#", line)).strip()[:160]
    return "Vela gives no reason"


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0][:160] if lines else "without a word"
