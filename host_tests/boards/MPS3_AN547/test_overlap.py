# SPDX-License-Identifier: MIT
"""`ethosu bench overlap`: operators that the CPU computes while the NPU works save time."""

import contextlib
import io
import json

from ethosu_tools import cli


def test_time_is_saved():
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        assert cli.main(["bench", "overlap", "--json"]) == 0
    result = json.loads(output.getvalue())
    separate, concurrent = (result["plans"][name] for name in ("separate", "concurrent"))
    assert (separate["concurrent"], concurrent["concurrent"]) == (0, 2)
    assert result["time_ratio"] < 0.7
    assert concurrent["instructions"] < separate["instructions"] * 1.01
