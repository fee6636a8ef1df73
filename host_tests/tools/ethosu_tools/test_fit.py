# SPDX-License-Identifier: MIT
"""Models that do not fit a board, or cannot run on it, are rejected before anything is written;
the tools' facts about boards match their images and interpreters."""

import json
from dataclasses import replace

import pytest
from ethosu_tools import boards, fit, make_model, romfs
from ethosu_tools.board import Board, QemuBoard
from ethosu_tools.commands import deploy
from ethosu_tools.errors import InputError, RemoteError
from ethosu_tools.estimate import systems
from ethosu_tools.model import ModelFile
from ethosu_tools.qemu import Machine

from host_tests.kit import firmware_image

HE = "ALIF_ENSEMBLE_E7-M55_HE"


def save(net, output, path):
    path.write_bytes(net.finish(output))
    return path


@pytest.fixture(scope="module")
def too_large(tmp_path_factory):
    """Models whose arena and whose file are too large for a board of 2 MB of heap, 0.9 of /rom."""
    folder, wide, heavy = (
        tmp_path_factory.mktemp("large"),
        *(make_model.Net(name, 1) for name in ("wide", "heavy")),
    )
    x = wide.conv(wide.input((1, 192, 192, 32)), 32, (1, 1))
    y = heavy.dense(heavy.input((1, 1, 1, 1000)), 1000, 1.0)
    return {
        "arena": save(wide, wide.conv(x, 32, (1, 1)), folder / "wide.tflite"),
        "file": save(heavy, y, folder / "heavy.tflite"),
    }


@pytest.mark.parametrize("name", boards.names())
def test_the_heap_is_that_of_the_image(name):
    facts, image = boards.load(name), firmware_image.of(name)
    start, end = (image.symbol(f"_gc_heap_{end}") for end in ("start", "end"))
    assert (facts.heap.start, facts.heap.end) == (start, end)


def test_the_heap_available_is_that_of_the_interpreter(machine):
    """It is never more, and at most 1 % less."""
    room = fit.room_of(machine.board)
    with Board(machine.port) as board:
        board.soft_reset()
        asked = fit.ask(board)
    assert room.heap <= asked.heap < room.heap * 1.01
    assert set(asked.npus) <= set(room.npus) and asked.rom == room.rom


@pytest.mark.parametrize("what", ["arena", "file"])
def test_compile_refuses_what_is_too_large_for_the_board(ethosu, too_large, tmp_path, what):
    source, output = too_large[what], tmp_path / "out.tflite"
    words = ["compile", source, "--board", HE, "-o", output]
    code, _, err = ethosu(*words)
    assert (code, output.exists()) == (3, False)
    assert f"{source} can't run on {HE}: its {what} needs " in err and len(err.splitlines()) <= 2
    assert "it fits " in err and "MPS3_AN547" in err and "--force writes it anyway" in err
    assert ("CONV_2D" in err) == ("--optimise Size" in err) == (what == "arena")
    if what == "file":
        code, out, _ = ethosu(*words, "--force")
        assert code == 0 and "fits       no: its file needs" in out and output.exists()


def test_estimate_and_report_include_it(ethosu, too_large, tmp_path):
    code, out, _ = ethosu("estimate", too_large["file"], "--board", HE)
    assert code == 0 and "fits       no: its file needs" in out
    page = tmp_path / "out.html"
    words = ["report", too_large["arena"], "--board", HE, "-o", page, "--steps", 1, "--json"]
    code, out, err = ethosu(*words)
    assert code == 0, err
    (reason,) = json.loads(out)["fit"]["short"]
    assert reason.startswith("its arena needs") and reason in page.read_text()


def test_the_size_of_a_fitting_model_is_printed(ethosu, small_models, tmp_path):
    output = tmp_path / "out.tflite"
    code, out, _ = ethosu("compile", small_models["small_cnn"], "--board", HE, "-o", output)
    assert (
        code == 0
        and f"fits       {HE}: arena and the runtime's tables " in out
        and "file as an image " in out
    )
    found = fit.check(fit.need_of(output), fit.room_of(boards.load(HE)))
    assert not found.short and output.stat().st_size < found.need.rom < output.stat().st_size + 100


def test_the_sizes_decide_to_the_byte():
    room = fit.Room("a board", ("ethos-u55-128",), 1000, 2000)
    assert not fit.check(fit.Need("ethos-u55-128", 1000, 2000), room).short
    assert not fit.check(fit.Need(None, 1, 1), room).short
    short = fit.check(fit.Need("ethos-u55-64", 1001, 2003), room).short
    assert ["1 too few" in each for each in short] == [False, True, False]
    assert short[0].endswith("has ethos-u55-128: compile it with --npu ethos-u55-128")
    assert "3 too few" in short[2]


@pytest.fixture(scope="module")
def machine():
    with Machine(board=boards.DEFAULT) as machine:
        yield machine


def rom_of(machine):
    return machine.memory.read(machine.romfs.start, 64)


REFUSED = {
    "never compiled": "was never compiled for an NPU; run: ethosu compile",
    "other NPU": "it is compiled for ethos-u85-256, but the board at {port} has ethos-u55-128: "
    "compile it with --npu ethos-u55-128",
    "arena": "its arena needs 9,",
    "in a folder": "was never compiled",
}


@pytest.mark.parametrize("what", REFUSED)
def test_deploy_refuses_what_the_board_would(
    ethosu, machine, small_models, compiled, tmp_path, what
):
    """With exit code 3, and before it writes anything."""
    source, folder = small_models["small_cnn"], tmp_path / "files"
    (folder / "models").mkdir(parents=True)
    if what == "arena":
        net = make_model.Net("wide", 1)
        x = net.conv(net.input((1, 384, 384, 32)), 32, (1, 1))
        source = save(net, net.conv(x, 32, (1, 1)), tmp_path / "wide.tflite")
    if what in ("other NPU", "arena"):
        source = compiled(source, "ethos-u85-256" if what == "other NPU" else "ethos-u55-128")
    name = "models/m.tflite" if what == "in a folder" else "m.tflite"
    (folder / name).write_bytes(source.read_bytes())
    machine.memory.write(machine.romfs.start, romfs.build({"a.txt": b"old"}))
    before = rom_of(machine)
    code, _, err = ethosu("deploy", folder, "--on", machine.port)
    assert code == 3 and REFUSED[what].format(port=machine.port) in err and name in err
    assert "--force deploys it anyway" in err and rom_of(machine) == before
    assert f"it fits {boards.DEFAULT}" not in err, "it is this board, or has another NPU"
    if what == "other NPU":
        code, out, _ = ethosu("deploy", folder, "--on", machine.port, "--force")
        assert code == 0 and "warning    m.tflite: it is compiled for ethos-u85-256" in out
        with Board(machine.port) as board, pytest.raises(RemoteError, match="ethos-u85-256"):
            board.exec("import ethosu\nethosu.Model('/rom/m.tflite')")


def test_deploy_takes_what_the_board_runs_and_files_of_any_kind(
    ethosu, machine, small_models, compiled, tmp_path
):
    model = compiled(small_models["small_cnn"])
    (tmp_path / "notes.tflite").write_bytes(b"not a model")
    code, out, err = ethosu("deploy", model, tmp_path / "notes.tflite", "--on", machine.port)
    assert code == 0 and "warning" not in out, err


def test_the_deploy_itself_checks_the_room_in_rom(monkeypatch):
    """It checks all files together, even with --force."""
    monkeypatch.setattr(fit, "ask", lambda _: fit.Room("a board", (), 1000, 2000))
    need = fit.Need(None, 1000, 2001)
    assert [*deploy._check_board(None, {"m": need}, force=False)] == []
    with pytest.raises(InputError, match="1 too few"):
        [*deploy._check_board(None, {"m": replace(need, heap=1001)}, force=False)]


def test_a_firmware_without_our_module_is_not_queried(small_models, compiled, monkeypatch):
    monkeypatch.setattr(fit, "_ASK", "_answer = None, 1000, None")
    need = fit.need_of(compiled(small_models["small_cnn"]))
    with QemuBoard(Machine(board=boards.DEFAULT)) as board:
        (warning,) = deploy._check_board(board, {"m": need}, force=False)
    assert "the firmware has no module ethosu" in warning


def test_the_file_names_its_board(ethosu, small_models, tmp_path, monkeypatch):
    """Each command uses that board, unless one is named; else the same default."""
    source, model = small_models["small_cnn"], tmp_path / "out.tflite"
    assert ethosu("compile", source, "--board", HE, "-o", model)[0] == 0
    for words in (["estimate"], ["report", "-o", tmp_path / "out.html"], ["bench", "--on", "sim"]):
        code, out, err = ethosu(*words, model, "--json")
        assert code == 0 and json.loads(out)["system"] == HE, err
    monkeypatch.delenv(boards.VARIABLE, raising=False)
    assert systems.chosen(model, "MPS3_AN547").name == "MPS3_AN547"
    assert (
        ethosu("compile", source, "--board", HE, "--memory-mode", "Sram_Only", "-o", model)[0] == 0
    )
    assert ModelFile(model).board == HE
    assert systems.chosen(source, None).name == boards.DEFAULT
    assert systems.chosen(source, None, "ethos-u85-256").npu == "ethos-u85-256"
    monkeypatch.setenv(boards.VARIABLE, "NUMAKER_M55M1")
    assert systems.chosen(model, None).name == HE
    assert systems.chosen(source, None).name == "NUMAKER_M55M1"
    with pytest.raises(InputError, match="is compiled for ethos-u55-128, but NUMAKER_M55M1 has"):
        systems.chosen(model, "NUMAKER_M55M1")
    code, out, _ = ethosu("compile", source, "-o", model, "--json")
    assert code == 0 and json.loads(out)["latency"]["system"] == boards.DEFAULT
    assert ModelFile(model).board is None


def test_it_is_emulated_as_that_board(ethosu, small_models, tmp_path, monkeypatch):
    from ethosu_tools import remote

    asked = []
    real = remote.Machine
    monkeypatch.setattr(
        remote, "Machine", lambda *args, **more: asked.append(more["board"]) or real(*args, **more)
    )
    source, model = small_models["small_cnn"], tmp_path / "out.tflite"
    assert ethosu("compile", source, "--board", HE, "-o", model)[0] == 0
    assert ethosu("run", model, "--on", "qemu", "--reference", source)[0] == 0
    assert asked == [HE]
