# SPDX-License-Identifier: MIT
"""The Vela releases whose output was compared with TFLite's reference kernels."""

import argparse
from pathlib import Path

from ..base.errors import InputError
from ..base.ui import Ui
from . import DATA, ModelFile, vela_raw
from .tflite import signatures

# tools/npu_sim/README.md lists the models; test_velas.py of conformance/generator compares them.
EXACT = ("5.2.0", "5.1.0", "5.0.0")
# With these releases pools are exact, but differences were seen in a few other operators.
TESTED = (
    *EXACT,
    *("4.5.0", "4.4.1", "4.4.0", "4.3.0", "4.2.0", "4.1.0", "4.0.1"),
    *("3.12.0", "3.11.0", "3.10.0", "3.9.0", "3.8.0", "3.6.0", "3.5.0", "3.4.0"),
    *("3.3.0", "3.2.0", "3.0.0", "2.0.0"),
)


def open_model(
    ui: Ui, model: Path, data: Path | None = None, signature: str | None = None
) -> ModelFile:
    """Read a model that the user names, and warn about its release of Vela.

    `data` is the data file of a program. `signature` selects one of several of a `.tflite`; without
    it, a note says that only the first subgraph is used.
    """
    raw = vela_raw.find(model)
    file = raw or ModelFile(model, data)
    if not raw:  # which has no version of Vela
        warn(ui, file)
    if signature is None and len(file.signatures) > 1:
        ui.note_long(
            f"{file} has the signatures {', '.join(file.signatures)}; this is only about its first "
            "subgraph, which is the default of Model()"
        )
    return signatures.select(file, signature)


def warn(ui: Ui, file: ModelFile) -> None:
    """Warn about a model that was compiled by a release not in EXACT.

    Only releases 4.0.1 to 4.5.0 write no version into files for Ethos-U85.
    """
    try:
        version, npu = file.vela_version, file.description.npu or ""
    except InputError:  # the command reports the error
        return
    unnamed = not file.is_program and npu.startswith("ethos-u85")
    if version in EXACT or (version is None and not unnamed):
        return
    reason = (
        "some of whose operators differ from TFLite's"
        if version is None or version in TESTED
        else "whose results were never compared with TFLite's"
    )
    by = f"Vela {version}" if version else "a Vela before 5.0, which names no release for Ethos-U85"
    ui.warn(
        f"{file} was compiled by {by}, {reason}; compile the original model with "
        "`ethosu compile`, or compare the results with `ethosu run --reference`"
    )


def add_data_option(parser: argparse.ArgumentParser) -> None:
    """Declare --data."""
    parser.add_argument(
        "--data",
        type=Path,
        metavar="PTD",
        help=f"data file of an ExecuTorch program (default: NAME{DATA.suffix} in its folder, "
        "if any)",
    )
