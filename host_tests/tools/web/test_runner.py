# SPDX-License-Identifier: MIT
"""What the page's runner does besides computing."""

from pathlib import Path

import pytest
from ethosu_tools.addons.web import board, runner
from ethosu_tools.base.errors import BoardResetError, InputError, RemoteError, SetupError
from ethosu_tools.link.board import Board
from ethosu_tools.link.open import open_runner

from host_tests.tools.ethosu_tools.link import test_runners

from . import needed


def test_state_is_kept_from_block_to_block(compiled):
    needed.web()
    test_runners.check_state(compiled, "web")


def test_the_board_in_wasmtime_keeps_files_over_a_reset_and_ends_with_this_process(monkeypatch):
    needed.web()
    monkeypatch.setattr(board, "_node", lambda: Path("absent"))
    npus = ["ethos-u55-128", "ethos-u85-256"]
    with board.WebBoard(npus) as web:
        with Board(web.port) as link:
            assert link.ask("import ethosu\n_answer = list(ethosu.npus())") == [
                "ethos-u55-128",
                "ethos-u85-256",
            ]
            link.exec("with open('/kept', 'w') as file: file.write('here')")
            with pytest.raises(BoardResetError):
                link.exec("import machine; machine.reset()")
        with Board(web.port) as link:  # another program, after the first
            assert link.ask("_answer = open('/kept').read()") == "here"
            deep = "def deep(n): return 1 + deep(n + 1)\ndeep(0)"
            with pytest.raises(RemoteError, match="maximum recursion depth exceeded"):
                link.exec(deep)
        web.process.stdin.close()
        assert web.process.wait(60) == 0


def test_without_node_and_wasmtime_one_sentence_says_so(monkeypatch):
    monkeypatch.setattr(board, "_node", lambda: Path("absent"))
    monkeypatch.setattr(board.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SetupError, match=r"neither node nor .* wasmtime"):
        board.WebBoard()


def test_a_wrong_file_is_refused_before_a_board_is_opened(small_models, monkeypatch):
    monkeypatch.setattr(runner, "WebBoard", lambda *_, **__: pytest.fail("a board was opened"))
    with pytest.raises(InputError, match=r"never compiled.*run: ethosu compile"):
        open_runner(small_models["small_cnn"], "web", npu="ethos-u55-128")
