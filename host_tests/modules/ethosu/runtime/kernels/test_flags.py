# SPDX-License-Identifier: MIT
"""Compiler flags do not change the results of kernels.

MicroPython's ports use -fsingle-precision-constant, which makes a constant like 0.1 a float. If
no instruction changes, the results are those of test_exact.py.
"""

import re

import pytest

from host_tests.kit import sharing

SINGLE = "-fsingle-precision-constant"
GCC = ["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard", "-std=gnu11"]
# A floating constant without a suffix, decimal or hexadecimal; the flag affects only these.
CONSTANT = re.compile(
    r"(?<![\w.])(?:(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|0[xX][\w.]+[pP][+-]?\d+)(?!\w)"
)


def compiled(repo, source, *flags):
    module = repo / "modules/ethosu"
    paths = [f"-I{module / folder}" for folder in (".", "driver/include", "runtime/include")]
    return sharing.run([*GCC, "-O1", "-ffp-contract=off", *flags, *paths, "-o", "-", source])


@pytest.mark.slow
def test_single_precision_constants_change_no_instruction(repo):
    sources = sorted((repo / "modules/ethosu/runtime").rglob("*.c"))
    assert len(sources) > 40
    concerned = [
        source for source in sources if CONSTANT.search(compiled(repo, source, "-E", "-P"))
    ]
    changed = [
        s.name for s in concerned if compiled(repo, s, "-S") != compiled(repo, s, "-S", SINGLE)
    ]
    assert changed == []
