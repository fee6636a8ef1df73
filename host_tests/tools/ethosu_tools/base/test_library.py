# SPDX-License-Identifier: MIT
"""What the tools ask for with each value is at hand."""

import os

from ethosu_tools.base import library


def test_a_value_of_c_needs_no_file(monkeypatch):
    library.ffi()  # the first one looks for the library
    stat, asked = os.stat, []
    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", lambda path, **how: (asked.append(path), stat(path, **how))[1])
        assert library.ffi().new("int *", 7)[0] == 7
    assert asked == []
