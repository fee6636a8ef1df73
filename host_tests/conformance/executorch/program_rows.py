# SPDX-License-Identifier: MIT
"""Programs for tests of the module, which have Vela's raw output of the model."""

from pathlib import Path

from ethosu_tools.model.vela_raw import VelaRaw

from host_tests.modules.ethosu.executorch import made, program_writer
from host_tests.modules.ethosu.executorch.vela_binary import VelaBinary

# An option of the build, and files that it leaves out.
LEFT_OUT = [
    (
        "ETHOSU_WITHOUT=pte",
        {"executorch/file/program.c", "executorch/operators/quantize_operators.c"},
    ),
]
_KEY = "86dd" * 16


def quantised(model: Path, raw: VelaRaw) -> bytes:
    """A program with integer inputs and outputs."""
    return made.quantised_ends(model, VelaBinary(**vars(raw))).encode()


def of_pages(model: Path, raw: VelaRaw) -> dict[str, bytes]:
    """Stand-in for the docs' keyword spotter: a program with as many outputs, and labels."""
    program = made.quantised_ends(model, VelaBinary(**vars(raw)))
    program.constant_method("get_labels", *(f"word {index}" for index in range(10)))
    return {"kws.pte": program.encode()}


def loaded(model: Path, raw: VelaRaw) -> dict[str, bytes]:
    """Programs whose loading takes different ways, and a data file."""
    blob = VelaBinary(**vars(raw))
    return {
        "small_cnn.pte": made.real_ends(model, blob).encode(),
        "apart.pte": made.quantised_ends(model, made.external(blob, _KEY)).encode(),
        "apart.ptd": program_writer.data_file({"another": b"data", _KEY: blob.weights}),
    }


def on_u65(vela, model: Path) -> made.Case:
    """A program for an Ethos-U65 whose scratch is separate, and its case."""
    options = *made.OPTIONS["u65 dedicated"], "--output-format", "raw"
    return made.real_case(model, made.real_ends(model, made.binary(vela(model, *options))).encode())
