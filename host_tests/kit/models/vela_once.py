# SPDX-License-Identifier: MIT
"""Runs Vela once per model and options for all callers, and caches its output by content.

A file's name is not part of the key, so Vela's output names the first file with this content.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from ethosu_tools.compile import vela

from host_tests.kit import sharing

_real = vela.run_vela
_SAID = "said.txt"


def run_vela(source: Path, options: Sequence[object], python: str | None = None) -> str:
    """Run Vela on a model that it accepts, with `--output-dir` among the options."""
    words = [str(option) for option in options]
    if not source.is_file() or python:
        return _real(source, words, python)
    at = words.index("--output-dir")
    output = Path(words.pop(at + 1))
    del words[at]

    def compile_it(folder: Path) -> None:
        folder.mkdir()
        options = [*words, "--output-dir", str(folder)]
        said = _real(source, options)
        for path in folder.iterdir():
            path.rename(path.with_name(path.name.removeprefix(source.stem)))
        (folder / _SAID).write_text(said)

    files = (Path(word) if Path(word).is_file() else word for word in words)
    made = sharing.cached("vela", ("vela", source, *files), compile_it)
    output.mkdir(parents=True, exist_ok=True)
    for path in made.iterdir():
        if path.name != _SAID:
            shutil.copy(path, output / f"{source.stem}{path.name}")
    return (made / _SAID).read_text()


@pytest.fixture(scope="session", autouse=True)
def _vela_once() -> None:
    """Make the tools in this process use this cache."""
    vela.run_vela = run_vela
