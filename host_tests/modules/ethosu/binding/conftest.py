# SPDX-License-Identifier: MIT
"""A board with one of the project's own models, for tests of the Python API."""

import pytest
from ethosu_tools import boards
from ethosu_tools.oracle import Oracle

from host_tests.kit import firmware_image
from host_tests.modules.ethosu.runtime.board_models import raised  # noqa: F401
from host_tests.modules.ethosu.runtime.conftest import vela  # noqa: F401
from host_tests.modules.ethosu.runtime.executorch.conftest import raw  # noqa: F401

MODEL = "/model.tflite"


def places() -> str:
    """Code that defines the NPU's registers, memory it cannot access, and unused memory."""
    image, window = firmware_image.of(), boards.chosen().qemu.window
    return (
        "import machine\n"
        f"NPU, UNSEEN, FREE = {image.npu_base}, {image.unseen(100_000)}, {window.start}\n"
        f"def mask(): {firmware_image.mask()}\n"
        f"def unmask(): {firmware_image.unmask()}\n"
    )


@pytest.fixture(scope="session")
def example(small_models):
    """The small model's reference, an input and the expected output, as bytes."""
    import numpy as np

    oracle = Oracle(small_models["small_cnn"])
    shape = oracle.inputs[0].shape
    x = np.random.default_rng(3).integers(-128, 128, shape).astype(np.int8)
    return oracle, x, oracle.step([x])[0]


@pytest.fixture
def api(board, board_npu, compiled, small_models, example):
    """The board, with `m` loaded, input `x` and the expected output `golden`."""
    _, x, y = example
    board.write_file(MODEL, compiled(small_models["small_cnn"], board_npu).read_bytes())
    board.exec(
        f"import ethosu, gc\nfrom array import array\nm = ethosu.Model({MODEL!r})\n"
        f"x = array('b', {x.tobytes()!r})\ngolden = {y.tobytes()!r}\n"
    )
    return board


@pytest.fixture
def emulated(request, api):
    """The same, with properties that only the emulated board has."""
    if request.config.getoption("--ethosu-port"):
        pytest.skip("uses registers and counters of the emulated board")
    api.exec("import emulator\n" + places())
    return api
