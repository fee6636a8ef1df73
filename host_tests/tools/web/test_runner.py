# SPDX-License-Identifier: MIT
"""What the page's runner does besides computing."""

import pytest
from ethosu_tools.addons.web import runner
from ethosu_tools.base.errors import InputError
from ethosu_tools.link.open import open_runner

from host_tests.tools.ethosu_tools.link import test_runners

from . import needed


def test_state_is_kept_from_block_to_block(compiled):
    needed.web()
    test_runners.check_state(compiled, "web")


def test_a_wrong_file_is_refused_before_a_board_is_opened(small_models, monkeypatch):
    monkeypatch.setattr(runner, "WebBoard", lambda *_, **__: pytest.fail("a board was opened"))
    with pytest.raises(InputError, match=r"never compiled.*run: ethosu compile"):
        open_runner(small_models["small_cnn"], "web", npu="ethos-u55-128")
