# SPDX-License-Identifier: MIT
"""Tests reading board.toml, its variants, and its errors."""

import argparse
import configparser
import copy
import functools
import json
import re
import struct

import pytest
from ethosu_tools import boards, cli
from ethosu_tools.base import paths
from ethosu_tools.base.errors import InputError, SetupError
from ethosu_tools.boards import facts, systems
from ethosu_tools.boards.facts import Span
from ethosu_tools.link.board import open_board
from ethosu_tools.model import ModelFile, romfs

from host_tests.kit import found, stand_ins

TOML = (
    stand_ins.BOARD
    + """\
[variants.fast]
clock_mhz = 400
romfs = { size = 0x2000 }
[variants.slow]
"""
)


@pytest.fixture
def folder(empty_tree):
    """Make a tree with one board that has two variants."""
    path = empty_tree / "boards/B/board.toml"
    path.parent.mkdir(parents=True)
    path.write_text(TOML)
    return path


def test_each_folder_with_a_board_is_found(repo):
    folders = {path.parent.name for path in repo.glob("boards/*/board.toml")}
    assert {name.partition("-")[0] for name in boards.names()} == folders
    for name in boards.names():
        assert boards.load(name).npus


def test_a_variant_overrides_entries_of_its_board(folder):
    assert boards.names() == ["B-fast", "B-slow"]
    fast, slow = boards.load("B-fast"), boards.load("B-slow")
    assert (fast.clock_mhz, fast.romfs) == (400, Span(0x1000, 0x2000))
    assert (slow.clock_mhz, slow.romfs) == (100, Span(0x1000, 0x1000))


@pytest.mark.parametrize("name", ["C", "B-", "B-odd", "../B-fast", "../B"])
def test_an_unknown_board_lists_the_known_ones(folder, name):
    with pytest.raises(InputError, match=r"unknown board .*expected one of B-fast, B-slow"):
        boards.load(name)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *(('title = "a board"\n', ""), ("start = 0x1000", "begin = 1"), ("npus = [", "npus = [[")),
        *(('npus = ["ethos-u55-128"]', "npus = 5"), ('npus = ["ethos-u55-128"]', 'npus = [["a"]]')),
        ("memories = []", "memories = []\nby_npu = 5"),
    ],
)
def test_a_wrong_file_is_named(folder, old, new):
    folder.write_text(TOML.replace(old, new))
    with pytest.raises(SetupError, match=r"board\.toml"):
        boards.load("B-slow")


def test_an_unknown_variant_lists_the_known_ones(folder):
    other = folder.parents[1] / "OTHER/board.toml"
    other.parent.mkdir()
    other.write_text(TOML)
    with pytest.raises(InputError, match=r"'B-odd'; expected one of B-fast, B-slow$"):
        boards.load("B-odd")


def test_a_folder_alone_means_its_usual_core(folder, monkeypatch):
    assert boards.load("B").name == boards.full_name("B") == "B-fast"
    assert boards.load("B").clock_mhz == 400
    monkeypatch.setenv(boards.VARIABLE, "B")
    assert boards.chosen().name == "B-fast"
    folder.write_text(stand_ins.BOARD)
    boards.forget()
    assert boards.load("B").name == "B"


REMARK = (
    "ethosu: OPENMV_AE3 is taken as OPENMV_AE3-M55_HP, its usual core; it also has "
    "OPENMV_AE3-M55_HE\n"
)
AE3 = "--board", "OPENMV_AE3"
# Each command that takes a board, with a way to see its core in the output.
WITH_A_BOARD = {
    "bisect": ("bisect", "MODEL", *AE3),
    "boards": ("boards", "OPENMV_AE3"),
    "check": ("check", "MODEL", *AE3),
    "compile": ("compile", "MODEL", *AE3, "-o", "OUT"),
    "doctor": ("doctor", "PORT", *AE3),
    "flash": ("flash", "OPENMV_AE3", "--dry-run"),
    "profile": ("profile", "MODEL", *AE3),
    "profile with another board": ("profile", "MODEL", "--other-board", "OPENMV_AE3"),
    "qemu": ("qemu", *AE3),
    "run": ("run", "MODEL", *AE3, "--on", "qemu"),
    "validate": ("validate", "MODEL", "SAMPLES", *AE3, "--on", "qemu"),
    **{words[0]: (*words, *AE3) for each in found.modules("command_rows") for words in each.BOARD},
}


def options(parser):
    """Return all actions, also of subcommands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from options(inner)


def takes_a_board(command):
    parser = argparse.ArgumentParser()
    cli.command_module(command).add_arguments(parser)
    return any("board" in action.dest for action in options(parser))


def test_each_command_that_takes_a_board_is_in_the_table():
    commands = {command for command in cli.discover() if takes_a_board(command)}
    assert commands == {words[0] for words in WITH_A_BOARD.values()}


@pytest.mark.parametrize("what", WITH_A_BOARD)
def test_every_command_takes_a_folder_as_its_usual_core(ethosu, monkeypatch, what):
    """A folder means its usual core, which a remark on stderr names, unless --quiet."""
    words, given = WITH_A_BOARD[what], []
    module = cli.command_module(words[0])
    monkeypatch.setattr(module, "execute", lambda args, _: given.append(vars(args)) or {})
    monkeypatch.setattr(module, "render", lambda _: "", raising=False)
    code, _, err = ethosu(*words)
    assert (code, err) == (0, REMARK)
    chosen = [each for key, each in given[0].items() if key in ("board", "other_board") and each]
    assert chosen == ["OPENMV_AE3-M55_HP"]
    assert ethosu(*words, "--quiet")[2] == ""
    assert ethosu(*(word.replace("AE3", "AE3-M55_HE") for word in words))[2] == ""
    assert "OPENMV_AE3-M55_HE" in given[-1].values()


def test_the_usual_core_is_what_is_compiled_and_estimated(ethosu, small_models, tmp_path):
    """compile uses the usual core, and writes its full name to the file and the results."""
    source, model = small_models["small_cnn"], tmp_path / "out.tflite"
    assert ethosu("compile", source, *AE3, "-o", model)[::2] == (0, REMARK)
    assert ModelFile(model).board == "OPENMV_AE3-M55_HP"
    code, out, err = ethosu("check", source, *AE3, "--json")
    (row,) = json.loads(out)["boards"]
    assert (code, err) == (0, REMARK) and row["board"] == ModelFile(model).board
    name = "OPENMV_AE3"  # from Python, as from ETHOSU_BOARD
    assert systems.find(name).name == "OPENMV_AE3-M55_HP"
    assert boards.blind_point(name) is None


def test_the_environment_chooses(folder, monkeypatch):
    monkeypatch.setenv(boards.VARIABLE, "B-slow")
    assert boards.chosen().name == "B-slow"
    assert boards.chosen("B-fast").name == "B-fast"


@pytest.mark.parametrize("name", boards.names())
def test_a_board_that_is_emulated_boots_with_its_rom(name):
    files = {"a.txt": b"hello"}
    if boards.load(name).qemu is None:
        with pytest.raises(InputError, match="is not emulated"):
            open_board("qemu", board=name)
        return
    with open_board("qemu", board=name) as board:
        assert board.eval("__import__('ethosu').npus()[0]") == boards.load(name).npus[0]
        board.machine.memory.write(board.machine.romfs.start, romfs.build(files))
        board.reset()
        assert board.eval("__import__('os').listdir('/rom')") == ["a.txt"]


FOR_VELA = [name for name in boards.names() if boards.load(name).vela]


@pytest.mark.parametrize("name", FOR_VELA)
def test_a_model_for_a_board_is_compiled_as_its_file_says(
    ethosu, inputs, small_models, tmp_path, name
):
    board, source, model = boards.load(name), small_models["small_cnn"], tmp_path / "model.tflite"
    code, out, err = ethosu("compile", source, "--board", name, "-o", model, "--json")
    assert code == 0, err
    data, ini = json.loads(out), configparser.ConfigParser()
    ini.read(boards.vela_facts(board).config)
    assert data["npu"] == board.npus[0]
    assert data["system_config"] == board.vela.system_config  # in Vela's words
    assert data["memory_mode"] == board.vela.memory_mode
    clock = ini[f"System_Config.{board.vela.system_config}"]["core_clock"]
    assert data["vela_estimate"]["clock_mhz"] == float(clock) / 1e6
    code, _, err = ethosu(
        *("run", model, "--on", "sim", "--input", inputs(source), "--reference", source)
    )
    assert code == 0, err


def test_boards_with_equal_settings_share_a_compilation():
    """Boards with equal settings share a compilation, as in `ethosu check`."""
    facts = {name: boards.vela_facts(boards.load(name)) for name in FOR_VELA}
    texts = {name: each.config.read_text() for name, each in facts.items()}
    for name, each in facts.items():
        assert f"[System_Config.{each.system_config}]" in texts[name]
        same = {other for other in facts if facts[other].config == each.config}
        assert same == {other for other in facts if texts[other] == texts[name]}
    assert facts["ALIF_ENSEMBLE_E7-M55_HP"] == facts["OPENMV_AE3-M55_HP"]


def test_a_board_is_not_compiled_for_with_another_npu(ethosu, small_models, tmp_path):
    model, output = small_models["small_cnn"], tmp_path / "out.tflite"
    words = "compile", model, "-o", output, "--board"
    code, _, err = ethosu(*words, "ALIF_ENSEMBLE_E7-M55_HP", "--npu", "ethos-u55-64")
    assert (code, output.exists()) == (2, False)
    assert "ALIF_ENSEMBLE_E7-M55_HP has ethos-u55-256, not ethos-u55-64" in err
    # The FPGA and the emulator support any NPU, but the file describes a system with an Ethos-U55.
    assert ethosu(*words, "MPS3_AN547", "--npu", "ethos-u55-64")[0] == 0
    code, _, err = ethosu(*words, "MPS3_AN547", "--npu", "ethos-u85-256")
    assert code == 2 and "MPS3_AN547 has ethos-u55-128, not ethos-u85-256" in err


def segments(image):
    """Return address and bytes of an ELF file's segments."""
    (table,) = struct.unpack_from("<I", image, 28)
    size, count = struct.unpack_from("<HH", image, 42)
    for at in range(count):
        kind, start, _, address, length = struct.unpack_from("<5I", image, table + at * size)
        if kind == 1 and length:
            yield address, image[start : start + length]


@pytest.mark.parametrize("name", [name for name in boards.names() if boards.load(name).flash])
def test_an_image_is_flashed_where_it_was_linked(name):
    elf = paths.firmware(name)
    loaded = sorted(segments(elf.read_bytes()))
    for way, settings in boards.load(name).flash.items():
        if "address" in settings:
            assert settings["address"] == loaded[0][0], way
            flat = elf.with_suffix(".bin").read_bytes()
            for address, data in loaded:
                assert flat[address - loaded[0][0] :].startswith(data)


def test_boards_are_listed(ethosu, folder):
    code, out, _ = ethosu("boards", "--json")
    rows = {row["name"]: row for row in json.loads(out)["boards"]}
    assert code == 0 and list(rows) == ["B-fast", "B-slow"]
    assert rows["B-fast"] | {"clock_mhz": 400, "proof": "never ran", "flash": []} == rows["B-fast"]
    folder.write_text(f"silicon = true\nmissing = ['clock']\n{TOML}")
    boards.forget()
    out = ethosu("boards")[1]
    assert "silicon" in out and "B-fast, B-slow: not available\n  clock" in out
    folder.unlink()
    boards.forget()
    code, _, err = ethosu("boards")
    assert code == 4 and "set ETHOSU_ROOT" in err


def test_a_board_is_emulated_if_its_image_was_seen_to_run(folder):
    """A board counts as emulated if its image has run, not if its file only says how."""
    span = "{ start = 0, size = 4096 }"
    table = f'[qemu]\nmachine = "none"\npage = 0\npage_irq = 3\nwindow = {span}\nmemories = {{}}\n'
    for words, proof in (("", "never ran"), ("emulated = true\n", "emulated")):
        folder.write_text(f"{words}{TOML}{table}")
        boards.forget()
        assert boards.load("B-fast").qemu and boards.load("B-fast").proof == proof


def test_every_emulated_board_has_an_emulation():
    assert all(board.qemu for board in boards.every() if board.emulated)


def tables(value, path=()):
    """Yield each table below a value, with its path."""
    if isinstance(value, dict):
        yield path, value
    rows = value.items() if isinstance(value, dict) else enumerate(value)
    for key, row in rows:
        if isinstance(row, dict | list):
            yield from tables(row, (*path, key))


# Tables whose keys are names: a board's constants, registers of an NPU, settings of ways to flash.
FREE = {"define", "settings", "regions", "flash", "by_npu", "memories", "weights"}


@pytest.mark.parametrize("name", boards.names())
def test_a_misspelt_entry_is_refused_in_every_table_of_a_board(name):
    """A misspelt entry is refused; otherwise, a default would silently replace it."""
    checked = 0
    for path, _ in tables(boards.table(name)):
        if path and (path[-1] in FREE or path[0] in ("flash", "variants")):
            continue
        table = copy.deepcopy(boards.table(name))
        functools.reduce(lambda inner, key: inner[key], path, table)["misspelt"] = 1
        with pytest.raises(ValueError, match="unknown entry 'misspelt', expected"):
            facts.of_table(name, table)
        checked += 1
    assert checked > 8


@pytest.mark.parametrize(
    ("entry", "value", "said"),
    [
        ("clock_mhz", "100", "clock_mhz is '100', expected a whole number"),
        ("clock_mhz", True, "clock_mhz is True, expected a whole number"),
        ("npus", "ethos-u55-128", "npus is 'ethos-u55-128', expected a list"),
        ("heap", [0, 1], "heap is [0, 1], expected a table"),
        ("heap", {"start": 0}, "heap has no entry 'size'"),
        ("missing", [3], "missing[0] is 3, expected a text"),
        ("bin", "yes", "bin is 'yes', expected true or false"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_expected(entry, value, said):
    table = boards.table("MPS3_AN547") | {entry: value}
    with pytest.raises(ValueError, match=re.escape(said)):
        facts.of_table("MPS3_AN547", table)
