# SPDX-License-Identifier: MIT
"""How many files a usual change touches: the rows of CONTRIBUTING.md, "Places to touch"."""

import re
import subprocess
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest
from ethosu_tools import boards, vela
from ethosu_tools.cli import discover

REPO = Path(__file__).resolve().parents[2]
SIM = REPO / "tools/npu_sim"
DRIVER = REPO / "modules/ethosu/driver"
KERNELS = REPO / "modules/ethosu/runtime/kernels"
CASES = REPO / "host_tests/modules/ethosu/runtime/kernels"
BOARDS = REPO / "boards"


def rows(path: Path, macro: str) -> list[str]:
    """First arguments of a macro in a table."""
    return re.findall(rf"^{macro}\((\w+)", path.read_text(), re.MULTILINE)


def naming(pattern: str, paths: Iterable[Path]) -> list[str]:
    return [
        path.name for path in paths if re.search(pattern, path.read_text(errors="ignore"), re.M)
    ]


@pytest.mark.parametrize("name", rows(KERNELS / "kernels.def", "KERNEL"))
def test_an_operator_for_the_cpu_is_three_files(name):
    assert len(naming(rf"^[A-Z_]+\({name}[,)]", KERNELS.glob("*.c"))) == 1
    assert len(naming(rf'"{name}"', CASES.glob("cases*.py"))) == 1


OPERATIONS = re.findall(
    r"^(?:OPERATION|CONTROL)\(.*, (npu_\w+)\)$", (SIM / "commands.def").read_text(), re.MULTILINE
)


def test_operations_are_found():
    assert len(OPERATIONS) >= 10


@pytest.mark.parametrize("function", sorted(set(OPERATIONS)))
def test_an_operation_of_the_simulator_is_two_files(function):
    sources = [*SIM.glob("*.[ch]"), *SIM.glob("*.def")]
    found = naming(rf"\b{function}\b", sources)
    assert len(found) == 2 and "commands.def" in found, found


def test_a_product_is_a_row_in_each_table():
    simulated = re.findall(r"^(U\d\d)\((\d+),", (SIM / "products.def").read_text(), re.MULTILINE)
    driven = re.findall(
        r"^ETHOSU_EXT_PRODUCT\((U\d\d), \d, (\d+),",
        (DRIVER / "ethosu_products.def").read_text(),
        re.MULTILINE,
    )
    compiled = [re.fullmatch(r"ethos-(u\d\d)-(\d+)", name).groups() for name in vela.NPUS]
    products = {(family, int(macs)) for family, macs in simulated}
    assert products == {(family, 1 << int(log2)) for family, log2 in driven}
    assert products == {(family.upper(), int(macs)) for family, macs in compiled}


@pytest.mark.parametrize("command", discover("commands"))
def test_a_command_is_one_file(command):
    tools = REPO / "tools/ethosu_tools"
    others = [path for path in tools.rglob("*.py") if path != tools / f"commands/{command}.py"]
    assert naming(rf"commands\.{command}\b|from \.+commands import .*\b{command}\b", others) == []


def test_a_reason_for_an_error_is_one_row():
    """Nothing but its users names it: numbers, sentences and errnos are in the table."""
    names = re.findall(
        r"^ETHOSU_EXT_ERROR\(\d+, (\w+),",
        (DRIVER / "include/ethosu_errors.def").read_text(),
        re.MULTILINE,
    )
    tables = [DRIVER / f"{name}.c" for name in ("ethosu_sentences", "ethosu_fault")]
    assert names
    assert [name for name in names if naming(rf"ETHOSU_EXT_E_{name}\b", tables)] == []


def board_names() -> list[str]:
    return sorted(path.parent.name for path in BOARDS.glob("*/board.toml"))


@pytest.mark.parametrize("board", board_names())
def test_a_board_is_one_folder_and_one_table_of_the_emulator(board):
    """No other source names it; which board is the default is said in one place."""
    listed = subprocess.run(
        ["git", "grep", "-lw", "--untracked", board, "--", ":!*.md", ":!host_tests"],
        cwd=REPO, capture_output=True, text=True,
    )  # fmt: skip
    named = [name for name in listed.stdout.splitlines() if not name.startswith(f"boards/{board}/")]
    names = {name for name in boards.names() if name.partition("-")[0] == board}
    expected = ["tools/ethosu_tools/board_files.py"] if boards.DEFAULT in names else []
    emulated = [name for name in named if name.startswith("tools/qemu_plugin/boards/")]
    assert len(emulated) == any(boards.load(name).qemu is not None for name in names)
    assert named == expected + emulated


@pytest.mark.parametrize("board", board_names())
def test_a_board_on_a_known_chip_is_one_file_and_a_page(board):
    files = {path.name for path in (BOARDS / board).iterdir()}
    assert {"README.md", "board.toml"} <= files
    if "chip" in tomllib.loads((BOARDS / board / "board.toml").read_text()):
        assert files <= {"README.md", "board.toml", "points.csv"}  # measured, where somebody has
