# SPDX-License-Identifier: MIT
"""Runs Vela once per model and options for all callers, and caches its output by content.

A server that has imported Vela runs it: see vela_server.py.

The name of a file does not count, but what Vela prints names the first file with this content.
"""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from ethosu_tools import vela

from host_tests.kit import sharing, vela_server

_real, _start, _run = vela.run_vela, vela.start_vela, subprocess.run
_SAID = "said.txt"


def run_vela(source: Path, options: Sequence[object]) -> str:
    """`vela.run_vela` on a model that it accepts, with `--output-dir` among the options."""
    words = [str(option) for option in options]
    if _is_replaced() or not source.is_file():
        return _real(source, words)
    at = words.index("--output-dir")
    output = Path(words.pop(at + 1))
    del words[at]

    def compile_it(folder: Path) -> None:
        folder.mkdir()
        said = _real(source, [*words, "--output-dir", str(folder)])
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


def start_vela(arguments: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """`vela.start_vela` by the server."""
    if _is_replaced():
        return _start(arguments)
    return vela_server.run(arguments, vela.TIMEOUT_S)


def _is_replaced() -> bool:
    """Whether a test has replaced subprocess.run, to check the handling of Vela's exit."""
    return subprocess.run is not _run


@pytest.fixture(scope="session", autouse=True)
def _vela_once() -> Iterator[None]:
    """Make the tools in this process use cache and server."""
    vela.run_vela, vela.start_vela = run_vela, start_vela
    yield
    vela_server.close()
