# SPDX-License-Identifier: MIT
"""The campaigns' models as a ROM file system, with inputs and reference outputs."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from ethosu_tools.compile import plan
from ethosu_tools.compile.vela import compile_model
from ethosu_tools.model import make_model, romfs

from host_tests.kit.models import mixed_models, reference_cases, vela_once

HERE = Path(__file__).parent
STEPS = 4
# Stamps at both ends of the image, which are equal if the image is intact.
STAMP = b"stamp of 16 byte"
# The models' sources and Vela's options, by name on the board.
SOURCES = {
    "cnn": (make_model.MODELS["small_cnn"], ()),
    "stream": (make_model.MODELS["small_streaming"], ()),
    "mixed": (mixed_models.MODELS["mixed_cnn"].make, mixed_models.MODELS["mixed_cnn"].options),
}


def rom_image(npus: tuple[str, str], program: str) -> bytes:
    """Build models for both NPUs, cases, a command stream for the first, and a program."""
    programs = {"program.py": program, "cases.py": "cases_on_board.py"}
    files = {"first": STAMP}
    files |= {name: (HERE / path).read_bytes() for name, path in programs.items()}
    for name in SOURCES:
        source = SOURCES[name][0]()
        for index, npu in enumerate(npus):
            files[f"{name}{index}.tflite"] = _compiled(name, source, npu)
        files[f"{name}.in"], files[f"{name}.out"] = _case(source)
    raw = _raw(SOURCES["cnn"][0](), npus[0])
    files["payload"] = raw["cmd_data"].tobytes()
    files["weights"] = raw["weight_data"].tobytes()
    scratch, fast = int(raw["scratch_shape"][0]), int(raw["scratch_fast_shape"][0])
    places = int(raw["input_offset"][0]), int(raw["output_offset"][0])
    apart = not npus[0].startswith("ethos-u55")
    files["raw.txt"] = repr((scratch, fast if apart else 0, *places)).encode()
    files["last"] = STAMP
    return romfs.build(files)


def _compiled(name: str, source: bytes, npu: str) -> bytes:
    options = SOURCES[name][1]

    with tempfile.TemporaryDirectory() as folder:
        model, output = Path(folder) / f"{name}.tflite", Path(folder) / "compiled.tflite"
        model.write_bytes(source)
        compile_model(model, npu, output, more_options=options)
        if plan.needs_plan(output):
            plan.plan_file(output, output)
        return output.read_bytes()


def _raw(source: bytes, npu: str) -> Any:
    """Return Vela's output with --output-format raw."""

    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "raw.tflite"
        model.write_bytes(source)
        options = f"--output-format raw --accelerator-config {npu} --output-dir".split()
        vela_once.run_vela(model, [*options, folder])
        return np.load(io.BytesIO((Path(folder) / "raw_vela.npz").read_bytes()))


def _case(source: bytes) -> tuple[bytes, bytes]:
    """Encode one model's input and output of each step, from its initial state."""
    case = reference_cases.make_case(source, STEPS, extremes=False, seed=5)
    inputs, outputs = (
        b"".join(row[0].tobytes() for row in rows) for rows in (case.inputs, case.outputs)
    )
    return inputs, outputs
