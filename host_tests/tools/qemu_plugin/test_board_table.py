# SPDX-License-Identifier: MIT
"""Output of board_table.py for the files of emulated boards."""

import re
import tomllib

import pytest
from ethosu_tools import boards

from host_tests.kit import sharing

TOML = """
machine = "none"
vectors = 0
irqs = 8
clock_hz = 1
[memories]
A = { kind = "ram", block = "a", base = 0, size = 16 }
[registers]
r = { base = 0, size = 16 }
[uart]
kind = "16550"
[npus.npu]
base = 0x40
irq = 1
[parts.one]
npus.npu = { irq = 2, config = "ethos-u55-64" }
memories.B = { kind = "tcm", base = 32, alias = 64, size = 16 }
[parts.two]
memories.B.size = 48
[boards.X-ONE]
parts = ["one", "two"]
memories.A = { size = 32 }
"""


@pytest.fixture
def program(repo):
    return sharing.script(repo / "tools/qemu_plugin/board_table.py")


def test_a_board_overrides_its_parts_and_those_the_file(program, tmp_path):
    (tmp_path / "x.toml").write_text(TOML)
    text = program.source(tmp_path)
    assert '{.argument = "npu", .base = 0x40, .irq = 0x2, .preset = "ethos-u55-64"}' in text
    a, b = re.findall(r"\{\.access = ([^,]*), \.name = \"(\w)\"", text)
    assert (a[1], b[1]) == ("A", "B") and "BUS_AT_ALIAS" in b[0] and "BUS_AT_ALIAS" not in a[0]
    assert '.blocks = {"a"}, .base = 0x0, .size = 0x20}' in text
    assert ".base = 0x20, .alias = 0x40, .size = 0x30}" in text


def test_the_default_board_is_the_first(program, repo):
    names = [name for name, _ in program.tables(repo / "tools/qemu_plugin/boards")]
    assert names[0] == boards.DEFAULT
    emulated = {board.name for board in boards.every() if board.qemu}
    assert set(names) - {"VIRT"} == emulated | set(boards.machines())


def test_an_unknown_kind_of_memory_is_refused(program, tmp_path):
    (tmp_path / "x.toml").write_text(TOML.replace('"tcm"', '"rom2"'))
    with pytest.raises(KeyError, match="rom2"):
        program.source(tmp_path)


@pytest.mark.parametrize("kind", ["350", "dw", "pl330"])
def test_a_column_that_a_controller_does_not_check_is_refused(program, tmp_path, kind):
    """Only the PL081 is modelled as a bus master that is not secure."""
    path = tmp_path / "x.toml"
    gate = "{ address = 64, mask = 1, value = 1 }"
    dma = f'[dma]\nkind = "pl081"\nbase = 0x80\nirq = 3\nmaster = {gate}\n'
    path.write_text(TOML.replace("[npus.npu]", dma + "[npus.npu]"))
    assert ".master = {.all = {{.address = 0x40" in program.source(tmp_path)
    path.write_text(path.read_text().replace("pl081", kind))
    expected = rf"X-ONE: \[dma\] has `master`, expected of kind 'pl081' only, found '{kind}'"
    with pytest.raises(ValueError, match=expected):
        program.source(tmp_path)


def test_a_protection_without_a_controller_is_refused(program, tmp_path):
    """Only that of a flash behind its controller is modelled."""
    path = tmp_path / "x.toml"
    gate = "{ address = 64, mask = 1, value = 1 }"
    row = f"[parts.two]\nmemories.B.protection = {gate}\n"
    path.write_text(TOML.replace("[parts.two]\n", row))
    with pytest.raises(
        ValueError, match=r"X-ONE: memory 'B' has `protection`, expected with `xip`"
    ):
        program.source(tmp_path)
    path.write_text(path.read_text().replace(row, f"{row}memories.B.xip = {gate}\n"))
    assert ".protection = {.all = {{.address = 0x40" in program.source(tmp_path)


# Entries whose keys are names and addresses.
NAMED = {"memories", "npus", "registers", "boards", "parts", "devices", "after_reset"}


def entries(given: object, *, named: bool = False) -> set[str]:
    """All keys of a table, but those that are names."""
    if isinstance(given, list):
        return set().union(*map(entries, given))
    if not isinstance(given, dict):
        return set()
    below = (entries(each, named=key in NAMED and not named) for key, each in given.items())
    return set().union(() if named else given, *below)


def test_the_page_explains_each_entry(repo):
    folder = repo / "tools/qemu_plugin"
    page = (folder / "README.md").read_text().partition("\n## Tables of boards\n")[2]
    page = page.partition("\n## ")[0]
    known = set(re.findall(r"`\[?(\w+)\]?`", page))
    used = entries([tomllib.loads(path.read_text()) for path in folder.glob("boards/*.toml")])
    assert {"protection", "m0", "stage", "mask"} <= used, "it looks into rows"
    assert used - known == set()


ONE, OTHER = {"address": 64, "mask": 1, "value": 1}, {"address": 68, "mask": 2, "value": 0}


@pytest.mark.parametrize(
    ("given", "rows"),
    [
        (ONE, "{{.address = 0x40, .mask = 0x1, .value = 0x1}}"),
        (
            [ONE, OTHER],
            "{{.address = 0x40, .mask = 0x1, .value = 0x1}, "
            "{.address = 0x44, .mask = 0x2, .value = 0x0}}",
        ),
        ("never", "{{.mask = 0x0, .value = 0x1}}"),
    ],
    ids=["one", "several", "never"],
)
def test_a_memory_has_gates(program, given, rows):
    row = {"kind": "ram", "block": "x", "base": 0, "size": 16, "power": given}
    assert f", .power = {{.all = {rows}}}}}" in program.memory("X", row)


def test_a_memory_that_is_on_has_none(program):
    row = {"kind": "ram", "block": "x", "base": 0, "size": 16, "power": "on"}
    assert "power" not in program.memory("X", row)


def test_registers_have_their_values_after_a_reset(program, tmp_path):
    (tmp_path / "x.toml").write_text(TOML.replace("[uart]", "[after_reset]\n0x20 = 3\n[uart]"))
    assert "{{.address = 0x20, .value = 0x3}}" in program.source(tmp_path)


def test_a_board_starts_at_an_address_or_at_its_image_s_first_section(program, tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(TOML)
    assert ".vectors = 0x0" in program.source(tmp_path)
    path.write_text(TOML.replace("vectors = 0\n", 'start = "first section"\n'))
    assert ".starts_first_section = true" in program.source(tmp_path)
    path.write_text(TOML.replace("vectors = 0\n", 'start = "entry"\n'))
    with pytest.raises(ValueError, match="start is 'entry', expected 'first section'"):
        program.source(tmp_path)


@pytest.mark.parametrize("kind", ["ram", "tcm", "rom"])
def test_a_memory_that_keeps_nothing_has_no_part_that_does(program, tmp_path, kind):
    """Without the refusal a board that needs it keeps nothing, and no message says why."""
    path = tmp_path / "x.toml"
    path.write_text(TOML.replace("[parts.two]\n", "[parts.two]\nmemories.B.kept_from = 16\n"))
    for name in ("kept", "mram"):
        path.write_text(path.read_text().replace('kind = "tcm"', f'kind = "{name}"'))
        assert ".kept_from = 0x10" in program.source(tmp_path)
        path.write_text(path.read_text().replace(f'kind = "{name}"', 'kind = "tcm"'))
    path.write_text(path.read_text().replace('kind = "tcm"', f'kind = "{kind}"'))
    expected = (
        "X-ONE: memory 'B' has `kept_from`, expected with kind 'kept', 'flash', 'mram', "
        f"'mram-rev-a' only, found '{kind}'"
    )
    with pytest.raises(ValueError, match=re.escape(expected)):
        program.source(tmp_path)


def test_the_page_explains_each_kind_of_memory(program, repo):
    page = (repo / "tools/qemu_plugin/README.md").read_text()
    table = page.partition("### Kinds of memories")[2].partition("Another kind")[0]
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines()]
    said = {kind.strip(" `"): row[1:] for row in rows if row for kind in row[0].split(",")}
    for kind, bits in program.KINDS.items():
        writes = "yes" if "CPU_WRITES" in bits else "no"
        alias = "at its alias only" if "BUS_AT_ALIAS" in bits else "yes"
        assert said[kind] == [
            "whole lines of 16 bytes" if "TAKES_LINES" in bits else writes,
            alias if "BUS_READS" in bits else "no",
            alias if "BUS_WRITES" in bits else "no",
            "yes" if "KEEPS" in bits else "no",
        ], kind
    assert set(said) == {*program.KINDS, "kind", "---"}


def test_the_page_names_the_places_of_a_device(repo):
    """The files of its table, and what they have, exist."""
    page = (repo / "tools/qemu_plugin/README.md").read_text()
    table = page.partition("### Add a device")[2].partition("## Behaviour")[0]
    folder = repo / "tools/qemu_plugin"
    names = set(re.findall(r"`((?:\w+/)?[a-z0-9_]+\.(?:c|h|def))`", table))
    assert {"dma/dma_kinds.def", "board/board.h", "start/machine_none.c"} <= names
    assert [name for name in names if not (folder / name).is_file()] == []
    sources = "".join(path.read_text() for path in folder.rglob("*.[ch]"))
    for word in re.findall(r"`((?:struct|enum) \w+|uart_makers)`", table):
        assert word in sources, word
