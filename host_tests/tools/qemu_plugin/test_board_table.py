# SPDX-License-Identifier: MIT
"""Tests the output of board_table.py for the files of emulated boards."""

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
base = 0x30
irq = 2
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
memories.A.size = 32
"""


@pytest.fixture
def program(repo):
    return sharing.script(repo / "tools/qemu_plugin/board_table.py")


def test_a_board_overrides_its_parts_and_those_the_file(program, tmp_path):
    (tmp_path / "x.toml").write_text(TOML)
    text = program.source(tmp_path)
    assert '{.argument = "npu", .base = 0x40, .irq = 0x2, .preset = "ethos-u55-64"}' in text
    a, b = re.findall(r"\{\.access = ([^,]*), \.kind = \w+, \.name = \"(\w)\"", text)
    assert (a[1], b[1]) == ("A", "B") and "BUS_AT_ALIAS" in b[0] and "BUS_AT_ALIAS" not in a[0]
    assert '.blocks = {"a"}, .base = 0x0, .size = 0x20}' in text
    assert ".base = 0x20, .alias = 0x40, .size = 0x30}" in text


def test_the_default_board_is_the_first(program, repo):
    names = [name for name, _ in program.tables(repo / "tools/qemu_plugin/boards")]
    assert names[0] == boards.DEFAULT
    emulated = {board.name for board in boards.every() if board.qemu}
    assert set(names) - {"VIRT"} == emulated | set(boards.machines())


# More of its last table.
ROWS = """
page.base = 0x90
page.irq = 5
devices.arm_ppu = 0x50
npus.npu.m1.last = 9
dma.kind = "350"
dma.base = 0x80
dma.irq = 3
boot.stage = 0
"""
# Rows of a chip's file.
PLACES = ["", "memories.A", "registers.r", "npus.npu", "npus.npu.m1", "page", "devices", "boot"]
PLACES += ["uart", "dma", "npus.npu: `gate`", "memories.A: `power`"]


def refusal(program, folder, text) -> str:
    (folder / "x.toml").write_text(text)
    with pytest.raises(ValueError, match=r"x\.toml: ") as error:
        program.source(folder)
    return str(error.value)


@pytest.mark.parametrize("place", PLACES)
def test_an_unknown_column_is_refused_with_those_known(program, tmp_path, place):
    text = TOML + ROWS
    (tmp_path / "x.toml").write_text(text)
    assert ".last = 0x9" in program.source(tmp_path)
    row = re.sub(r"[ :`]+", ".", place).strip(".")
    message = refusal(program, tmp_path, text + f"{row}.colour = {{}}\n".lstrip("."))
    where = f"x.toml: X-ONE: {place}" if place else "x.toml: boards.X-ONE"
    assert message.startswith(f"{where} has `colour`; known"), message


@pytest.mark.parametrize(
    "place",
    ["memories.A.base", "registers.r.size", "npus.npu.irq", "page.irq", "uart.kind", "irqs"],
)
def test_a_column_that_must_be_there_is_missed(program, tmp_path, place):
    """It would be 0."""
    row, _, key = place.rpartition(".")
    (tmp_path / "x.toml").write_text(TOML + ROWS)
    ((name, table),) = program.tables(tmp_path)
    ((_, at),) = program.rows(table, row)
    del at[key]
    where = f"X-ONE: {row}" if row else "X-ONE"
    with pytest.raises(ValueError, match=rf"^{re.escape(where)} has no `{key}`$"):
        program.check(name, table)


def test_another_machine_has_no_chip(program, tmp_path):
    """QEMU's machine has its own clock, UART and registers, and no power to switch."""
    text = TOML.replace('"none"', '"virt"')
    assert "X-ONE has `vectors`; known with machine 'virt': " in refusal(program, tmp_path, text)
    rows = 'machine = "virt"\nmemories = {}\nnpus.npu = { base = 4, irq = 1, gate = {} }\n'
    message = refusal(program, tmp_path, f"{rows}[boards.Y]\n")
    assert message == "x.toml: Y: npus.npu has `gate`, expected with machine 'none' only"


TABLES = sharing.script(sharing.REPO / "tools/qemu_plugin/board_table.py").KINDS
KINDS = [(place, kind) for place, known in TABLES.items() for kind in known]
# A kind's source, and what all of them share.
SOURCES = {
    "uart": ("chip/uart_{}.c", "chip/uart_line.c"),
    "dma": ("dma/dma_{}.c", "dma/dma_device.c"),
}


@pytest.mark.parametrize(("place", "kind"), [row for row in KINDS if row[0] in SOURCES])
def test_a_kind_has_the_columns_that_its_source_reads(program, repo, place, kind):
    """So that the table, which board_table.py checks files with, is right."""
    own, shared = (repo / "tools/qemu_plugin" / name.format(kind) for name in SOURCES[place])
    text = own.read_text()
    if place == "dma" or '/uart_line.h"' in text:
        text += shared.read_text()
    read = set(re.findall(r"\b(?:slot|uart)->(\w+)", text)) | {"kind"}
    _, known = program.columns(program.COLUMNS[place])
    assert read == known | program.KINDS[place][kind].keys


def test_a_memory_has_the_columns_that_its_access_gives_it(program):
    for row in program.MEMORIES.values():
        by_bus = {"BUS_READS", "BUS_WRITES"} & {*row.access}
        expected = ["idle_clock"] * bool(by_bus) + ["kept_from"] * ("KEEPS" in row.access)
        assert row.keys == {*expected}


@pytest.mark.parametrize(("place", "kind"), KINDS)
def test_a_column_of_another_kind_is_refused(program, tmp_path, place, kind):
    """Without the refusal the board lacks what it asks for, and no message says why."""
    known, name = program.KINDS[place], place.replace("*", "M")
    for key in set().union(*(row.keys for row in known.values())):
        irq = "" if place == "memories.*" else "irq = 3\n"
        row = f'[boards.X-ONE.{name}]\nkind = "{kind}"\nbase = 0x80\n{irq}'
        text = f"{TOML}{row}{key} = {{ mask = 1 }}\n"
        if key in known[kind].keys:
            (tmp_path / "x.toml").write_text(text)
            assert f".{key} = {{" in program.source(tmp_path)
        else:
            message = refusal(program, tmp_path, text)
            expected = f"x.toml: X-ONE: {name} has `{key}`; known of kind '{kind}': "
            assert message.startswith(expected) and "`base`" in message


@pytest.mark.parametrize("row", ["uart", "dma", "memories.B"])
def test_an_unknown_kind_is_refused_with_those_known(program, tmp_path, row):
    text = f'{TOML}[boards.X-ONE.{row}]\nkind = "rom2"\nbase = 4\n'
    message = refusal(program, tmp_path, text)
    assert "`kind` is 'rom2'; known: '" in message and message.startswith("x.toml: X-ONE: ")


@pytest.mark.parametrize(
    ("table", "line", "message"),
    [
        ("", "parts.three = {}", "x.toml: [parts] has `three`; known, what a board names"),
        ("", 'boards.Y.parts = ["nine"]', "x.toml: a board has `nine`; known in [parts]: `one`"),
        ("[parts.one]", "default = true", "x.toml: parts.one has `default`; known: "),
        ("[boards.X-ONE]", 'security = "no"', "X-ONE: `security` is 'no'; known: 'secure'"),
        ("[boards.X-ONE]", "boot.stack = 4", "X-ONE: boot has no `stage`"),
        ("[boards.X-ONE]", "memories.B.powered_from = 4", "has `powered_from`, expected with"),
        ("[boards.X-ONE]", 'uart.gate = "open"', "`gate` is 'open'; known: 'on', 'never'"),
        ("[boards.X-ONE]", 'start = "first section"', "X-ONE: expected either `vectors` or"),
        ("[boards.X-ONE]", "page.irq = 4", "X-ONE: page has no `base`"),
        ("", "irqs = 9", "x.toml: Cannot overwrite a value"),
        ("[boards.X-ONE]", "boot = 3", "X-ONE: boot is 3, expected a table"),
    ],
)
def test_what_would_be_ignored_is_refused(program, tmp_path, table, line, message):
    assert message in refusal(program, tmp_path, TOML.replace(table, f"{table}\n{line}\n", 1))


def test_a_protection_without_a_controller_is_refused(program, tmp_path):
    """Protection is only modelled for a flash behind its controller, and refused elsewhere."""
    path = tmp_path / "x.toml"
    gate = "{ address = 64, mask = 1, value = 1 }"
    row = f"[parts.two]\nmemories.B.protection = {gate}\n"
    path.write_text(TOML.replace("[parts.two]\n", row))
    with pytest.raises(
        ValueError, match=r"X-ONE: memories\.B has `protection`, expected with `xip`"
    ):
        program.source(tmp_path)
    path.write_text(path.read_text().replace(row, f"{row}memories.B.xip = {gate}\n"))
    assert ".protection = {.all = {{.address = 0x40" in program.source(tmp_path)


# Entries of these tables have names or addresses as keys.
NAMED = {"memories", "npus", "registers", "boards", "parts", "devices", "after_reset"}


def entries(given: object, *, named: bool = False) -> set[str]:
    """Return all keys of a table, except names."""
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
    with pytest.raises(ValueError, match="`start` is 'entry'; known: 'first section'"):
        program.source(tmp_path)


def test_the_page_explains_each_kind_of_memory(program, repo):
    page = (repo / "tools/qemu_plugin/README.md").read_text()
    table = page.partition("### Kinds of memories")[2].partition("Another kind")[0]
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines()]
    said = {kind.strip(" `"): row[1:] for row in rows if row for kind in row[0].split(",")}
    for kind, row in program.MEMORIES.items():
        bits = row.access
        writes = "yes" if "CPU_WRITES" in bits else "no"
        alias = "at its alias only" if "BUS_AT_ALIAS" in bits else "yes"
        assert said[kind] == [
            "whole lines of 16 bytes" if kind.startswith("mram") else writes,
            alias if "BUS_READS" in bits else "no",
            alias if "BUS_WRITES" in bits else "no",
            "yes" if "KEEPS" in bits else "no",
        ], kind
    assert set(said) == {*program.MEMORIES, "kind", "---"}


def test_the_page_names_the_places_of_a_device(repo):
    """The files in the page's table, and the names in them, exist."""
    page = (repo / "tools/qemu_plugin/README.md").read_text()
    part = page.partition("### Add a device")[2].partition("## Behaviour")[0]
    folder = repo / "tools/qemu_plugin"
    names = set(re.findall(r"`((?:\w+/)?[a-z0-9_]+\.(?:c|h|def))`", part))
    assert {"board/devices.def", "dma/dma_kind.h", "chip/chip.h"} <= names
    assert [name for name in names if not (folder / name).is_file()] == []
    sources = "".join(path.read_text() for path in folder.rglob("*.[ch]"))
    for word in re.findall(r"`(struct \w+)`", part):
        assert word in sources, word
