# SPDX-License-Identifier: MIT
"""Model.selftest() uses the test data that `ethosu compile --selftest` stores."""

from importlib.metadata import version

import pytest
from ethosu_tools.model.tflite.metadata import get, put
from ethosu_tools.sim import selftest

from host_tests.kit.board_models import MODEL, raised

from .test_failures import compile_to


@pytest.fixture(scope="module", params=["small_cnn", "small_streaming"])
def proven(request, tmp_path_factory, small_models, board_npu):
    path = tmp_path_factory.mktemp("selftest") / "proven.tflite"
    return compile_to(path, small_models[request.param], board_npu, "--selftest")


def test_selftest_passes_and_leaves_the_state_fresh(board, proven):
    board.write_file(MODEL, proven)
    board.exec(f"import ethosu\nm = ethosu.Model({MODEL!r})\nx = bytearray(len(m.inputs[0].data))")
    fresh = board.eval("bytes(m.predict([x])[0])")
    assert board.eval("m.selftest()", timeout=30) is True
    assert board.eval("bytes(m.predict([x])[0])") == fresh


def test_selftest_names_the_output_that_differs(board, proven):
    content = bytearray(get(proven, selftest.NAME))
    content[12 + 32] ^= 1  # the second step's hash
    board.write_file(MODEL, put(proven, {selftest.NAME: bytes(content)}))
    board.exec(f"import ethosu\nm = ethosu.Model({MODEL!r})")
    error = raised(board, "m.selftest()")
    assert error.startswith("RuntimeError output 0 (")
    assert error.endswith("differs from the golden one at step 1")


def test_repr_names_the_npu_and_the_compiler(api, board_npu):
    text = api.eval("repr(m)")
    info = api.eval("m.info()")
    for part in (
        f"<Model {board_npu}: ",
        "steps on the NPU 1, on the CPU 0",
        f"arena {info['arena_size']} bytes at 0x{info['arena_address']:x}",
        f"weights {info['weights']}",
        f"Vela {info['vela']}>",
    ):
        assert part in text
    assert (info["vela"], info["npu_share"]) == (version("ethos-u-vela"), 1.0)
