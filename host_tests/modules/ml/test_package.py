# SPDX-License-Identifier: MIT
"""The package's lists of files are whole."""

import json


def test_mip_gets_every_file(repo):
    folder = repo / "modules/ml"
    listed = json.loads((folder / "package.json").read_text())["urls"]
    there = sorted(str(path.relative_to(folder)) for path in (folder / "ml").rglob("*.py"))
    assert sorted(source for _, source in listed) == there
    assert all(target == source for target, source in listed)


def test_it_is_frozen_in_and_works_without_ulab(board):
    board.exec("import ml\nimport ml.postprocessing.edgeimpulse, ml.postprocessing.ultralytics")
    assert board.eval("ml.Model.__name__") == "Model"
