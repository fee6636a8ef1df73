# SPDX-License-Identifier: MIT
"""Runs ExecuTorch's exporter in a separate process.

These tools do not require ExecuTorch and PyTorch, which may be installed elsewhere: any Python
that has them will do.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ...base import other_python
from ...base.errors import InputError
from . import proof
from .doctor import KIT

_EXPORTER = Path(__file__).with_name("exporter.py")


@dataclass(frozen=True)
class Options:
    """Export options; vela: more options for Vela; compared: samples for proof.py."""

    npu: str
    channels_last: bool = True
    integer_io: bool = True
    system_config: str | None = None
    memory_mode: str | None = None
    vela: Sequence[str] = ()
    compared: int = proof.SAMPLES


def export(
    model: Path, output: Path, samples: Path, options: Options, python: str | None = None
) -> str:
    """Export a model (.pt2 or .py) to a program; returns the exporter's output.

    `samples` gets what PyTorch computes for the first samples, for proof.py. A .py defines `model`
    and `inputs` (a tuple of example tensors). It may define `calibration` (tuples of tensors) and
    `constants` (values of constant methods, by name). SetupError: no Python with ExecuTorch.
    InputError: the exporter rejects the model.
    """
    interpreter = other_python.find(python, KIT.probe, "ExecuTorch", "executorch")
    files = {"model": model, "output": output, "samples": samples}
    paths = {name: str(path.resolve()) for name, path in files.items()}
    done = other_python.run(interpreter, _EXPORTER, paths | asdict(options), model.resolve().parent)
    if done.returncode != 0:
        raise InputError(f"ExecuTorch could not export {model}: {other_python.reason(done)}")
    return done.stdout
