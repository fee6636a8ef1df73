# SPDX-License-Identifier: MIT
"""The page's notices name what is in its files, by what these show, and no more."""

import hashlib
import json
import re
import tomllib

import pytest
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

from host_tests.kit import needs
from host_tests.kit.sharing import BUILD, REPO

from .steps import FOLDER, PARTS, files

# What only this component has: in the linker's list of functions, or in the file itself.
BOARD = {
    "MicroPython": "mp_obj_new_str",
    "crypto-algorithms (SHA-256)": "sha256_final",
    "littlefs": "lfs2_mount",
    "re1.5": "re1_5_compilecode",
    "uzlib": "uzlib_uncompress",
    "Emscripten": "emscripten_memcpy",
    "musl": "strchrnul",
    "dlmalloc": "dlmalloc",
    "LLVM, compiler-rt": "__multi3",
}
VELA = {
    "LLVM, C++ library": "std::__2::vector",
    "Vela": "regor::",
    "FlatBuffers": "flatbuffers::",
    "fmt": "fmt::",
    "gemmlowp": "gemmlowp::",
}
SCRIPTS = {
    "xterm.js": "xterm-helper-textarea",
    "Visual Studio Code, parts of its user interface": "xterm-gesturetap",
}
MODELS = {"pymicro-wakeword, its models": "okay_nabu"}
# Of these there are headers only, without functions.
HEADERS = {"WASI, its header", "LLVM, headers of Clang", "ooFatFs"}


@pytest.fixture(scope="module")
def sbom():
    if not (FOLDER / "sbom.spdx.json").is_file():
        needs.missing("the page is not built; run: make page")
    return json.loads((FOLDER / "sbom.spdx.json").read_text())


def test_it_is_valid(sbom):
    document = parse_file(str(FOLDER / "sbom.spdx.json"))
    assert [each.validation_message for each in validate_full_spdx_document(document)] == []


def test_it_lists_each_program_of_the_page(sbom):
    programs = [file for file in FOLDER.rglob("*") if file.suffix in (".css", ".js", ".wasm")]
    sums = {each["fileName"]: each["checksums"][1]["checksumValue"] for each in sbom["files"]}
    found = {
        f"./{file.relative_to(FOLDER)}": hashlib.sha256(file.read_bytes()).hexdigest()
        for file in programs
    }
    assert sums.items() >= found.items() and len(found) > 5
    assert {name.rpartition(".")[2] for name in sums.keys() - found.keys()} == {"tflite"}


def test_its_components_are_those_that_the_files_show(sbom):
    expected = dict.fromkeys(BOARD, (BUILD / "firmware/WEB/firmware.map").read_text())
    expected |= dict.fromkeys(SCRIPTS, (files() / "terminal.js").read_text())
    expected |= dict.fromkeys(MODELS, " ".join(map(str, files().rglob("*.tflite"))))
    if (files() / "vela.wasm").exists():
        expected |= dict.fromkeys(VELA, (PARTS / "vela/vela.map").read_text(errors="replace"))
    shown = BOARD | SCRIPTS | MODELS | VELA
    assert [name for name, text in expected.items() if shown[name] not in text] == []
    text = (FOLDER / "THIRD_PARTY.txt").read_text()
    headings = re.findall(r"={79}\n(.*)\nLicence: ", text)
    names = [each["name"] for each in sbom["packages"][1:]]
    assert set(names) == expected.keys() | HEADERS
    assert [heading.startswith(name) for heading, name in zip(headings, names, strict=True)] == (
        [True] * len(names)
    )


def test_no_row_of_the_tables_is_stale():
    core = REPO / "tools/setup/release/notices_emscripten.toml"
    tables = [tomllib.loads(each.read_text()) for each in (core, REPO / "tools/web/notices.toml")]
    shown = BOARD.keys() | SCRIPTS.keys() | MODELS.keys() | VELA.keys() | HEADERS
    assert {name for table in tables for name in table} - shown == {"micropython-ethosu"}


def test_the_page_links_to_both(sbom):
    links = re.findall(r'href="([^"]*)"', (FOLDER / "index.html").read_text())
    linked = {(FOLDER / link).resolve() for link in links if "://" not in link}
    assert {FOLDER / "THIRD_PARTY.txt", FOLDER / "sbom.spdx.json"} <= linked
    assert (FOLDER / "LICENSE").read_text() == (REPO / "LICENSE").read_text()
