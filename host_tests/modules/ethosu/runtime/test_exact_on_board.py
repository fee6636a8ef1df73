# SPDX-License-Identifier: MIT
"""Results of the Python module on a board equal TFLite's reference kernels, bit by bit."""

import pytest

from . import reference_cases
from .board_models import check

# Not the session's board: an emulated one with a different configuration.
OTHER_NPU = "ethos-u55-256"


@pytest.fixture(scope="module")
def other_board(request):
    from ethosu_tools.board import open_board

    if request.config.getoption("--ethosu-port"):
        pytest.skip("a real board has the NPU that it has")
    with open_board("qemu", npu=OTHER_NPU) as board:
        yield board


@pytest.mark.parametrize("name", ["small_cnn", "small_streaming"])
def test_own_models(board, board_npu, case_of, compiled, small_models, name):
    model = small_models[name]
    check(board, case_of(model, 20), compiled(model, board_npu))


@pytest.mark.parametrize("name", reference_cases.WAKE_WORDS)
def test_wake_words(board, board_npu, case_of, compiled, wake_words, name):
    model = wake_words[name]
    check(board, case_of(model, 100), compiled(model, board_npu))


@pytest.mark.parametrize("name", reference_cases.SHARED)
def test_shared_models(board, board_npu, case_of, compiled, shared_models, name):
    model = shared_models / f"{name}.tflite"
    check(board, case_of(model, 20), compiled(model, board_npu))


@pytest.mark.parametrize("name", reference_cases.WAKE_WORDS)
def test_wake_words_on_another_npu(other_board, case_of, compiled, wake_words, name):
    model = wake_words[name]
    check(other_board, case_of(model, 100), compiled(model, OTHER_NPU))


@pytest.mark.parametrize("name", reference_cases.SHARED)
def test_shared_models_on_another_npu(other_board, case_of, compiled, shared_models, name):
    model = shared_models / f"{name}.tflite"
    check(other_board, case_of(model, 20), compiled(model, OTHER_NPU))
