# SPDX-License-Identifier: MIT
"""The planner's output matches the runtime's input, and its scratch the kernels' needs."""

import re
import struct

import pytest
from ethosu.vela.tflite.BuiltinOperator import BuiltinOperator
from ethosu_tools.compile.plan import plan_file, record
from ethosu_tools.model.tflite import OFFSETS_NAME, metadata

from host_tests.modules.ethosu.runtime.kernels import runner  # noqa: F401  (its import registers the generators)
from host_tests.modules.ethosu.runtime.kernels.maker import GENERATORS, make

from . import c_runtime

CASES = 8


def test_codes_are_the_schemas():
    for name, kernel in c_runtime.operators().items():
        code = BuiltinOperator.CUSTOM if kernel.custom else getattr(BuiltinOperator, name)
        assert kernel.code == code


def test_layout_of_the_plan_is_plan_h(repo):
    text = (repo / "modules/ethosu/runtime/file/plan.h").read_text()
    assert f'#define PLAN_NAME "{record.RECORD_NAME}"' in text
    assert f"#define PLAN_MARK 0x{record.MARK:X}u" in text
    assert f"#define PLAN_VERSION {record.VERSION}u" in text
    words = re.findall(r"^    (PLAN_WORD|PLAN_ENTRY)_[A-Z]+,", text, re.MULTILINE)
    assert words.count("PLAN_WORD") == record.HEADER_WORDS
    assert words.count("PLAN_ENTRY") == record.ENTRY_WORDS + 1  # one defines the number


@pytest.mark.parametrize("name", GENERATORS)
def test_same_scratch_for_generated_cases(name, tmp_path):
    """The runtime accepts the planner's scratch size, but not one byte less."""
    path = tmp_path / "case.tflite"
    for seed in range(CASES):
        path.write_bytes(make(name, seed).model)
        plan = plan_file(path, path)
        data = path.read_bytes()
        assert c_runtime.load(data) == "", f"case {seed}"
        (entry,) = plan.entries
        if entry.size:
            reason = c_runtime.load(with_scratch(data, plan, entry.size - 1))
            wanted = f"{entry.size - 1} bytes of scratch planned, {entry.size} needed (planner "
            wanted += f"{record.PLANNER_VERSION}, kernel {entry.kernel};"
            assert wanted in reason, f"case {seed}"
        assert plan.before is None


def with_scratch(data, plan, size):
    """Change the size of a file's only scratch."""
    (entry,) = plan.entries
    changed = record.Entry(entry.operator, entry.code, entry.kernel, entry.offset, size)
    old, new = record.encode(plan.arena, [entry]), record.encode(plan.arena, [changed])
    assert data.count(old) == 1
    return data.replace(old, new)


def test_state_inside_the_scratch_of_the_npu(mixed):
    # Tensor 4 keeps the state of the first SVDF; between both layers the NPU works at 0 to 320.
    data = mixed("svdf").planned.read_bytes()
    offsets = bytearray(metadata.get(data, OFFSETS_NAME))
    assert c_runtime.load(data) == ""
    struct.pack_into("<I", offsets, 4 * (3 + 4), 128)
    reason = c_runtime.load(metadata.put(data, {OFFSETS_NAME: bytes(offsets)}))
    assert "operator 1 (ethos-u)" in reason
    assert "scratch at 0 to 320 overlaps tensor 4 at 128 to 896, which keeps state" in reason
