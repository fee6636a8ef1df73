# SPDX-License-Identifier: MIT
"""The board's copy by DMA on this machine, with a data cache that does its worst."""

import subprocess
from pathlib import Path

import pytest

COPIES = 150

# Lines of dma.c that keep the cache right, and the CPU from a sleep that nothing ends.
UPKEEP = {
    "source cleaned": "    ethosu_memory_clean_in(memories.source, from, size);\n",
    "list cleaned": "    ethosu_memory_clean_in(memories.list, list, sizeof list);\n",
    "destination discarded before": "    before_transfer(to, from, size);\n",
    "destination discarded after": "    after_transfer(to, size);\n",
    "whole lines only": "    size_t head = -(uintptr_t)to % LINE;\n",
    "not in a handler": "__get_IPSR() == 0 && ",
    "not with interrupts masked": "__get_PRIMASK() | ",
}
INSTEAD = {
    "destination discarded before": (
        "    ethosu_memory_clean_in(memories.source, from, size); (void)before_transfer;\n"
    ),
    "destination discarded after": "    (void)after_transfer;\n",
    "whole lines only": "    size_t head = -(uintptr_t)to % 4;\n",
}


def _build(repo: Path, board: Path, program: Path) -> Path:
    """Compile the test with a board's dma.c."""
    here = repo / "host_tests/boards/MPS3_AN547/c"
    source = program.with_suffix(".c")
    text = (here / "dma_caches.c").read_text()
    source.write_text(text.replace("../../../../boards/drivers/dma_pl081.c", str(board)))
    module = repo / "modules/ethosu"
    folders = (here, board.parent, repo / "boards/drivers", module, module / "driver")
    subprocess.run(
        ["gcc", "-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Wno-unused-parameter"]
        + ["-fsanitize=undefined", "-fno-sanitize-recover=all", "-no-pie"]
        + [f"-I{folder}" for folder in (*folders, repo / "firmware")]
        + ["-o", program, source, module / "driver/ethosu_memory.c"],
        check=True,
    )
    return program


def _run(program: Path, copies: int, seed: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, str(copies), str(seed)], capture_output=True, text=True)


@pytest.fixture(scope="module")
def program(repo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("caches")
    return _build(repo, repo / "boards/drivers/dma_pl081.c", folder / "caches")


def _check(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    counts = [int(count) for count in done.stdout.split()]
    assert all(counts), "transfers, copies by the CPU, errors, time-outs: each has happened"


def test_every_copy_is_right(program):
    _check(_run(program, COPIES, 1))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 10))
def test_many_more_copies(program, seed):
    _check(_run(program, 20 * COPIES, seed))


@pytest.mark.parametrize("name", UPKEEP)
def test_without_it_a_copy_goes_wrong(repo, tmp_path, name):
    text = (repo / "boards/drivers/dma_pl081.c").read_text()
    assert text.count(UPKEEP[name]) == 1
    board = tmp_path / "dma.c"
    board.write_text(text.replace(UPKEEP[name], INSTEAD.get(name, "")))
    done = _run(_build(repo, board, tmp_path / "caches"), COPIES, 1)
    assert done.returncode == 1, done.stdout + done.stderr
