# SPDX-License-Identifier: MIT
"""A visitor downloads each part when needed; limits the bytes of compressed files."""

import gzip
import shutil
import subprocess
from urllib.parse import urlparse

import pytest

from host_tests.kit.browser.serve import serve

from .steps import FOLDER, PROMPT, choose, files, loaded, opened, with_vela

# Limits with Brotli: up to the first prompt, and with all parts that compile a model.
PROMPT_BYTES = 443_000
VELA_BYTES = 400_000
UNPACK = """
import fs from "node:fs";
import zlib from "node:zlib";
fs.writeSync(1, zlib.brotliDecompressSync(fs.readFileSync(process.argv[1])));
"""


def names(page):
    """Return the files of the page that were requested, in order."""
    paths = [urlparse(each).path for each in page.requests if each.startswith("http")]
    return [path.strip("/").removeprefix(f"{files().name}/") or "index.html" for path in paths]


def sizes(found):
    """Return the bytes of the compressed files."""
    return {
        name: (FOLDER if name == "index.html" else files()).joinpath(f"{name}.br").stat().st_size
        for name in found
    }


def test_a_first_visit_loads_the_board_and_the_terminal_once(address):
    with opened(address) as page:
        found = names(page)
    assert found.count("terminal.js") == found.count("ethosu.wasm") == 1
    assert not {"vela.wasm", "vela_worker.js", "check.py", "sound_worklet.js", "panel.js"} & set(
        found
    )
    assert not any(name.startswith("examples/") for name in found)
    loaded = sizes(found)
    assert sum(loaded.values()) <= PROMPT_BYTES, loaded


@pytest.fixture
def site(address, tmp_path):
    """Serve a page that has just been deployed, so that no cache treats it as settled."""
    shutil.copytree(FOLDER, tmp_path / "site", copy_function=shutil.copy)
    with serve(tmp_path / "site") as server:
        yield server, tmp_path / "site"


def test_a_later_visit_loads_the_page_only(site):
    server, _ = site
    address = f"http://localhost:{server.server_port}/"
    with opened(address) as page:
        with loaded(page, address):  # the first visit with the service worker
            pass
        server.requested.clear()
        with loaded(page, address):
            assert set(server.requested) <= {"/", "/sw.js"}


def test_a_new_build_is_shown_at_once_and_kept(site):
    """A new build replaces the old one's files; an open page of the old one tells what to do."""
    server, folder = site
    address = f"http://localhost:{server.server_port}/"
    with opened(address) as page, loaded(page, address):
        old, new = files().name, "0123456789ab"
        (folder / old).rename(folder / new)
        for name in ("index.html", "sw.js"):
            text = (folder / name).read_text()
            assert old in text
            (folder / name).write_text(text.replace(old, new).replace("<h1>", "<h1>New: "))
        page.evaluate("document.querySelector('[data-example=small_cnn]').click()")
        page.wait_for("document.getElementById('status').textContent.includes('reload it')")
        page.messages.clear()  # the browser's, about this file
        with loaded(page, address):
            title = page.evaluate("document.querySelector('h1').textContent")
            assert title.startswith("New: ")
            kept = "caches.open('micropython-ethosu').then(each => each.keys())"
            urls = f"{kept}.then(keys => keys.map(key => key.url))"
            page.wait_for(f"{urls}.then(all => !all.some(url => url.includes('{old}')))")
            page.wait_for(f"{urls}.then(all => all.some(url => url.includes('{new}/main.js')))")
        server.shutdown()
        server.server_close()
        page.open(address)
        page.wait_for(f"document.body && {PROMPT}")
        page.messages[:] = [each for each in page.messages if "net::ERR_" not in each]


@with_vela
def test_the_first_model_loads_vela_once(address, small_models):
    """The first model loads Vela once; with the prompt's parts, that is less than 1 MB."""
    with opened(address) as page:
        before = len(names(page))
        choose(page, small_models["small_cnn"])
        found = names(page)[before:]
    assert found.count("vela.wasm") == 1
    loaded = sizes(found)
    assert sum(loaded.values()) <= VELA_BYTES, loaded


def test_compressed_files_hold_the_same(address):
    """Compressed files have the same contents as the plain ones."""
    checked = ("main.js", "ethosu.wasm", "examples/small_cnn.tflite")
    for file in (FOLDER / "index.html", *(files() / name for name in checked)):
        content = file.read_bytes()
        assert gzip.decompress(file.with_name(f"{file.name}.gz").read_bytes()) == content
        packed = file.with_name(f"{file.name}.br")
        command = ["node", "--input-type=module", "--eval", UNPACK, str(packed)]
        assert subprocess.run(command, check=True, capture_output=True).stdout == content
    small = {file for file in FOLDER.rglob("*") if file.suffix in (".wav", ".png", ".br", ".gz")}
    others = {file for file in FOLDER.rglob("*") if file.is_file()} - small
    assert all(file.with_name(f"{file.name}.br") in small for file in others)
