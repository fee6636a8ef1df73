# SPDX-License-Identifier: MIT
"""Only what a program uses is imported."""

import pytest


@pytest.mark.on_board
def test_only_what_is_used_is_imported(fresh):
    fresh.soft_reset()
    fresh.exec("import sys, ml")
    assert fresh.eval("sorted(n for n in sys.modules if n.startswith('ml'))") == ["ml"]
    fresh.exec("ml.Model")
    assert fresh.eval("sorted(n for n in sys.modules if n.startswith('ml'))") == ["ml", "ml.model"]
    printed = fresh.exec(
        "from ml import Model, Normalization, postprocessing, preprocessing, utils\n"
        "assert ml.utils is utils and ml.Model is Model\n"
        "try: ml.nothing\n"
        "except AttributeError as error: print(error, end='')\n"
    )
    assert printed == "module 'ml' has no attribute 'nothing'"
