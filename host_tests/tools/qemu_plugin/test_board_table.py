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
devices.arm_ppu = 0x50
npus.npu.m1.last = 9
dma.kind = "350"
dma.base = 0x80
boot.stage = 0
"""
# Rows of a chip's file, and how a message names them.
PLACES = {
    "": "x.toml: X-ONE",
    "memories.A": "x.toml: X-ONE: memory 'A'",
    "registers.r": "x.toml: X-ONE: registers 'r'",
    "npus.npu": "x.toml: X-ONE: NPU 'npu'",
    "npus.npu.m1": "x.toml: X-ONE: NPU 'npu': `m1`",
    "npus.npu.gate": "x.toml: X-ONE: NPU 'npu': `gate`",
    "memories.A.power": "x.toml: X-ONE: memory 'A': `power`",
    "page": "x.toml: X-ONE: `page`",
    "devices": "x.toml: X-ONE: `devices`",
    "boot": "x.toml: X-ONE: [boot]",
    "uart": "x.toml: X-ONE: [uart]",
    "dma": "x.toml: X-ONE: [dma]",
    "parts": "x.toml: [parts]",
}


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
    key = f"{place}.colour".lstrip(".")
    line = f"{key} = {{}}\n"
    text = line + text if place == "parts" else text + line
    message = refusal(program, tmp_path, text)
    assert message.startswith(f"{PLACES[place]} has `colour`; known"), message


def test_another_machine_has_no_chip(program, tmp_path):
    """QEMU's machine has its own clock, UART and registers, and no power to switch."""
    text = TOML.replace('"none"', '"virt"')
    assert "X-ONE has `vectors`; known with machine 'virt': " in refusal(program, tmp_path, text)


SORTS = {"uart": ("UARTS", "chip/uart_{}.c"), "dma": ("DMAS", "dma/dma_{}.c")}
KINDS = [
    (sort, kind)
    for sort, (table, _) in SORTS.items()
    for kind in getattr(sharing.script(sharing.REPO / "tools/qemu_plugin/board_table.py"), table)
]


@pytest.mark.parametrize(("sort", "kind"), KINDS)
def test_a_kind_has_the_columns_that_its_source_reads(program, repo, sort, kind):
    """So that the table, which board_table.py checks files with, is right."""
    table, name = SORTS[sort]
    folder = repo / "tools/qemu_plugin"
    source = folder / name.format(kind)
    shared = {"uart": "chip/uart_line.c", "dma": "dma/dma_device.c"}[sort]
    text = source.read_text()
    if sort == "dma" or '/uart_line.h"' in text:
        text += (folder / shared).read_text()
    read = set(re.findall(r"\b(?:slot|uart)->(\w+)", text)) | {"kind"}
    row = getattr(program, table)[kind]
    common = program.UART if sort == "uart" else program.DMA
    assert read == common | row.keys


@pytest.mark.parametrize(("sort", "kind"), KINDS)
def test_a_column_of_another_kind_is_refused(program, tmp_path, sort, kind):
    table = getattr(program, SORTS[sort][0])
    every = set().union(*(row.keys for row in table.values()))
    for key in every:
        row = f'[boards.X-ONE.{sort}]\nkind = "{kind}"\nbase = 0x80\n{key} = {{ mask = 1 }}\n'
        if key in table[kind].keys:
            (tmp_path / "x.toml").write_text(TOML + row)
            assert f".{key} = {{" in program.source(tmp_path)
        else:
            message = refusal(program, tmp_path, TOML + row)
            known = f"x.toml: X-ONE: [{sort}] has `{key}`; known of kind '{kind}': "
            assert message.startswith(known) and "`base`" in message


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
        ("[parts.one]", "default = true", "x.toml: one has `default`; known: "),
        ("[boards.X-ONE]", 'security = "no"', "X-ONE: `security` is 'no'; known: 'secure'"),
        ("[boards.X-ONE]", "boot.stack = 4", "[boot] has `stack`, expected with `stage`"),
        ("[boards.X-ONE]", "memories.B.powered_from = 4", "has `powered_from`, expected with"),
        ("[boards.X-ONE]", 'uart.gate = "open"', "`gate` is 'open'; known: 'on', 'never'"),
        ("[boards.X-ONE]", 'start = "first section"', "X-ONE has `vectors`, expected without"),
        ("[boards.X-ONE]", "page.irq = 4", "X-ONE: [page] has no `base`"),
        ("[boards.X-ONE]", 'dma.kind = "dw"', "X-ONE: [dma] has no `base`"),
    ],
)
def test_what_would_be_ignored_is_refused(program, tmp_path, table, line, message):
    assert message in refusal(program, tmp_path, TOML.replace(table, f"{table}\n{line}\n", 1))


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
    with pytest.raises(ValueError, match="`start` is 'entry'; known: 'first section'"):
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
    text = path.read_text().replace('kind = "tcm"', f'kind = "{kind}"')
    expected = f"x.toml: X-ONE: memory 'B' has `kept_from`; known of kind '{kind}': `alias`, "
    assert refusal(program, tmp_path, text).startswith(expected)


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
    """The files of its table, and what they have, exist."""
    page = (repo / "tools/qemu_plugin/README.md").read_text()
    part = page.partition("### Add a device")[2].partition("## Behaviour")[0]
    folder = repo / "tools/qemu_plugin"
    names = set(re.findall(r"`((?:\w+/)?[a-z0-9_]+\.(?:c|h|def))`", part))
    assert {"board/devices.def", "dma/dma_kind.h", "chip/chip.h"} <= names
    assert [name for name in names if not (folder / name).is_file()] == []
    sources = "".join(path.read_text() for path in folder.rglob("*.[ch]"))
    for word in re.findall(r"`(struct \w+)`", part):
        assert word in sources, word
