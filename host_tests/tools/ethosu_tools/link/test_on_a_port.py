# SPDX-License-Identifier: MIT
"""Tests `ethosu run` and `ethosu deploy` on a port: an emulated UART, or `--port`."""

import hashlib
import json

import numpy as np
import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link import remote
from ethosu_tools.link.board import Board
from ethosu_tools.link.emulator import qemu


def port_of_a_board(request, npu, console):
    """Return the port of a board that no other program uses."""
    given = request.config.getoption("--ethosu-port")
    if given:
        yield given
        return
    with qemu.Machine(emulated(npu=npu, console=console)) as machine:
        Board(machine.port).close()
        yield machine.port


@pytest.fixture
def uart(request, board_npu):
    yield from port_of_a_board(request, board_npu, "uart")


@pytest.fixture(scope="module")
def port(request, board_npu):
    """Return a fast port for tests that need no UART, which takes CPU time for each byte."""
    yield from port_of_a_board(request, board_npu, "fast")


def test_run_equals_the_reference(
    ethosu, small_models, compiled, inputs, tmp_path, uart, port, board_npu
):
    for name, where in (("small_cnn", port), ("small_streaming", uart)):
        model = small_models[name]
        code, out, err = ethosu(
            "run",
            compiled(model, board_npu),
            *("--on", where, "--reference", model, "--json"),
            *("--input", inputs(model, steps=3), "--output", tmp_path / "out.npz"),
        )
        assert (code, err) == (0, "")
        data = json.loads(out)
        assert data["equals_reference"] is True and data["npu"] == board_npu
        with np.load(tmp_path / "out.npz") as saved:
            assert len(saved["0"]) == 3
            said, array = data["outputs"]["0"], saved["0"]
            assert (said["min"], said["max"]) == (array.min(), array.max())
            assert array[tuple(said["largest_at"])] == array.max()


def test_a_model_is_sent_once_unless_half_of_it_was_left_on_the_board(
    ethosu, small_models, compiled, inputs, port, board_npu, monkeypatch
):
    model = small_models["small_cnn"]
    words = ["run", compiled(model, board_npu), "--on", port, "--input", inputs(model)]
    assert ethosu(*words)[0] == 0
    with Board(port) as board:
        board.exec(
            "import os\nfor name in os.listdir('/'):\n"
            " if name.startswith('ethosu_') and name != 'ethosu_models':\n"
            "  with open('/' + name, 'wb') as f: f.write(b'half')"
        )
    assert ethosu(*words)[0] == 0
    monkeypatch.setattr(Board, "write_file", lambda *_: pytest.fail("the model was sent again"))
    assert ethosu(*words)[0] == 0


def test_unused_models_are_removed_to_make_room(
    ethosu, small_models, compiled, inputs, port, board_npu, tmp_path
):
    model = small_models["small_cnn"]
    content = compiled(model, board_npu).read_bytes()
    first, *others = (tmp_path / f"{index}.tflite" for index in range(remote.KEPT_MODELS + 1))
    for index, path in enumerate((first, *others)):
        path.write_bytes(content + bytes(16 * index))
    given = inputs(model)
    for path in (first, *others[:-1], first, others[-1]):
        assert ethosu("run", path, "--on", port, "--input", given)[0] == 0
    hashes = {path: hashlib.sha256(path.read_bytes()).hexdigest()[:12] for path in (first, *others)}
    with Board(port) as board:
        names = board.eval("[n for n in __import__('os').listdir('/') if n.startswith('ethosu_')]")
    assert "ethosu_models" in names
    assert {name[7:19] for name in names if name != "ethosu_models"} == set(hashes.values()) - {
        hashes[others[0]]
    }


def test_model_for_another_npu_is_refused_by_the_board(
    ethosu, fails, small_models, compiled, inputs, port, board_npu
):
    model = small_models["small_cnn"]
    other = "ethos-u55-64" if board_npu != "ethos-u55-64" else "ethos-u55-256"
    words = ["--on", port, "--input", inputs(model)]
    fails("run", compiled(model, other), *words, code=3, said=(other, board_npu, "ethosu compile"))
    assert ethosu("run", compiled(model, board_npu), *words)[0] == 0


@pytest.mark.usefixtures("writable_rom")
def test_deployed_files_are_in_rom_and_used_in_place(
    ethosu, small_models, compiled, port, board_npu
):
    model = compiled(small_models["small_cnn"], board_npu)
    code, _, err = ethosu("deploy", model, "--on", port)
    assert (code, err) == (0, "")
    with Board(port) as board:
        board.soft_reset()
        assert board.read_file(f"/rom/{model.name}") == model.read_bytes()
        board.exec(f"import ethosu\nm = ethosu.Model('/rom/{model.name}')")
        assert board.eval("m.info()['copied_bytes']") == 0
