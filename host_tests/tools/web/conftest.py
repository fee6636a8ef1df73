# SPDX-License-Identifier: MIT
"""The page in a browser, and the models for testing the board and Vela as WebAssembly."""

from pathlib import Path

import pytest
from ethosu_tools import make_model, mixed_models
from ethosu_tools.wakeword import keywords

from host_tests.kit import needs
from tools.web import discs

from .chromium import find
from .serve import serve
from .steps import FOLDER, opened

SHARED = (
    "ad01_int8",
    "hello_world_int8",
    "kws_ref_model",
    "pretrainedResnet_quant",
    "trained_lstm_int8",
    "vww_96_int8",
)
MADE = {
    **make_model.MODELS,
    **{name: mixed.make for name, mixed in mixed_models.MODELS.items()},
    "discs": discs.make_model,
}
NAMES = (*MADE, *keywords.NAMES, *SHARED)


@pytest.fixture(params=NAMES)
def model(request, tmp_path) -> Path:
    """Each of them, before Vela."""
    if request.param in keywords.NAMES:
        return keywords.load(request.param).model
    if request.param in SHARED:
        return request.getfixturevalue("shared_models") / f"{request.param}.tflite"
    path = tmp_path / f"{request.param}.tflite"
    path.write_bytes(MADE[request.param]())
    return path


@pytest.fixture
def ready(compiled, tmp_path):
    """Compiles a model as a file of the same name."""
    folder = tmp_path / "compiled"
    folder.mkdir()

    def compile_here(source, npu="ethos-u55-128"):
        (folder / source.name).write_bytes(compiled(source, npu).read_bytes())
        return folder / source.name

    return compile_here


@pytest.fixture
def server():
    needs.web()
    if not (FOLDER / "index.html").is_file():
        needs.missing("the page is not there; build it with: make page")
    if find() is None:
        needs.missing("chromium is missing: apt-get install chromium")
    with serve(FOLDER) as made:
        yield made


@pytest.fixture
def vela(server):
    if not (FOLDER / "vela.wasm").is_file():
        needs.missing("the page has no Vela; build it with: make web")


@pytest.fixture
def address(server):
    return f"http://localhost:{server.server_port}/"


@pytest.fixture
def page(address):
    with opened(address) as made:
        yield made
