# SPDX-License-Identifier: MIT
"""Programs and settings on the pages are accepted by the compilers and readers of their languages.

Those for a board also run there: see modules/ethosu/examples/test_examples.py.
"""

import ast
import configparser
import json
import subprocess
import tomllib

import pytest

from host_tests.kit import pages, sharing
from host_tests.kit.pages import Block

CMAKE = """
cmake_minimum_required(VERSION 3.16)
project(firmware C)
file(WRITE main.c "int main(void) { return 0; }\n")
add_executable(firmware main.c)
"""
INCLUDES = ("modules/ethosu", "modules/ethosu/driver/include", "modules/ethosu/runtime/include")
C = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", *(f"-I{pages.REPO / at}" for at in INCLUDES)]


def mpy(block, folder):
    """Compile a program for a board."""
    source = folder / "block.py"
    source.write_text(block.text)
    (cross, *_) = sorted(sharing.BUILD.glob("mpy-cross/*/mpy-cross"))
    subprocess.run([cross, source], check=True, capture_output=True)


def cmake(block, folder):
    """Configure a project that contains the lines, in the root of the tree."""
    for name in ("modules", "build"):
        (folder / name).symlink_to(pages.REPO / name)
    (folder / "CMakeLists.txt").write_text(CMAKE + block.text)
    command = ["cmake", "-S", folder, "-B", folder / "made"]
    subprocess.run(command, check=True, capture_output=True)


def c(block, folder):
    """Compile an object with the module's headers."""
    (folder / "block.c").write_text(block.text)
    sharing.objects(C, [folder / "block.c"])


def make(block, folder):
    """Read a Makefile."""
    (folder / "Makefile").write_text(block.text + "\nnothing:\n")
    subprocess.run(["make", "-n", "-C", folder, "nothing"], check=True, capture_output=True)


READERS = {
    "python": lambda block, folder: ast.parse(block.text),
    "c": c,
    "cmake": cmake,
    "make": make,
    "toml": lambda block, folder: tomllib.loads(block.text),
    "json": lambda block, folder: json.loads(block.text),
    "ini": lambda block, folder: configparser.ConfigParser().read_string(block.text),
}
# Other tests run these programs.
RUN = {("python", "board"), ("python", "test")}
PROGRAMS = [
    block
    for language in READERS
    for block in pages.every(language, *pages.LANGUAGES[language])
    if (language, block.kind) not in RUN
]


def read(block, folder):
    on_board = block.language == "python" and block.kind in ("native", "hardware", "foreign")
    (mpy if on_board else READERS[block.language])(block, folder)


@pytest.mark.parametrize("block", PROGRAMS, ids=lambda block: block.where)
def test_a_program_is_accepted(block, tmp_path):
    read(block, tmp_path)


@pytest.mark.parametrize(
    ("language", "mark", "text"),
    [
        ("python", "native", "match x:\n    case 1: pass\n"),  # MicroPython has no match statement
        ("python", "train.py", "print(\n"),
        ("c", "test", "#include <ethosu_ext.h>\nint f(void) { return missing; }\n"),
        ("cmake", "test", "add_subdirectory(modules/ethosu/runtimes)\n"),
        ("make", "test", "a = $(error no)\nb := $(a)\n"),
        ("toml", "test", "a = \n"),
        ("json", "test", "{'a': 1}\n"),
        ("ini", "test", "a = 1\n"),
    ],
)
def test_a_wrong_program_is_refused(language, mark, text, tmp_path):
    refused = (AssertionError, SyntaxError, ValueError, configparser.Error)
    with pytest.raises((*refused, subprocess.CalledProcessError)):
        read(Block("P.md", 1, language, mark, text), tmp_path)


def test_a_right_program_in_c_is_accepted(tmp_path):
    text = "#include <ethosu_ext.h>\n#include <ethosu_model.h>\nint f(void) { return 0; }\n"
    read(Block("P.md", 1, "c", "test", text), tmp_path)
