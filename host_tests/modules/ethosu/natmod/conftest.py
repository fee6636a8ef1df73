# SPDX-License-Identifier: MIT
"""Fixtures: a board with the native module."""

import pytest

from host_tests.modules.ethosu.natmod import native_board


@pytest.fixture(scope="module")
def native():
    """Folder with ethosu.mpy and its package.json."""
    return native_board.build()


@pytest.fixture(scope="module")
def loaded(emulator_only, board_npu):
    """A board on which `ethosu` is the native module."""
    with native_board.start(board_npu) as board:
        yield board


@pytest.fixture
def fresh(loaded, compiled, small_models, example):
    """The same, with what program() defines."""
    model = compiled(small_models["small_cnn"], loaded.machine.npu)
    loaded.write_file("/m.tflite", model.read_bytes())
    loaded.exec(native_board.program(example))
    return loaded
