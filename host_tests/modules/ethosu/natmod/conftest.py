# SPDX-License-Identifier: MIT
"""Fixtures for boards with the native module."""

import pytest

from host_tests.modules.ethosu.natmod import native_board


@pytest.fixture(scope="module")
def native():
    """Return the folder with ethosu.mpy and its package.json."""
    return native_board.build()


@pytest.fixture(scope="module")
def loaded(emulator_only, board_npu):
    """Return a board on which `ethosu` is the native module."""
    with native_board.start(board_npu) as board:
        yield board


@pytest.fixture
def fresh(loaded, compiled, small_models, example):
    """Return such a board with the definitions of program()."""
    model = compiled(small_models["small_cnn"], loaded.machine.npu)
    loaded.write_file("/m.tflite", model.read_bytes())
    loaded.exec(native_board.program(example))
    return loaded
