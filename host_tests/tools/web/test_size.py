# SPDX-License-Identifier: MIT
"""What a visitor downloads: each part when it is needed, in bytes of the compressed files."""

import gzip
import subprocess
from urllib.parse import urlparse

from .steps import FOLDER, choose, opened, with_vela

# With Brotli: up to the first prompt, and with all that compiles a model.
PROMPT_BYTES = 460_000
VELA_BYTES = 400_000
UNPACK = """
import fs from "node:fs";
import zlib from "node:zlib";
fs.writeSync(1, zlib.brotliDecompressSync(fs.readFileSync(process.argv[1])));
"""


def names(page):
    """Files of the page that were requested, in order."""
    return [urlparse(each).path.strip("/") or "index.html" for each in page.requests
            if each.startswith("http")]  # fmt: skip


def sizes(found):
    """Bytes of the compressed files."""
    return {name: (FOLDER / f"{name}.br").stat().st_size for name in found}


def test_a_first_visit_loads_the_board_and_the_terminal_once(address):
    with opened(address) as page:
        found = names(page)
    assert found.count("xterm.js") == found.count("ethosu.wasm") == 1
    assert not {"vela.wasm", "vela_worker.js", "check.py", "sound_worklet.js"} & set(found)
    assert not any(name.startswith("examples/") for name in found)
    loaded = sizes(found)
    assert sum(loaded.values()) <= PROMPT_BYTES, loaded


@with_vela
def test_the_first_model_loads_vela_once(address, small_models):
    """With what the prompt needs, it is less than 1 MB."""
    with opened(address) as page:
        before = len(names(page))
        choose(page, small_models["small_cnn"])
        found = names(page)[before:]
    assert found.count("vela.wasm") == 1
    loaded = sizes(found)
    assert sum(loaded.values()) <= VELA_BYTES, loaded


def test_compressed_files_hold_the_same(address):
    """`address`: the page is built."""
    checked = ["index.html", "main.js", "ethosu.wasm", "examples/small_cnn.tflite"]
    for name in checked:
        content = (FOLDER / name).read_bytes()
        assert gzip.decompress((FOLDER / f"{name}.gz").read_bytes()) == content
        command = ["node", "--input-type=module", "--eval", UNPACK, str(FOLDER / f"{name}.br")]
        assert subprocess.run(command, check=True, capture_output=True).stdout == content
    small = {file for file in FOLDER.rglob("*") if file.suffix in (".wav", ".png", ".br", ".gz")}
    others = {file for file in FOLDER.rglob("*") if file.is_file()} - small
    assert all(file.with_name(f"{file.name}.br") in small for file in others)
