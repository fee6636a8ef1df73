# SPDX-License-Identifier: MIT
"""The driver compiles and links for the target, with Arm's names, and with overrides."""

import re
from pathlib import Path

import pytest

from host_tests.modules.ethosu.driver import cbuild

DRIVER = cbuild.REPO / "modules/ethosu/driver"
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wconversion", "-Wmissing-prototypes"]
MODULE = DRIVER.parent
HEADERS = sorted(
    path.name if path.parent.name == "include" else str(path.relative_to(MODULE))
    for path in DRIVER.glob("*/*.h")
)
PATHS = [f"-I{MODULE}", f"-I{DRIVER}/include"]
PUBLIC = [
    *DRIVER.glob("include/*.h"),
    *(MODULE / name for name in ("runtime/include/ethosu_model.h", "audio/ethosu_audio.h")),
]

# Bytes of the driver on a Cortex-M55 with -Os, with counters, verifier, error messages, the vector
# copy (106), ethosu_ext_run() (60) and the tables of counters of 1.99 (252).
TEXT_LIMIT = 21_800
U85_TEXT_LIMIT = 3_850


@pytest.fixture(scope="module")
def objects() -> dict[str, Path]:
    """Compile the driver for a Cortex-M55, by file."""
    flags = ["-std=c11", "-Os", "-ffunction-sections", *WARNINGS, *PATHS]
    made = cbuild.sharing.objects([*cbuild.TARGET, *flags], cbuild.SOURCES)
    return {source.stem: made for source, made in zip(cbuild.SOURCES, made, strict=True)}


def text_sizes(objects: dict[str, Path]) -> dict[str, int]:
    """Return the bytes of text and constants, by file."""
    lines = cbuild.run(["arm-none-eabi-size", *objects.values()]).splitlines()[1:]
    return {name: int(line.split()[0]) for name, line in zip(objects, lines, strict=True)}


def test_it_compiles_for_the_target_without_a_warning_and_small(objects, capsys) -> None:
    """The driver compiles with strict warnings, within its size limits, printed by file."""
    sizes = text_sizes(objects)
    u85 = sum(size for name, size in sizes.items() if name.endswith("_u85"))
    rest = sum(sizes.values()) - u85
    with capsys.disabled():
        print(f"\ndriver on Cortex-M55, -Os: {rest} bytes of text, U85 {u85} more {sizes}")
    assert rest <= TEXT_LIMIT
    assert u85 <= U85_TEXT_LIMIT


def test_it_allocates_prints_and_asserts_nothing(objects) -> None:
    """The driver calls only the board and a few C functions that do not allocate or print."""
    board = {"ethosu_board", "ethosu_ext_board_idle", "ethosu_ext_board_ticks_ms"}
    library = {"memcpy", "memmove", "memset", "strcmp", "strlen"}
    runtime = re.compile(r"__aeabi_\w+|__\w+di\d|__sync_\w+")
    lines = cbuild.run(["arm-none-eabi-nm", *objects.values()]).splitlines()
    defined = {line.split()[-1] for line in lines if re.search(r" [TWVRDB] ", line)}
    needed = {line.split()[-1] for line in lines if re.search(r" [Uvw] ", line)}
    foreign = {name for name in needed - defined if not runtime.fullmatch(name)}
    assert foreign <= board | library


def test_the_copy_hook_is_weak_and_alone_in_its_file(objects) -> None:
    """The weak copy hook has a file of its own, or a compiler could inline the default."""
    lines = cbuild.run(["arm-none-eabi-nm", objects["arm_ethos_io_memcpy"]]).splitlines()
    defined = [line.split()[-2:] for line in lines if " U " not in line and " $" not in line]
    assert [entry for entry in defined if entry[0] != "t"] == [["W", "arm_ethos_io_memcpy"]]
    callers = [
        path.stem
        for path in cbuild.SOURCES
        if "arm_ethos_io_memcpy(" in path.read_text() and path.stem != "arm_ethos_io_memcpy"
    ]
    assert callers == ["ethosu_layout"]


def test_a_callback_is_published_in_the_order_of_the_source(objects) -> None:
    """An interrupt must never see a callback with another one's argument, so stores are ordered."""
    text = cbuild.run(["arm-none-eabi-objdump", "-d", objects["ethosu_handle"]])
    code = text.partition("<ethosu_ext_on_done>:")[2].partition("\n\n")[0]
    stores = re.findall(r"\t(st\w*)(?:\.w)?\s+(\w+), \[\w+(?:, #\d+)?\]", code)
    assert [name for name, _ in stores] == ["str", "stl", "stl"]
    assert [register for _, register in stores[1:]] == ["r2", "r1"]


def test_a_program_for_arms_driver_compiles_links_and_runs(tmp_path) -> None:
    """A program that calls every function of ethosu_driver.h builds with -Werror, and runs."""
    sources = ["c/arm_names.c", "c/standalone_board.c"]
    program = cbuild.link(tmp_path / "arm_names", "address", sources, cbuild.DRIVER)
    assert "no NPU there" in cbuild.run([program])
    for npu in ("ETHOSU55", "ETHOSU65", "ETHOSU85"):
        flags = ["-std=c11", "-Os", *WARNINGS, "-Wno-missing-prototypes", f"-U{npu}", *PATHS]
        cbuild.run([*cbuild.TARGET, *flags, "-c", cbuild.C / "arm_names.c", "-o", tmp_path / "a.o"])


@pytest.mark.parametrize("header", HEADERS)
def test_each_header_stands_alone_in_c_and_cpp(header, tmp_path) -> None:
    """Each header can be included on its own."""
    source = tmp_path / "one.c"
    source.write_text(f"#include <{header}>\n#include <{header}>\nint main(void) {{ return 0; }}\n")
    public = (DRIVER / "include" / header).exists()
    flags = [*WARNINGS[:3], *(["-pedantic"] if public else []), *PATHS, "-fsyntax-only"]
    cbuild.run(["gcc", "-std=c11", *flags, source])
    cbuild.run(["g++", "-x", "c++", *flags, source])


@pytest.mark.parametrize("header", sorted(PUBLIC), ids=lambda path: path.name)
def test_cpp_links_what_a_public_header_declares(header, tmp_path) -> None:
    """A C++ program links, as public headers declare each function with its C name."""
    text = re.sub(
        r"/\*.*?\*/|//[^\n]*|^#define(?:[^\n]*\\\n)*[^\n]*",
        "",
        header.read_text(),
        flags=re.S | re.M,
    )
    names = set(re.findall(r"^(?!static|typedef)[a-z][\w \*]*?\b(\w+)\(", text, re.MULTILINE)) - {
        "__attribute__"
    }
    source = tmp_path / "all.cpp"
    uses = ", ".join(f"(const void *){name}" for name in sorted(names))
    source.write_text(
        f"#include <{header.name}>\nextern const void *const all[] = {{{uses or 0}}};\n"
    )
    flags = [f"-I{path}" for path in {header.parent, DRIVER / "include"}]
    cbuild.run(["g++", *WARNINGS[:3], *flags, "-c", source, "-o", tmp_path / "all.o"])
    undefined = cbuild.run(["nm", "-u", tmp_path / "all.o"]).split()
    assert names <= set(undefined)


def test_a_cache_hook_of_old_signature_is_rejected(tmp_path) -> None:
    """A cache hook with the old signature would flush garbage, so it must not compile."""
    source = tmp_path / "old.c"
    source.write_text(
        "#include <ethosu_driver.h>\nvoid ethosu_flush_dcache(uint32_t *p, size_t bytes);\n"
    )
    command = ["gcc", "-std=c11", *PATHS, "-fsyntax-only", source]
    assert "conflicting types" in cbuild.refuse(command)


def test_the_interrupt_handler_is_short() -> None:
    """The interrupt handler has under 15 lines: read, acknowledge, store, signal."""
    text = read("job/ethosu_irq.c")
    body = re.search(r"void ethosu_irq_handler\(.*?\n\{\n(.*?)^\}", text, re.DOTALL | re.MULTILINE)
    assert body is not None
    assert len(body[1].splitlines()) < 15


def test_the_interrupt_handler_shares_no_plain_field() -> None:
    """Fields that the interrupt handler uses are only accessed by atomics, in all files."""
    ours = read("job/ethosu_irq.c") + read("job/ethosu_job.h")
    atomic = r"(?:ETHOSU_EXT_[GS]ET\(|__atomic_\w+\(&|ethosu_ext_add\(&)"
    accesses = re.findall(rf"({atomic})?drv->(?!dev\b)((?:job\.)?\w+)", ours)
    fields = {field for _, field in accesses}
    assert fields == {*("job.word", "job.status", "on_done", "on_done_argument"),
                      *("semaphore", "spurious")}  # fmt: skip
    assert [field for how, field in accesses if not how] == []
    plain = re.compile(rf"drv->({'|'.join(map(re.escape, fields))}) *(?:[-+|&]?=[^=]|\+\+|--)")
    assert [path.name for path in cbuild.SOURCES if plain.search(path.read_text())] == []


def operations(*sources: str) -> dict[str, int]:
    """Read the opcodes in the tables of these sources, by name."""
    rows = re.findall(
        r"^OPERATION\((0x\w+), (\w+)\)", read("verify/ethosu_operations.def"), re.MULTILINE
    )
    text = "".join(map(read, sources))
    return {name: int(number, 16) for number, name in rows if re.search(rf"\b{name}\b", text)}


def read(name: str) -> str:
    """Read a file of the driver."""
    return (DRIVER / name).read_text()


def test_opcodes_equal_velas() -> None:
    """Opcodes in the verifier's tables equal Vela's."""
    from ethosu.vela.ethos_u55_regs import ethos_u55_regs as vela

    table = read("verify/ethosu_commands.def")
    rows = re.findall(r"^(REGISTER|PAYLOAD)\((0x\w+), (\w+), (?:U5|U6)", table, re.MULTILINE)
    rows += [
        ("OPERATION", hex(number), name)
        for name, number in operations("verify/ethosu_verify_u55_u65.c").items()
    ]
    kinds = {"OPERATION": vela.cmd0, "REGISTER": vela.cmd0, "PAYLOAD": vela.cmd1}
    assert len(rows) > 90
    for kind, number, name in rows:
        assert kinds[kind][name].value == int(number, 16), name
    known = {name for _, _, name in rows}
    missing = {c.name for kind in (vela.cmd0, vela.cmd1) for c in kind} - known
    assert not missing


def test_u85_commands_equal_the_models() -> None:
    """Codes and parameter bits equal the model's, which were taken from Arm's headers."""
    from host_tests.tools.npu_sim.assembler import PAYLOAD
    from host_tests.tools.npu_sim.hardware import commands

    row = r"^(REGISTER|PAYLOAD)\((0x\w+), (NPU_SET_\w+), \w*U8, \w+, (\w+)\)"
    table = read("verify/ethosu_commands.def")
    found = {
        int(number, 16) | (PAYLOAD if kind == "PAYLOAD" else 0): (name, int(bits, 16))
        for kind, number, name, bits in re.findall(row, table, re.MULTILINE)
    }
    model = commands("ethos-u85-256")
    others = {code: name for code, (name, _) in model.items() if code not in found}
    # Vela never writes these commands, and the verifier refuses unknown ones.
    others = {code: name for code, name in others.items() if "USER_DEFINED" not in name}
    ours = operations("verify/ethosu_verify_u85.c", "verify/ethosu_verify_branch_u85.c")
    assert others == {code: name for name, code in ours.items()}
    for code, (name, bits) in found.items():
        signed = code >= PAYLOAD and bits == 0xFFFF  # a 40-bit number whose sign the verifier uses
        assert model[code] == (name, 0xFF if signed else bits)


COP2 = """#include "ethosu_ext.h"
#include <stdio.h>
int main(void)
{
    uint32_t words[16] = {0x32504F43u};
    struct ethosu_ext_payload payload;
    struct ethosu_ext_fault fault;
    char text[200];
    int error = ethosu_ext_parse_payload(words, sizeof words, &payload, &fault);
    (void)ethosu_ext_describe(&fault, text, sizeof text);
    printf("%s %s", error == ETHOSU_EXT_E_NO_COP2 ? "NO_COP2" : "other", text);
    return 0;
}
"""


@pytest.mark.parametrize("value", [0, 1])
def test_a_build_without_cop2_names_the_option(value, tmp_path) -> None:
    """With ETHOSU_COP2=0, the error of a COP2 payload names the option; with 1 it is read."""
    (tmp_path / "main.c").write_text(COP2)
    names = (
        "payload/ethosu_payload",
        *(f"base/ethosu_{name}" for name in ("fault", "messages", "text")),
    )
    parts = [DRIVER / f"{name}.c" for name in names]
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", *PATHS, f"-DETHOSU_COP2={value}"]
    program = tmp_path / "program"
    cbuild.run(["gcc", *flags, tmp_path / "main.c", *parts, "-o", program])
    printed = cbuild.run([program])
    assert ("NO_COP2" in printed and "ETHOSU_COP2=1" in printed) == (value == 0)
