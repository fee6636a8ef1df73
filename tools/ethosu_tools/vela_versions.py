# SPDX-License-Identifier: MIT
"""The Vela releases whose output was compared with TFLite's reference kernels."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from . import tflite
from .errors import InputError

# tools/npu_sim/README.md lists the models; host_tests/generator/test_velas.py compares them again.
EXACT = ("5.2.0", "5.1.0", "5.0.0")
# With these releases pools are exact, but differences were seen in a few other operators.
TESTED = (
    *EXACT,
    *("4.5.0", "4.4.1", "4.4.0", "4.3.0", "4.2.0", "4.1.0", "4.0.1"),
    *("3.12.0", "3.11.0", "3.10.0", "3.9.0", "3.8.0", "3.6.0", "3.5.0", "3.4.0"),
    *("3.3.0", "3.2.0", "3.0.0", "2.0.0"),
)


def warnings(paths: Iterable[Path]) -> Iterator[str]:
    """Yield a sentence for each model, also in folders, compiled by a release not in EXACT."""
    for path in paths:
        for file in sorted(path.rglob("*.tflite")) if path.is_dir() else [path]:
            version = _version(file)
            if version is None or version in EXACT:
                continue
            reason = (
                "some of whose operators differ from TFLite's"
                if version in TESTED
                else "whose results were never compared with TFLite's"
            )
            yield (
                f"{file} was compiled by Vela {version}, {reason}; compile the original model "
                "with `ethosu compile`, or compare the results with `ethosu run --reference`"
            )


def _version(path: Path) -> str | None:
    """Version of Vela that wrote a file; None if it is not Vela's, or unknown."""
    try:
        if not path.is_file():  # the command reads pipes, which may block
            return None
        with path.open("rb") as file:
            if file.read(8)[4:] != tflite.IDENTIFIER:
                return None
        return tflite.vela_version(path)
    except (OSError, InputError):  # the command reports the error
        return None
