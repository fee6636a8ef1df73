# SPDX-License-Identifier: MIT
"""Manipulated plans: the runtime rejects them at load, with a reason."""

import struct

import pytest
from ethosu_tools.compile.plan.record import PLANNER_VERSION, RECORD_NAME
from ethosu_tools.model.tflite import OFFSETS_NAME, metadata

from . import c_runtime

FIRST_ENTRY = 5


@pytest.fixture
def spoil(mixed):
    """Loads mixed_cnn with one word of its metadata changed."""
    data = mixed("mixed_cnn").planned.read_bytes()

    def change(name, word, value):
        content = bytearray(metadata.get(data, name))
        struct.pack_into("<I", content, 4 * word, value)
        return c_runtime.load(metadata.put(data, {name: bytes(content)}))

    return change


def test_a_correct_plan_is_accepted(mixed):
    assert c_runtime.load(mixed("mixed_cnn").planned.read_bytes()) == ""


def test_without_a_plan_the_needed_scratch_is_named(mixed):
    reason = c_runtime.load(mixed("mixed_cnn").compiled.read_bytes())
    assert "operator 0 (CONV_2D)" in reason and "needs 27 bytes of scratch" in reason
    assert reason.endswith("run: ethosu compile MODEL.tflite")


@pytest.mark.parametrize(
    ("word", "value", "expected"),
    [
        (0, 1, "mark is"),
        (1, 9, "version is"),
        (3, 16, "arena size is"),
        (4, 1, "number of entries is"),
        (FIRST_ENTRY, 3, "operator"),
        (FIRST_ENTRY + 1, 4, "operator code is 4, expected 3"),
        (FIRST_ENTRY + 3, 8, "offset is 8"),
        (FIRST_ENTRY + 3, 1 << 30, "end is"),
        (FIRST_ENTRY + 3, 1024, "scratch at 1024 to 1051 overlaps tensor"),
        (
            FIRST_ENTRY + 4,
            26,
            f"26 bytes of scratch planned, 27 needed (planner {PLANNER_VERSION}, kernel 1;",
        ),
    ],
)
def test_a_corrupted_plan(spoil, word, value, expected):
    assert expected in spoil(RECORD_NAME, word, value)


def test_a_result_over_an_operand(spoil):
    # Tensor 3 is the first convolution's result, at 0; its input lies at 1024.
    assert "overlaps tensor 0" in spoil(OFFSETS_NAME, 3 + 3, 1024)


def test_a_tensor_outside_of_the_arena(spoil):
    assert "arena size is" in spoil(OFFSETS_NAME, 3 + 3, 1 << 20)


def test_state_inside_the_scratch_of_the_npu(mixed):
    # Tensor 4 keeps the state of the first SVDF; between both layers the NPU works at 0 to 320.
    data = mixed("svdf").planned.read_bytes()
    offsets = bytearray(metadata.get(data, OFFSETS_NAME))
    assert c_runtime.load(data) == ""
    struct.pack_into("<I", offsets, 4 * (3 + 4), 128)
    reason = c_runtime.load(metadata.put(data, {OFFSETS_NAME: bytes(offsets)}))
    assert "operator 1 (ethos-u)" in reason
    assert "scratch at 0 to 320 overlaps tensor 4 at 128 to 896, which keeps state" in reason
