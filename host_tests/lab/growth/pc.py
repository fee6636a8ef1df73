# SPDX-License-Identifier: MIT
"""Bytecode instructions of Python, and bytes that it has in use, on the PC."""

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from ethosu_tools import boards
from ethosu_tools.answers import subject
from ethosu_tools.answers.validate import work
from ethosu_tools.answers.validate.data import DataSet, Samples
from ethosu_tools.boards import setup
from ethosu_tools.compile.plan import plan_model
from ethosu_tools.model import ModelFile, romfs
from ethosu_tools.testing import pool

from host_tests.lab.growth import models
from host_tests.lab.growth.series import BYTECODES, BYTES, Series, bytecodes, peak_bytes

DESCRIBE, ROM_IMAGE = "read and describe", "build a ROM image"
ESTIMATE, PLAN = "estimate", "plan"
TAKE, VALIDATE = "take one of them for a test", "validate"
_SEED = 1

Act = Callable[[], object]
Count = Callable[[Act], int]


def of_description(axis: str, sizes: Sequence[int], files: Sequence[Path]) -> list[Series]:
    """Reading a model."""

    def describe(path: Path) -> Act:
        return lambda: ModelFile(path).description

    return [_series(axis, DESCRIBE, BYTECODES, sizes, map(describe, files))]


def of_image(axis: str, sizes: Sequence[int], files: Sequence[Path]) -> list[Series]:
    """Putting a model into an image for /rom."""

    def image(path: Path) -> Act:
        return lambda: romfs.build({"model.tflite": path.read_bytes()})

    return [_series(axis, ROM_IMAGE, BYTES, sizes, map(image, files), peak_bytes)]


def of_estimate(axis: str, sizes: Sequence[int], files: Sequence[Path]) -> list[Series]:
    """Examining a compiled model layer by layer, which estimates its time."""

    def examine(path: Path) -> Act:
        file = ModelFile(path)
        system = setup.resolve(file, boards.DEFAULT).system
        return lambda: subject.examine(ModelFile(path), system)

    return [_series(axis, ESTIMATE, BYTECODES, sizes, map(examine, files))]


def of_plan(axis: str, sizes: Sequence[int], made: Sequence[bytes]) -> list[Series]:
    """Planning the arena of models that stay on the CPU."""

    def plan(model: bytes) -> Act:
        return lambda: plan_model(ModelFile(model))

    return [_series(axis, PLAN, BYTECODES, sizes, map(plan, made))]


def of_pool(axis: str, sizes: Sequence[int]) -> list[Series]:
    """Taking the last board of a pool for a test: the work of pool and locks, not of the board."""

    def count(act: Act) -> int:
        return bytecodes(act, ("ethosu_tools/testing/pool.py", "ethosu_tools/base/locks.py"))

    def take(size: int) -> Act:
        places = [pool.Place(tags=frozenset({f"board {i}"})) for i in range(size)]
        own = pool.expanded(places, f"growth {os.getpid()}")
        taken = pool.Pool(own)

        def act() -> None:
            taken.use([pool.Needs(tags=frozenset({f"board {size - 1}"}))])
            taken.release()

        return act

    return [_series(axis, TAKE, BYTECODES, sizes, map(take, sizes), count)]


def of_samples(axis: str, sizes: Sequence[int], model: Path) -> list[Series]:
    """Validating a model that confuses many classes, so the confusion matrix grows with samples."""
    file = ModelFile(model)
    (tensor,) = file.compiled.inputs
    settings = work.Settings(file.data, None, str(model), None, "sim", None, None, 5, verify=True)

    def validate(size: int) -> Act:
        random = np.random.default_rng(_SEED)
        inputs = random.integers(-128, 128, (size, *tensor.shape)).astype(np.int8)
        labels = random.integers(0, models.CLASSES, size)
        data = DataSet(Samples((inputs,), labels))

        def act() -> None:
            with tempfile.TemporaryDirectory(prefix="ethosu-") as folder:
                notes = work.Notes(Path(folder) / "notes", "")
                work.run(settings, data, notes, 1, None, lambda done, count: None)
                notes.close(remove=True)

        return act

    return [_series(axis, VALIDATE, BYTECODES, sizes, map(validate, sizes))]


def _series(
    axis: str,
    what: str,
    unit: str,
    sizes: Sequence[int],
    acts: "map[Act]",
    count: Count = bytecodes,
) -> Series:
    """Counts at each size; the first act runs once before, as it imports modules."""
    every = list(acts)
    every[0]()
    return Series(axis, what, unit, tuple(sizes), tuple(map(count, every)))
