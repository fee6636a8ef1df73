# SPDX-License-Identifier: MIT
"""Models that do not fit a board, or cannot run on it, are rejected before anything is written;
the tools' facts about boards match their images and interpreters."""

import json
from dataclasses import replace

import pytest
from ethosu_tools import boards
from ethosu_tools.base import ui
from ethosu_tools.base.errors import InputError, RemoteError
from ethosu_tools.boards import systems
from ethosu_tools.boards.setup import emulated
from ethosu_tools.commands import deploy
from ethosu_tools.compile import load
from ethosu_tools.debug import remedies
from ethosu_tools.link.board import Board, QemuBoard
from ethosu_tools.link.deploy import free_room
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import ModelFile, make_model, romfs
from ethosu_tools.sim import fit, latency
from ethosu_tools.sim.fit import Status
from ethosu_tools.sim.need import Need

from host_tests.kit import firmware_image, stand_ins
from host_tests.kit.models import mixed_models

HE = "ALIF_ENSEMBLE_E7-M55_HE"


def need_of(npu, heap, image, fast=0, constants=0):
    return Need(npu, heap, 0, fast, image, image, constants)


def save(net, output, path):
    path.write_bytes(net.finish(output))
    return path


@pytest.fixture(scope="module")
def too_large(tmp_path_factory):
    """Return models whose arena or file is too large for 2 MB of heap and 0.9 MB of /rom."""
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
    """The computed heap is never more than the interpreter's, and at most 1 % less."""
    room = fit.room_of(machine.board)
    with Board(machine.port) as board:
        board.soft_reset()
        asked = free_room(board)
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
    assert ("CONV_2D" in err) == ("may reduce the arena" in err) == (what == "arena")
    assert ("clustered weights" in err) == (what == "file")
    assert "it was compiled again, and does not fit either with --vela='--optimise Size'" in err
    if what == "file":
        code, out, _ = ethosu(*words, "--force")
        assert code == 0 and "fits       no: its file needs" in out and output.exists()


def test_the_size_of_a_fitting_model_is_printed(ethosu, small_models, tmp_path):
    output = tmp_path / "out.tflite"
    code, out, _ = ethosu("compile", small_models["small_cnn"], "--board", HE, "-o", output)
    assert (
        code == 0
        and f"fits       {HE}: arena and the runtime's tables " in out
        and "file as an image " in out
    )
    found = fit.check(Need.of(output), fit.room_of(boards.load(HE)))
    assert (
        not found.short and output.stat().st_size < found.need.image < output.stat().st_size + 100
    )


def test_the_sizes_decide_to_the_byte():
    room = fit.Room("a board", ("ethos-u55-128",), 1000, 2000)
    assert not fit.check(need_of("ethos-u55-128", 1000, 2000), room).short
    assert not fit.check(need_of(None, 1, 1), room).short
    short = fit.check(need_of("ethos-u55-64", 1001, 2003), room).short
    assert ["1 too few" in each for each in short] == [False, True, False]
    assert short[0].endswith("has ethos-u55-128: compile it with --npu ethos-u55-128")
    assert "3 too few" in short[2]


def test_the_status_says_why():
    room = fit.Room("a board", ("ethos-u55-128",), 1000, 2000)
    for npu, heap, expected in (
        ("ethos-u55-128", 1000, Status.RUNS),
        (None, 1000, Status.RUNS),
        ("ethos-u55-128", 1001, Status.TOO_LARGE),
        ("ethos-u55-64", 1000, Status.OTHER_NPU),
        ("ethos-u55-64", 1001, Status.OTHER_NPU),
    ):
        found = fit.check(need_of(npu, heap, 1), room)
        assert found.status == found.as_dict()["status"] == expected
    with pytest.raises(AssertionError):
        replace(found, status=Status.RUNS)
    with pytest.raises(AssertionError):
        replace(found, short=())


@pytest.mark.parametrize("change", [{"fast": 11}, {"constants": 21}, {"file": 31}, {"image": 19}])
def test_needs_that_cannot_be_are_refused(change):
    need = Need(None, 6, 4, 10, 20, 30, 20)
    assert need.heap == 10
    with pytest.raises(AssertionError):
        replace(need, **change)


def test_streams_that_share_constants_need_them_once(tmp_path, compiled):
    """Constants that streams share count once in size and latency; the file is unchanged."""
    shared = 0
    for name in mixed_models.MODELS:
        source = with_cpu_operators(name, tmp_path)
        model = load.prepare(ModelFile(source), ModelFile(compiled(source)))[0]
        operators = model.description.npu_operators
        if not operators:
            continue
        places = {each.constants_at for each in operators}
        need = Need.of(model)
        assert need.constants == sum(
            max(each.constant_bytes for each in operators if each.constants_at == place)
            for place in places
        )
        assert need.file == len(model.data) and need.constants < need.file
        shared += len(places) < len(operators)
        estimate = latency.estimate(model, systems.find("MPS3_AN547"))
        assert 0 < estimate.low_ms <= estimate.milliseconds
        assert estimate.frames == (1e3 / estimate.low_ms, True)
    assert shared > 1


def test_weights_in_the_heap_take_their_bytes_of_it(ethosu, too_large):
    """Weights in the heap count there: 1 MB beside 1 MB of heap is not proposed for SRAM."""
    words = "check", too_large["file"], "--board", "NUMAKER_M55M1", "--json"
    found = [json.loads(ethosu(*words, *more)[1]) for more in ((), ("--weights", "SRAM"))]
    in_flash, in_heap = (each["boards"][0] for each in found)
    assert in_heap["used"]["heap"] == in_flash["used"]["heap"] + in_flash["need"]["file"]
    assert in_heap["lacks"]["heap"] and "heap" not in in_flash["lacks"]
    assert in_heap["estimate"]["ms"] < in_flash["estimate"]["ms"]
    assert not [change for change in found[0]["faster"] if "weights in SRAM" in change]
    room = fit.room_of(boards.load("NUMAKER_M55M1"))
    for missing in (0, 1):
        need = need_of(None, room.left - 99 + missing, 99)
        found = fit.check(need, room, in_heap=True)
        assert found.lacks == ({"heap": 1} if missing else {})


def test_what_is_reserved_is_not_for_the_model():
    """Reserved heap is not for the model; messages give the heap and the reserved part."""
    room = fit.Room("a board", (), 1000, None, reserve=300)
    assert not fit.check(need_of(None, 700, 1), room).short
    found = fit.check(need_of(None, 701, 1), room)
    assert found.lacks == {"heap": 1}
    (said,) = found.short
    assert said.endswith("but a board has 1,000 less 300 reserved (1 too few)")
    assert fit.check(need_of(None, 1, 1), replace(room, reserve=5000)).lacks == {"heap": 4001}
    assert "700 of 1,000 bytes of heap, 300 reserved (70%)" in fit.describe(
        fit.check(need_of(None, 700, 1), room).as_dict()
    )


def test_fast_scratch_is_in_fast_memory_where_the_npu_has_it():
    """Fast scratch in the NPU's fast memory is not a part of the arena, as in the runtime."""
    npu = "ethos-u85-256"
    need = need_of(npu, 1000, 1, fast=400)
    room = fit.Room("a board", (npu, "ethos-u55-128"), 600, None, {npu: 400})
    assert not fit.check(need, room).short
    assert (
        "arena and the runtime's tables 600 of 600 bytes of heap (100%), fast scratch 400 of"
        in (fit.describe(fit.check(need, room).as_dict()))
    )
    small = fit.check(need, replace(room, fast={npu: 399}))
    assert (
        small.lacks == {"fast": 1}
        and "400 bytes of fast memory, but a board has 399" in (small.short[0])
    )
    assert fit.check(replace(need, npu="ethos-u55-128"), room).lacks == {"heap": 400}
    assert fit.check(need, replace(room, fast={})).lacks == {"heap": 400}


def test_fast_memory_is_that_of_board_toml(empty_tree):
    path = empty_tree / "boards/B/board.toml"
    path.parent.mkdir(parents=True)
    rows = "{ base = 0, irq = 1 }, { base = 0, irq = 1, fast_memory = { start = 0, size = 4096 } }"
    heap = "heap = { start = 0, size = 0x100000 }\n"
    npus = 'npus = ["ethos-u55-128", "ethos-u85-256"]'
    text = stand_ins.BOARD.replace('npus = ["ethos-u55-128"]', npus)
    text = text.replace("{ base = 0x40000000, irq = 1 }", rows)
    path.write_text(f"{text}{heap}")
    assert fit.room_of(boards.load("B")).fast == {"ethos-u85-256": 4096}


def test_a_file_that_is_too_large_for_rom_says_how_much_of_it_are_constants():
    room, need = fit.Room("a board", (), 9, 1000), need_of(None, 1, 1500, constants=1300)
    (said,) = fit.check(need, room).short
    assert said.startswith("its file needs 1,500 bytes of /rom, 1,300 of them constants, but")


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("300000", 300000), ("300K", 300 << 10), ("1m", 1 << 20)]
)
def test_sizes_are_bytes_kilobytes_or_megabytes(text, size):
    assert ui.size(text) == size


@pytest.mark.parametrize("text", ["", "K", "-1", "1.5M", "1G", "1 K", "0x10", "\u0663"])
def test_other_sizes_are_refused(ethosu, text):
    code, _, err = ethosu("check", "m.tflite", f"--reserve={text}")
    assert code == 2 and "such as 300000, 300K or 1M" in err


def with_cpu_operators(name, folder):
    path = folder / f"{name}.tflite"
    path.write_bytes(mixed_models.MODELS[name].make())
    return path


@pytest.fixture(scope="module")
def expanding(tmp_path_factory):
    """Make a model whose arena is several times smaller if layers are computed in stripes."""
    net = make_model.Net("expanding", 1)
    x = net.conv(net.input((1, 64, 64, 8)), 64, (1, 1))
    x = net.conv(net.depthwise(x, (3, 3)), 8, (1, 1))
    path = tmp_path_factory.mktemp("expanding") / "expanding.tflite"
    return save(net, x, path)


def test_the_remedies_of_compile_were_tried(ethosu, expanding, tmp_path):
    """Remedies were tried: following them works, and with a byte less they are not offered."""
    output = tmp_path / "out.tflite"
    words = "compile", expanding, "--board", HE, "-o", output
    size = "--vela=--optimise Size"
    needs = [
        json.loads(ethosu(*words, "--force", "--json", *more)[1])["fit"]["need"]["heap"]
        for more in ((), (size,))
    ]
    assert needs[1] < needs[0] / 2
    room = fit.room_of(boards.load(HE)).heap
    output.write_bytes(b"old")
    enough, too_little = (f"--reserve={room - needs[1] + missing}" for missing in (0, 1))
    code, _, err = ethosu(*words, enough)
    assert code == 3 and output.read_bytes() == b"old"
    helps = f"fits with --vela='--optimise Size' ({needs[1]:,} bytes of heap"
    assert helps in err and "may reduce the arena" in err and "--memory-mode Sram_Only" in err
    code, out, err = ethosu(*words, enough, size)
    assert code == 0 and "fits       ALIF" in out, err
    code, _, err = ethosu(*words, too_little)
    assert code == 3 and helps not in err
    assert "does not fit either with --vela='--optimise Size', with --memory-mode Sram_Only" in err
    code, _, err = ethosu(*words, too_little, size)
    assert code == 3 and "does not fit either with --memory-mode Sram_Only; it fits " in err


def test_another_npu_and_a_smaller_file_are_tried():
    """Each change that the board allows is tried once; those Vela rejects are omitted."""

    def make(change):
        if change.mode == "Dedicated_Sram":
            raise InputError("no")
        made.append(str(change))
        return replace(need, file=999, image=999) if not change.table else need

    made, need = [], need_of("ethos-u85-256", 1, 1001)
    board = boards.load("ALIF_ENSEMBLE_E8-M55_HP", "ethos-u85-256")
    found = fit.check(need, fit.Room("a board", board.npus, 10, 1000))
    said = remedies.tried(found, board, make, npu="ethos-u85-256")
    assert said.endswith("and fits with --strip (1 bytes of heap, 999 of /rom)")
    size, mode = "--vela='--optimise Size'", "--memory-mode Sram_Only"
    expected = ["--strip", size, mode, f"{mode} {size}", "--npu ethos-u55-256"]
    assert made == expected
    made.clear()
    found = fit.check(replace(need, arena=11), fit.Room("a board", board.npus, 10, 1000))
    said = remedies.tried(found, board, make, npu="ethos-u85-256", given="--optimise Size")
    assert made == [mode, "--npu ethos-u55-256"]
    assert said.endswith(f"does not fit either with {mode}, with --npu ethos-u55-256")


def test_what_cannot_be_reserved_is_refused(ethosu, small_models, tmp_path):
    model = small_models["small_cnn"]
    code, _, err = ethosu("compile", model, "--reserve=1K", "-o", tmp_path / "out.tflite")
    assert code == 2 and "name the board with --board" in err
    code, _, err = ethosu("check", model, "--board", "RA8P1", "--reserve=1K")
    assert code == 2 and "RA8P1 has no known heap" in err


def test_the_estimate_plans_operators_of_the_cpu(ethosu, tmp_path):
    """Scratch and state of CPU operators, which Vela's output lacks, are in the estimate."""
    for name in ("svdf", "detection"):
        code, _, err = ethosu("profile", with_cpu_operators(name, tmp_path), "--board", HE)
        assert code == 0, err


@pytest.fixture(scope="module")
def machine():
    with Machine(emulated(boards.DEFAULT)) as machine:
        yield machine


def rom_of(machine):
    return machine.memory.read(machine.romfs.start, 64)


def test_a_model_that_fits_loads_beside_what_is_reserved(machine, compiled, expanding):
    """A fitting model loads beside reserved heap, of which at most 4 KB are fragmented."""
    model, room = compiled(expanding), fit.room_of(machine.board)
    need = Need.of(model)
    machine.memory.write(machine.romfs.start, romfs.build({"m.tflite": model.read_bytes()}))
    load = "import ethosu\nm = ethosu.Model('/rom/m.tflite')\nm.run_into()\n_answer = m.ram\n"
    with Board(machine.port) as board:
        for more in (0, 256 * 1024):
            board.soft_reset()
            reserve = room.heap - need.heap + more
            assert bool(fit.check(need, replace(room, reserve=reserve)).short) == bool(more)
            program = f"kept = bytearray({reserve - 4096})\n{load}"
            if more:
                with pytest.raises(RemoteError, match="MemoryError"):
                    board.exec(program)
            else:
                assert board.ask(program) <= need.heap


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
    """deploy refuses what the board would, with exit code 3, and writes nothing."""
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
    """The deploy itself checks that all files together fit, even with --force."""
    monkeypatch.setattr(deploy, "free_room", lambda _: fit.Room("a board", (), 1000, 2000))
    need = need_of(None, 1000, 2001)
    assert [*deploy._check_board(None, {"m": need}, force=False)] == []
    with pytest.raises(InputError, match="1 too few"):
        [*deploy._check_board(None, {"m": replace(need, arena=1001)}, force=False)]


def test_a_firmware_without_our_module_is_not_queried(small_models, compiled, monkeypatch):
    monkeypatch.setattr("ethosu_tools.link.deploy._FREE", "_answer = None, 1000, None")
    need = Need.of(compiled(small_models["small_cnn"]))
    with QemuBoard(Machine(emulated(boards.DEFAULT))) as board:
        (warning,) = deploy._check_board(board, {"m": need}, force=False)
    assert "the firmware has no module ethosu" in warning


def test_the_file_names_its_board(ethosu, small_models, tmp_path, monkeypatch):
    """Each command uses the board that the file names, unless an option names another."""
    source, model = small_models["small_cnn"], tmp_path / "out.tflite"
    assert ethosu("compile", source, "--board", HE, "-o", model)[0] == 0
    code, out, err = ethosu("profile", model, "--json")
    assert code == 0 and json.loads(out)["system"] == HE, err
    words = "--memory-mode", "Sram_Only", "-o", model
    assert ethosu("compile", source, "--board", HE, *words)[0] == 0
    assert ModelFile(model).board == HE
    monkeypatch.delenv(boards.VARIABLE, raising=False)
    code, out, _ = ethosu("compile", source, "-o", model, "--json")
    assert code == 0 and json.loads(out)["latency"]["system"] == boards.DEFAULT
    assert ModelFile(model).board is None


def test_it_is_emulated_as_that_board(ethosu, small_models, tmp_path, monkeypatch):
    from ethosu_tools.link import remote

    asked = []
    real = remote.Machine
    monkeypatch.setattr(
        remote, "Machine", lambda *args, **more: asked.append(args[0].name) or real(*args, **more)
    )
    source, model = small_models["small_cnn"], tmp_path / "out.tflite"
    assert ethosu("compile", source, "--board", HE, "-o", model)[0] == 0
    assert ethosu("run", model, "--on", "qemu", "--reference", source)[0] == 0
    assert asked == [HE]
