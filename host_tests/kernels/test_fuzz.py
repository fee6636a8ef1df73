# SPDX-License-Identifier: MIT
"""No damaged model makes a kernel read or write outside its memory (libFuzzer, ASan, UBSan)."""

import shutil
import subprocess
from pathlib import Path

import pytest

from . import planner
from .maker import GENERATORS, make

HERE = Path(__file__).parent
SECONDS = 10


def _build(repo, program):
    clang = shutil.which("clang")
    assert clang, "clang is missing: apt-get install clang"
    module = repo / "modules/ethosu"
    folders = (module / "model", module / "driver")
    command = [
        *(clang, "-std=gnu11", "-g", "-O1", "-fno-sanitize-recover=all"),
        "-fsanitize=fuzzer,address,undefined",
        *(f"-I{folder}" for folder in (module, *folders)),
        *sorted(path for folder in folders for path in folder.rglob("*.c")),
        *(HERE.parent / "runtime/board_none.c", HERE / "fuzz_kernels.c"),
        *("-lm", "-o", program),
    ]
    subprocess.run(command, check=True, timeout=300)


def _fuzz(repo, folder, limit):
    program, corpus = folder / "fuzz", folder / "corpus"
    _build(repo, program)
    corpus.mkdir()
    for name in GENERATORS:
        for seed in range(3):
            (corpus / f"{name}{seed}").write_bytes(planner.add_plan(make(name, seed).model))
    options = ["-max_len=8192", "-rss_limit_mb=1500", "-timeout=20"]
    result = subprocess.run(
        [program, limit, *options, corpus],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=3600,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]


def test_for_a_while(repo, tmp_path):
    _fuzz(repo, tmp_path, f"-max_total_time={SECONDS}")


@pytest.mark.slow
def test_a_million(repo, tmp_path):
    _fuzz(repo, tmp_path, "-runs=1000000")
