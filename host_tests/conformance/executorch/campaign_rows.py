# SPDX-License-Identifier: MIT
"""The campaigns on ExecuTorch programs, and their start corpus: a folder of small .pte files.

The programs have delegates inline, in segments and in data files, for each NPU and memory layout,
integer and float inputs and outputs, bundles, and CPU operators. libFuzzer mutates a program's
tables, a delegate's blocks, or its command stream.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

from ethosu_tools.model.make_model import MODELS

from host_tests.conformance.campaigns.common import Row
from host_tests.conformance.campaigns.loading import Loading
from host_tests.kit import sharing
from host_tests.kit.models import vela_once
from host_tests.modules.ethosu.executorch import (
    cortex_m,
    damaged,
    made,
    moves,
    program_writer,
)
from host_tests.modules.ethosu.executorch.hostile import MUCH_WORK
from host_tests.modules.ethosu.executorch.made import OPTIONS
from host_tests.modules.ethosu.executorch.vela_binary import VelaBinary

__all__ = ["MUCH_WORK", "ROWS"]

NAME = "programs"
KEY = "0123456789abcdef" * 4
# Variants of NAME that have a delegate.
DELEGATES = "delegates"


def corpus() -> Path:
    """Return the folder that contains the folder of programs, which is made once."""
    tests = sharing.REPO / "host_tests/modules/ethosu/executorch"
    return sharing.cached(
        "programs", (sharing.tool_sources(), *sorted(tests.glob("*.py")), Path(__file__)), _make
    )


def _make(folder: Path) -> None:
    for kind in (NAME, DELEGATES):
        (folder / kind).mkdir(parents=True)
    with tempfile.TemporaryDirectory() as work:
        model = Path(work) / "small_cnn.tflite"
        model.write_bytes(MODELS["small_cnn"]())
        for number, options in enumerate(OPTIONS.values()):
            blob = _compile(model, options)
            programs = {
                "inline": made.quantised_ends(model, blob, inline=True),
                "segment": made.quantised_ends(model, blob, methods=False),
                "real": made.real_ends(model, blob),
            }
            files = {name: program.encode() for name, program in programs.items()}
            files["bundle"] = program_writer.bundle(files["real"], {"forward": []})
            files["apart"] = _apart(model, blob)
            for name, data in files.items():
                for kind in (NAME, DELEGATES):
                    (folder / kind / f"{name}{number}").write_bytes(data)
    for number, make in enumerate(cortex_m.OPERATORS.values()):
        for seed in range(2):
            (folder / NAME / f"operator{number}_{seed}").write_bytes(make(seed).program)
    for number, program in enumerate(moves.examples()):
        (folder / NAME / f"moves{number}").write_bytes(program)
    for number, (make, _) in enumerate(damaged.PROGRAMS.values()):
        (folder / NAME / f"damaged{number}").write_bytes(make(blob))


def _apart(model: Path, blob: VelaBinary) -> bytes:
    """Move weights to a data file; returns the program followed by that file, aligned to 16."""
    data = made.quantised_ends(model, made.external(blob, KEY), methods=False).encode()
    return data + bytes(-len(data) % 16) + program_writer.data_file({KEY: blob.weights})


def _compile(model: Path, options: tuple[str, ...]) -> VelaBinary:
    with tempfile.TemporaryDirectory() as folder:
        options = (*options, "--output-format", "raw", "--output-dir", folder)
        vela_once.run_vela(model, options)
        return made.binary(Path(folder) / f"{model.stem}_vela.npz")


def campaign(target: str, bits: int, longest: int = Loading.longest) -> Loading:
    """Damaged programs, or programs with damaged delegates."""
    options = ("-DRUN_EVERY=8", *(["-DDELEGATES=1"] if target == DELEGATES else []))
    return Loading(corpus(), target, bits, longest, options)


ROWS = {
    f"{target}{bits if bits == 32 else ''}": Row(partial(campaign, target, bits), 10_000_000)
    for target in (NAME, DELEGATES)
    for bits in (64, 32)
}
