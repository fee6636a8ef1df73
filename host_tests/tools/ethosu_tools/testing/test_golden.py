# SPDX-License-Identifier: MIT
"""The fixture `golden` keeps outputs in files, and compares them bit by bit."""

import numpy as np
import pytest
from ethosu_tools.base.errors import InputError, MismatchError
from ethosu_tools.testing.golden import Golden


@pytest.fixture
def golden(tmp_path):
    """Return two: the one writes the files of the other."""
    return [Golden(tmp_path, "test_a.py::test_b[c d]", updates) for updates in (True, False)]


FLOATS = np.array([[1.5, np.nan], [-0.0, np.inf]], "f4")
OUTPUTS = {"scores": FLOATS, "box": np.arange(6, dtype="i1").reshape(2, 3)}


def test_files_are_written_and_compared(golden):
    update, compare = golden
    for path, outputs in (
        ("a.npz", OUTPUTS),
        ("folder/b.npz", list(OUTPUTS.values())),
        ("c.npy", FLOATS),
        ("d.npy", {"scores": FLOATS}),
        ("e.npz", np.float64(3)),
        ("f.npz", [np.zeros((0, 3))]),
    ):
        outputs = [outputs] if isinstance(outputs, np.float64) else outputs
        update(path, outputs)
        compare(path, outputs)


@pytest.mark.parametrize(
    ("at", "value", "text"),
    [
        ((0, 1), 2, r"array 0: 1 of 4 values differ, the first at \[0, 1\]: expected nan, found 2"),
        ((0, 0), np.nan, r"the first at \[0, 0\]: expected 1.5, found nan"),
        ((1, 0), 0.0, r"the first at \[1, 0\]: expected -0.0, found 0.0"),
        (slice(None), 7, r"4 of 4 values differ, the first at \[0, 0\]: expected 1.5, found 7"),
    ],
)
def test_each_bit_counts(golden, at, value, text):
    update, compare = golden
    update("a.npy", FLOATS)
    changed = FLOATS.copy()
    changed[at] = value
    with pytest.raises(MismatchError, match=rf"a.npy: .*{text}.*; if this is right: pytest '"):
        compare("a.npy", changed)


@pytest.mark.parametrize(
    ("outputs", "text"),
    [
        ({"scores": FLOATS}, "expected arrays scores, box, found scores"),
        ({**OUTPUTS, "box": OUTPUTS["box"].astype("u1")}, "box: expected dtype int8, found uint8"),
        ({**OUTPUTS, "box": OUTPUTS["box"].T}, r"box: expected shape \(2, 3\), found \(3, 2\)"),
    ],
)
def test_names_types_and_shapes_count(golden, outputs, text):
    update, compare = golden
    update("a.npz", OUTPUTS)
    with pytest.raises(MismatchError, match=text):
        compare("a.npz", outputs)


def test_an_absent_file_names_the_command_that_makes_it(golden):
    command = r"there is no .*a.npz; this makes it: pytest 'test_a.py::test_b\[c d\]' --ethosu-upd"
    with pytest.raises(InputError, match=command):
        golden[1]("a.npz", OUTPUTS)


@pytest.mark.parametrize("path", ["a.txt", "a.npy"])
def test_a_file_that_cannot_hold_the_arrays_is_refused(golden, path):
    for each in golden:
        with pytest.raises(InputError, match=r"must end in \.npz, or, for one array, in \.npy"):
            each(path, OUTPUTS)
