# SPDX-License-Identifier: MIT
"""All commands resolve the board in the same order, with the same answer."""

import json
import re
from dataclasses import replace

import pytest
from ethosu_tools import boards
from ethosu_tools.base.errors import InputError, UsageError
from ethosu_tools.boards import coherence, setup
from ethosu_tools.boards.setup import Why
from ethosu_tools.model import BOARD, ModelFile
from ethosu_tools.model.tflite.metadata import put

GROVE, E7, E8 = "GROVE_VISION_AI_V2", "ALIF_ENSEMBLE_E7-M55_HP", "ALIF_ENSEMBLE_E8-M55_HP"
U55_64, U55_128, U55_256, U85_256, U65 = (
    "ethos-u55-64", "ethos-u55-128", "ethos-u55-256", "ethos-u85-256", "ethos-u65-256",
)  # fmt: skip


@pytest.fixture
def no_variable(monkeypatch):
    """Remove the board from the environment, as for a user."""
    monkeypatch.delenv(boards.VARIABLE, raising=False)


@pytest.fixture
def file(compiled, small_models):
    """Make a compiled model for an NPU, which may name its board."""

    def make(npu, board=None):
        data = compiled(small_models["small_cnn"], npu).read_bytes()
        return ModelFile(put(data, {BOARD: board.encode()}) if board else data)

    return make


@pytest.mark.parametrize(
    ("npu", "noted", "variable", "option", "name", "why"),
    [
        (U55_128, None, None, None, boards.DEFAULT, Why.DEFAULT),
        (U55_64, None, None, None, GROVE, Why.FIRST),
        (U55_256, None, None, None, E7, Why.FIRST),
        (U85_256, None, None, None, E8, Why.FIRST),
        (U65, None, None, None, boards.DEFAULT, Why.EMULATOR),
        (U55_256, None, "NUMAKER_M55M1", None, "NUMAKER_M55M1", Why.VARIABLE),
        (U55_64, None, "NUMAKER_M55M1", None, GROVE, Why.FIRST),
        (U55_64, None, boards.DEFAULT, None, GROVE, Why.FIRST),
        (U55_256, E8, "NUMAKER_M55M1", None, E8, Why.FILE),
        (U55_256, "GONE", "NUMAKER_M55M1", None, "NUMAKER_M55M1", Why.VARIABLE),
        (U55_256, E8, "NUMAKER_M55M1", "OPENMV_AE3", "OPENMV_AE3-M55_HP", Why.OPTION),
        (U55_64, None, None, boards.DEFAULT, boards.DEFAULT, Why.OPTION),
        (U55_256, None, None, "RA8P1", "RA8P1", Why.OPTION),
    ],
)
def test_the_order(monkeypatch, no_variable, file, npu, noted, variable, option, name, why):
    if variable:
        monkeypatch.setenv(boards.VARIABLE, variable)
    found = setup.resolve(file(npu, noted), option)
    assert (found.name, found.npu, found.why) == (name, npu, why)
    own = name in boards.chips() or npu in boards.load(name).npus
    assert found.own_npu == own
    assert bool(found.remark) == (why is Why.FIRST or not own)
    assert (found.system.name, found.system.npu) == (name, npu)


def test_an_npu_that_the_board_has_not_is_refused(no_variable, file):
    with pytest.raises(InputError, match=f"compiled for {U55_64}, but {E7} has {U55_256}"):
        setup.resolve(file(U55_64), E7)
    with pytest.raises(UsageError, match=f"{E7} has {U55_256}, not {U55_64}"):
        setup.resolve(None, E7, U55_64)
    with pytest.raises(UsageError, match=f"compiled for {U55_64}, not for {U55_128}"):
        setup.resolve(file(U55_64), None, U55_128)
    assert setup.resolve(None, None, U55_64).name == GROVE, "a model is compiled for it"


def test_a_setup_that_cannot_be_is_none():
    right = setup.resolve(None, E7)
    for wrong in (
        {"npu": "ethos-u55-1"},
        {"npu": U55_64},
        {"own_npu": False},
        {"name": GROVE},
        {"facts": None},
    ):
        with pytest.raises(AssertionError):
            replace(right, **wrong)


@pytest.mark.parametrize(
    ("board", "noted", "npu", "name", "emulated_npu"),
    [
        (None, None, U55_64, boards.DEFAULT, U55_64),
        (None, E8, U85_256, E8, U85_256),
        (E8, None, U85_256, E8, U85_256),
        (GROVE, E8, U55_256, GROVE, U55_64),
        (boards.DEFAULT, E8, U65, boards.DEFAULT, U65),
    ],
)
def test_an_emulated_board_has_the_files_npu(
    no_variable, file, board, noted, npu, name, emulated_npu
):
    """An emulated board gets the file's NPU, or the runtime's error names both NPUs."""
    found = setup.emulated(board, file=file(npu, noted))
    assert (found.name, found.npu) == (name, emulated_npu)


def test_what_the_environment_sets_is_read_once(monkeypatch):
    monkeypatch.setenv(coherence.VARIABLE, "strict")
    monkeypatch.setenv(setup.AS_CHIP_VARIABLE, "yes")
    found = setup.emulated()
    monkeypatch.setenv(coherence.VARIABLE, "off")
    monkeypatch.delenv(setup.AS_CHIP_VARIABLE)
    assert (found.coherence, found.as_chip) == ("strict", True)
    assert setup.emulated(coherence="off", as_chip=False).coherence == "off"
    monkeypatch.setenv(coherence.VARIABLE, "wrong")
    with pytest.raises(InputError, match="expected off, strict or evict:SEED"):
        setup.emulated()
    with pytest.raises(UsageError, match=f"{GROVE} has {U55_64}, not {U65}"):
        setup.emulated(GROVE, U65)


def test_a_chip_is_no_board():
    with pytest.raises(InputError, match="RA8P1 is a chip without a board here"):
        _ = setup.resolve(None, "RA8P1").board


def answers(ethosu, path, *words):
    """Return each command's board, and whether each board runs the file."""

    def said(*command):
        code, out, err = ethosu(*command, *words, "--json")
        assert code == 0, out + err
        return json.loads(out)

    check = said("check", path)
    rows = {each["board"]: each["runs"] for each in check["boards"]}
    assert len(rows) == len(check["boards"]), "one row for each board"
    return rows, said("profile", path, "--on", "sim")["system"]


def test_all_commands_mean_the_same_board(no_variable, ethosu, compiled, small_models):
    path = compiled(small_models["small_cnn"], U55_64)
    rows, chosen = answers(ethosu, path)
    assert chosen == GROVE and rows == {name: name == GROVE for name in boards.names()}
    _, _, err = ethosu("profile", path)
    assert err == f"ethosu: {GROVE} is taken, the first board that has {U55_64}\n"


def test_the_npu_of_an_emulator_counts_if_it_is_named(ethosu, compiled, small_models):
    path = compiled(small_models["small_cnn"], U55_64)
    rows, chosen = answers(ethosu, path, "--board", boards.DEFAULT)
    assert chosen == boards.DEFAULT and rows == {boards.DEFAULT: True}
    for command in ("profile", "check"):
        _, _, err = ethosu(command, path, "--board", boards.DEFAULT)
        said = f"{boards.DEFAULT} has {U55_128}: only its emulator has {U55_64}"
        assert err == f"ethosu: {said}\n", command


def test_boards_are_looked_up_by_the_commands_alone(repo):
    """Only commands, `boards` and the pool of `testing` look boards up; others take a setup."""
    look_up = re.compile(r"\bboards\.(load|chosen|names|noted|machine)\(|\bany_npu\b")
    root = repo / "tools/ethosu_tools"
    found = {
        str(path.relative_to(root))
        for room in ("model", "sim", "compile", "link", "answers", "debug")
        for path in (root / room).rglob("*.py")
        if look_up.search(path.read_text())
    }
    assert not found
