# SPDX-License-Identifier: MIT
"""Runs the blocks of a data set: in this process, in several, or on an add-on's cluster.

Each block is one call of `run_block`, whose arguments contain everything it needs, so the result
does not depend on where it runs. Results of blocks are saved in a file: a run that was killed
resumes with the missing blocks.
"""

import contextlib
import json
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from ...base import verification
from ...base.ui import Update
from ...boards.setup import emulated
from ...link.emulator import qemu
from ...link.open import open_runner
from ...model import ModelFile
from ...model.arrays import Array, Feed, dequantise, quantise_all
from ...sim.oracle import Oracle
from ...sim.runner import Runner
from .data import DataSet, Samples
from .results import Result, count_block

BLOCK = 64


@dataclass(frozen=True)
class Settings:
    """Settings of a run; models are bytes, so that they can be sent to a cluster."""

    model: bytes
    data: bytes | None  # the input data file of a program
    name: str  # the model's file name
    reference: bytes | None
    on: str
    npu: str | None
    board: str | None
    top: int
    verify: bool  # check command streams; remote workers have another environment


class _Worker:
    """A loaded model and its reference, kept from block to block."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        file = ModelFile(settings.model, settings.data, name=settings.name)
        with verification.applied(settings.verify):
            board = settings.board
            place = emulated(board, settings.npu, file=file) if settings.on == "qemu" else None
            self.runner: Runner = open_runner(file, settings.on, npu=settings.npu, setup=place)
        self.oracle = None if settings.reference is None else Oracle(settings.reference)

    def run(self, start: int, samples: Samples) -> Result:
        raw = tuple(quantise_all(samples.inputs, self.runner.inputs))
        outputs = list(self.runner.run(Feed(raw, len(samples), has_time=True)))
        expected = None
        if self.oracle:
            given = (self._given(samples, raw, index) for index in range(len(samples)))
            expected = [self.oracle.step(each) for each in given]
        return count_block(
            start, samples.labels, self.runner.outputs, outputs, expected, self.settings.top
        )

    def _given(self, samples: Samples, raw: Sequence[Array], index: int) -> list[Array]:
        """Inputs of the reference: real values for a float model."""
        assert self.oracle
        return [
            quantised[index]
            if quantised.dtype == expected.dtype
            else dequantise(given[index], tensor).astype(expected.dtype)
            for quantised, given, tensor, expected in zip(
                raw, samples.inputs, self.runner.inputs, self.oracle.inputs, strict=True
            )
        ]


_workers: list[_Worker] = []


def run_block(settings: Settings, start: int, samples: Samples) -> Result:
    """Run a block in this process; the model stays loaded for the next one."""
    if not _workers or _workers[0].settings != settings:
        close()
        _workers.append(_Worker(settings))
    return _workers[0].run(start, samples)


def close() -> None:
    """Release this process's model and board."""
    while _workers:
        _workers.pop().runner.close()


class Notes:
    """Finished blocks, one line each; a truncated line is computed again."""

    def __init__(self, path: Path, key: str) -> None:
        """Read the results of the run with this `key`; discard others."""
        self._path = path
        self.done: dict[int, Result] = {}
        lines = path.read_text().splitlines() if path.is_file() else []
        if lines and lines[0] == key:
            for line in lines[1:]:
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    start, data = json.loads(line)
                    self.done[start] = Result.from_dict(data)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("w")
        self._file.write(f"{key}\n")
        for start, result in self.done.items():
            self._write(start, result)

    def note(self, start: int, result: Result) -> None:
        """Record a finished block."""
        self.done[start] = result
        self._write(start, result)

    def close(self, *, remove: bool) -> None:
        """Close the file; `remove` it after a complete run."""
        self._file.close()
        if remove:
            self._path.unlink(missing_ok=True)

    def _write(self, start: int, result: Result) -> None:
        self._file.write(json.dumps([start, result.as_dict()]) + "\n")
        self._file.flush()


Cluster = Callable[[Settings, DataSet, Sequence[int]], Iterator[tuple[int, Result]]]


def run(
    settings: Settings,
    data: DataSet,
    notes: Notes,
    workers: int,
    cluster: Cluster | None,
    progress: Update,
) -> Result:
    """Run all missing blocks, here or on the cluster; returns the sum of all, in order."""
    count = len(data.samples)
    missing = [start for start in range(0, count, BLOCK) if start not in notes.done]
    for start, result in _results(settings, data, missing, workers, cluster):
        notes.note(start, result)
        progress(min(len(notes.done) * BLOCK, count), count)
    return Result.total(notes.done[start] for start in sorted(notes.done))


def _results(
    settings: Settings, data: DataSet, starts: Sequence[int], workers: int, cluster: Cluster | None
) -> Iterator[tuple[int, Result]]:
    if cluster:
        yield from cluster(settings, data, starts)
    elif workers == 1 or len(starts) < 2:
        try:
            for start in starts:
                yield start, run_block(settings, start, data.block(start, start + BLOCK))
        finally:
            close()
    else:
        yield from _in_processes(settings, data, starts, workers)


def _in_processes(
    settings: Settings, data: DataSet, starts: Sequence[int], workers: int
) -> Iterator[tuple[int, Result]]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, initializer=_begin_process) as pool:
        futures: dict[Future[Result], int] = {
            pool.submit(run_block, settings, start, data.block(start, start + BLOCK)): start
            for start in starts
        }
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _begin_process() -> None:
    """Exit when the parent process exits; ignore Ctrl-C, which the parent handles."""
    parent = multiprocessing.parent_process()
    assert parent and parent.pid
    qemu.die_with_parent(parent.pid)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
