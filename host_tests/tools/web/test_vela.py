# SPDX-License-Identifier: MIT
"""Vela as WebAssembly produces the same bytes as Vela's own wheel, for each target of the page."""

import json
import subprocess

import pytest
from ethosu_tools import boards
from ethosu_tools.base import paths
from ethosu_tools.compile import vela
from ethosu_tools.model.tflite.metadata import get, put

from host_tests.kit import needs

from . import needed

pytestmark = pytest.mark.slow
# Targets by title and NPU, since some chips have an NPU for each CPU, with other memories.
BOARDS = {
    (board.title, npu): boards.vela_facts(boards.load(board.name, npu))
    for board in boards.every()
    for npu in board.npus
}


@pytest.fixture(scope="module")
def parts():
    """Return the parts from which `make web` made the page."""
    needed.web()
    folder = paths.root() / "build/web_parts"
    if not (folder / "vela/vela.wasm").is_file() or not (folder / "settings.json").is_file():
        needs.missing("Vela as WebAssembly is not built; run: make web")
    return folder


def test_same_bytes(parts, model, tmp_path):
    settings = parts / "settings.json"
    targets = json.loads(settings.read_text())["targets"]
    files = [tmp_path / f"{index}.tflite" for index in range(len(targets))]
    jobs = [word for index, file in enumerate(files) for word in (str(index), str(file))]
    runner = paths.root() / "tools/web/page/model/vela_node.mjs"
    wasm = parts / "vela/vela.wasm"
    subprocess.run(["node", runner, wasm, settings, model, *jobs], check=True, timeout=1800)
    for target, file in zip(targets, files, strict=True):
        native = tmp_path / "native.tflite"
        vela.compile_model(
            model,
            target["npu"],
            native,
            board=BOARDS[target["board"], target["npu"]] if target["board"] else None,
            system_config=target["system_config"],
            memory_mode=target["memory_mode"],
        )
        expected = native.read_bytes()
        # The tools add this metadata to Vela's file afterwards.
        notes = {name: get(expected, name) for name in ("vela_version", "ethosu_debug")}
        assert put(file.read_bytes(), notes) == expected, target


def test_refusal_is_velas_own_sentence(parts, tmp_path):
    model = tmp_path / "short.tflite"
    model.write_bytes(b"\x1c\0\0\0TFL3" + bytes(200))
    settings = parts / "settings.json"
    runner = paths.root() / "tools/web/page/model/vela_node.mjs"
    wasm = parts / "vela/vela.wasm"
    words = ["node", runner, wasm, settings, model, "0", tmp_path / "out"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert done.returncode != 0 and "Failed to" in done.stderr
    assert not (tmp_path / "out").exists()
