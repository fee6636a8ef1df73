# SPDX-License-Identifier: MIT
"""Fixtures: the page in a browser, and models for Vela as WebAssembly."""

from pathlib import Path

import pytest

from host_tests.exactness.models import LEFT, MODELS, TfliteModel
from host_tests.kit import needs
from host_tests.kit.browser.chromium import find
from host_tests.kit.browser.serve import serve

from . import needed
from .steps import BROWSERS, FOLDER, files, loaded, opened


@pytest.fixture(
    params=[name for name in MODELS if isinstance(MODELS[name], TfliteModel) and name not in LEFT]
)
def model(request) -> Path:
    """Return each model, before Vela."""
    return MODELS[request.param].file(request.getfixturevalue, request.param)


@pytest.fixture
def ready(compiled, tmp_path):
    """Compile a model to a file of the same name."""
    folder = tmp_path / "compiled"
    folder.mkdir()

    def compile_here(source, npu="ethos-u55-128"):
        (folder / source.name).write_bytes(compiled(source, npu).read_bytes())
        return folder / source.name

    return compile_here


def _needs_page():
    needed.web()
    if not (FOLDER / "index.html").is_file():
        needs.missing("the page is not built; run: make page")
    if find() is None:
        needs.missing("chromium is missing: apt-get install chromium")


@pytest.fixture(scope="session")
def address():
    """Return the page's address, at a server of this process."""
    _needs_page()
    with serve(FOLDER) as server:
        yield f"http://localhost:{server.server_port}/"


@pytest.fixture
def server():
    """Start a server that the test may stop."""
    _needs_page()
    with serve(FOLDER) as made:
        yield made


@pytest.fixture
def vela(address):
    if not (files() / "vela.wasm").is_file():
        needs.missing("the page has no Vela; build it with: make web")


@pytest.fixture(scope="module", autouse=True)
def _leave_the_page():
    """Leave the page, which takes a tenth of a processor; browsers stay for other modules."""
    yield
    for browser in BROWSERS:
        browser.open("about:blank")


@pytest.fixture(scope="session")
def browser(address):
    """Share a browser among tests without options, since its start takes most of a test."""
    with opened(address) as made:
        yield made


@pytest.fixture(scope="session")
def browser_with_devices(address):
    """Start a browser whose microphone repeats a wake word, and whose camera is green."""
    options = (
        "--use-fake-device-for-media-stream",
        "--use-fake-ui-for-media-stream",
        f"--use-file-for-fake-audio-capture={files() / 'examples/okay_nabu.wav'}",
    )
    with opened(address, *options) as made:
        yield made


@pytest.fixture
def page_with_devices(browser_with_devices, address):
    """Return the page in that browser."""
    with loaded(browser_with_devices, address):
        yield browser_with_devices


@pytest.fixture
def page(browser, address):
    """Return the page, loaded anew."""
    with loaded(browser, address):
        yield browser


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests here need the page; the hook gets those of other folders, too."""
    here = f"{Path(__file__).parent}/"
    for item in items:
        if str(item.path).startswith(here):  # of thousands of tests: pathlib is slow
            item.add_marker("page")
