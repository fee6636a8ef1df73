# SPDX-License-Identifier: MIT
"""`ethosu bench kernels`: instructions of operators with weights, which repeat."""

import json

from ethosu_tools import cli
from ethosu_tools.bench.kernels import LAYERS


def _run(capsys):
    assert cli.main(["bench", "kernels", "--json"]) == 0
    return json.loads(capsys.readouterr().out)["layers"]


def test_figures_repeat_and_are_no_worse(capsys):
    rows = _run(capsys)
    assert [row["layer"] for row in rows] == list(LAYERS)
    assert rows == _run(capsys)
    for row in rows:
        assert row["own"] < 12 * row["products"]
