# SPDX-License-Identifier: MIT
"""The notices name what the linker took, with licence texts, and the SBOM is valid."""

import hashlib
import json
import re
import subprocess
from pathlib import Path

import pytest
from ethosu_tools import boards
from ethosu_tools.base import paths
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

from host_tests.kit import sharing
from host_tests.kit.sharing import BUILD, REPO

notices = sharing.script(REPO / "tools/setup/release/notices.py")
# Functions of a component: of each image, if its name begins so.
SYMBOLS = {
    "MicroPython": "mp_obj_new_str",
    "crypto-algorithms (SHA-256)": "sha256_final",
    "libm_dbl, of musl": "__rem_pio2_large",
    "littlefs": "lfs2_mount",
    "ooFatFs": "f_mount",
    "re1.5": "re1_5_compilecode",
    "uzlib": "uzlib_uncompress",
    "newlib": "memmove",
    "GCC, libgcc": "__udivmoddi4",
}
MAP = """
Archive member included to satisfy reference by file (symbol)

LOAD ROOT/build/firmware/B/lib/unused.o

Linker script and memory map

 .text.main     0x0000000010000000       0x10 ROOT/build/firmware/B/firmware/main.o
 .text.a_function_with_a_long_name_in_it
                0x0000000010000010        0x8 /usr/lib/gcc/a/../../arm-none-eabi/libm.a(lib_a-exp.o)
 .text.gone     0x0000000010000018        0x0 ROOT/build/firmware/B/lib/unused.o
 .debug_info    0x0000000000000000      0x123 ROOT/build/firmware/B/lib/unused.o
"""
WASM_MAP = """
    Addr      Off     Size Out     In      Symbol
       -       10       28 CODE
       -       12        3         <internal>:(__wasm_call_ctors)
       -       15       10         ROOT/build/firmware/B/firmware/main.o:(main)
       -       15       10                 a::(anonymous namespace)::main(long)
       -       25        8         /usr/lib/gcc/a/../../arm-none-eabi/libm.a(lib_a-exp.o):(exp)
       -       2d        0         ROOT/build/firmware/B/lib/unused.o:(gone)
       -       40      123         ROOT/build/firmware/B/lib/unused.o:(.debug_info)
"""
# Of a script, and of one that its package made of others.
BUNDLE = """\
{"outputs": {"out/a.js": {"inputs": {
    "../firmware/main.c": {"bytesInOutput": 5},
    "../build/lib/1.5/lib.mjs": {"bytesInOutput": 3},
    "../build/unused.mjs": {"bytesInOutput": 0}}}}}
"""
SOURCE_MAP = '{"sources": ["../1.5/lib.h"]}'
OF_SCRIPT = {"firmware/main.c", "build/lib/1.5/lib.h"}
HEADER = """\
/*
 * Copyright (c) 2001 A. Author
 * SPDX-License-Identifier: Zlib
 */
/* Copyright 2002 B. Writer: do as you like. */
int x; /* Copyright 2003 not at the head */
"""
TABLE = """\
[micropython-ethosu]
licence = "MIT"
files = ['firmware/']
[lib]
licence = "Zlib"
files = ['build/lib/(?P<version>[^/]+)/']
texts = ["build/lib/{version}/LICENSE", ["build/lib/*/README", '(?s)From (.*)\\nto']]
[libm]
licence = "MIT"
files = ['/usr/lib/arm-none-eabi/']
"""


@pytest.fixture
def small_in(tmp_path, monkeypatch):
    """Make a tree with an image `B` of three components, in a folder of this name."""

    def make(name):
        root = tmp_path / name
        folder = root / "build/firmware/B"
        for path, text in {
            "tools/setup/release/notices.toml": TABLE,
            "build/firmware/B/firmware.map": MAP.replace("ROOT", str(root)),
            "build/firmware/B/wasm.map": WASM_MAP.replace("ROOT", str(root)),
            "build/firmware/B/bundle.json": BUNDLE,
            "build/firmware/B/firmware.elf": "ELF",
            "build/firmware/B/firmware/main.o": "",
            "build/firmware/B/firmware/main.P": f"{folder}/main.o: {root}/firmware/main.c \\\n"
            f" {root}/build/lib/1.5/lib.h\n\n{root}/build/lib/1.5/lib.h:\n",
            "build/lib/1.5/lib.h": HEADER,
            "build/lib/1.5/lib.mjs": "",
            "build/lib/1.5/lib.mjs.map": SOURCE_MAP,
            "build/lib/1.5/LICENSE": "\nThe Zlib licence\n",
            "build/lib/1.5/README": "From here\nto there",
            "firmware/main.c": "",
        }.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        monkeypatch.setattr(paths, "root", lambda: root)
        for function in (notices.table, notices.sources):
            function.cache_clear()
        return root

    yield make
    for function in (notices.table, notices.sources):
        function.cache_clear()


def test_a_page_has_what_was_taken_and_no_more(small_in):
    small_in("tree")
    page = notices.for_image("B")["THIRD_PARTY.txt"].decode()
    assert page.count("=" * 79) == 2 * 2
    assert "lib 1.5\nLicence: Zlib\nIn: firmware.elf\n" in page
    assert "\n\nCopyright (c) 2001 A. Author\n\n/* Copyright 2002 B. Writer: do as" in page
    assert "\n\nThe Zlib licence\n\nhere\n" in page and "2003" not in page


def test_notices_are_the_same_in_each_folder(small_in):
    made = []
    for name in ("one", "another/two"):
        root = small_in(name)
        made.append(notices.for_image("B"))
        assert not any(str(root).encode() in data for data in made[-1].values())
    assert made[0] == made[1]


def taken(root, name):
    """Return what a map, or esbuild's list, shows."""
    file = root / "build/firmware/B" / name
    return (
        notices.inputs(file)
        if file.suffix == ".map"
        else notices.bundled(file, root / "tools")["a.js"]
    )


KINDS = ("firmware.map", "wasm.map", "bundle.json")


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_list_names_what_has_bytes_in_the_file(small_in, kind):
    """The maps have a member of an archive besides."""
    library = {"/usr/lib/arm-none-eabi/libm.a(lib_a-exp.o)"} if kind.endswith(".map") else set()
    found = taken(small_in("tree"), kind)
    assert {name.replace("/gcc/a/../..", "") for name in found} == OF_SCRIPT | library


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_without_a_component_is_an_error(small_in, kind):
    root = small_in("tree")
    table = root / "tools/setup/release/notices.toml"
    table.write_text(TABLE.replace("'firmware/'", "'/opt/', 'build/'"))
    with pytest.raises(notices.NoticeError) as error:
        notices.of("B", [notices.Binary("b", b"", taken(root, kind))])
    assert re.findall(r"\S+ \([^)]*\)", str(error.value).partition(": ")[2]) == [
        "build/lib/1.5/lib.h (micropython-ethosu and lib)",
        "firmware/main.c (no row)",
    ]


def test_an_addon_claims_with_a_table_of_its_own(small_in):
    root = small_in("tree")
    own, _, others = TABLE.partition("[lib]")
    (root / "tools/setup/release/notices.toml").write_text(own)
    (root / "tools/page").mkdir()
    (root / "tools/page/notices.toml").write_text(f"[lib]{others}")
    assert "lib 1.5\n" in notices.for_image("B")["THIRD_PARTY.txt"].decode()


@pytest.mark.parametrize("name", ["lib/1.5/LICENSE", "firmware/B/firmware.map"])
def test_what_is_missing_is_named(small_in, name):
    (small_in("tree") / "build" / name).unlink()
    with pytest.raises(notices.NoticeError, match=f"{Path(name).name} is missing"):
        notices.for_image("B")


def maps():
    """Find the maps of all that is built and given away, besides those of add-ons."""
    return [
        *(BUILD / "firmware" / name / "firmware.map" for name in boards.names()),
        BUILD / "sim_host/libethosu_sim.map",
        BUILD / "qemu_plugin/libethosu_qemu.map",
    ]


def test_each_input_of_each_map_is_claimed_and_no_row_is_stale():
    inputs = {each for file in maps() if file.is_file() for each in notices.inputs(file)}
    claimed = {component.row.name for component in notices.claims(inputs)}
    core = re.findall(
        r'^\["?(.*?)"?\]$', (REPO / "tools/setup/release/notices.toml").read_text(), re.M
    )
    assert claimed == set(core)


@pytest.fixture(scope="module")
def made():
    return notices.for_image(boards.DEFAULT)


def test_its_components_are_those_of_the_symbols(made):
    """nm finds a function of each component that the SBOM names, but of CMSIS, which is inline."""
    elf = paths.firmware(boards.DEFAULT)
    listed = subprocess.run(["arm-none-eabi-nm", elf], capture_output=True, text=True, check=True)
    symbols = {line.split()[-1] for line in listed.stdout.splitlines()}
    packages = json.loads(made["sbom.spdx.json"])["packages"][1:]
    assert {each["name"] for each in packages} - {"CMSIS, headers of cores"} == set(SYMBOLS)
    assert [name for name in SYMBOLS.values() if name not in symbols] == []


def test_the_sbom_is_valid_and_names_the_image(made, tmp_path):
    file = tmp_path / "image.spdx.json"
    file.write_bytes(made["sbom.spdx.json"])
    document = parse_file(str(file))
    assert [each.validation_message for each in validate_full_spdx_document(document)] == []
    image = paths.firmware(boards.DEFAULT).read_bytes()
    sums = {each.value for file in document.files for each in file.checksums}
    assert hashlib.sha256(image).hexdigest() in sums


def test_a_text_is_there_for_each_licence(made):
    page = made["THIRD_PARTY.txt"].decode()
    for part in re.split(r"={79}\n.*\n(?:.*\n)*?={79}\n", page)[1:]:
        assert len(part) > 400, part
