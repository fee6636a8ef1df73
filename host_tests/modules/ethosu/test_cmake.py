# SPDX-License-Identifier: MIT
"""micropython.cmake builds the module in a port that uses CMake, as MicroPython includes it."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from host_tests.kit import sharing

# A port like rp2 and esp32, with MicroPython's file for user modules, and a target that links them.
PROJECT = """
cmake_minimum_required(VERSION 3.13)
project(port C)
include(${MICROPY_DIR}/py/usermod.cmake)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/main.c "int main(void) { return 0; }")
add_executable(port ${CMAKE_CURRENT_BINARY_DIR}/main.c)
target_link_libraries(port usermod)
add_library(objects OBJECT ${MICROPY_SOURCE_USERMOD})
target_link_libraries(objects usermod)
get_target_property(folders usermod_ethosu INTERFACE_INCLUDE_DIRECTORIES)
message("folders: ${folders}")
"""
OPTIONS = "ETHOSU_NPUS=u55 u85", "ETHOSU_KERNELS=CONV_2D PAD", "ETHOSU_WITHOUT=pte audio"


def configure(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "CMakeLists.txt").write_text(PROJECT)
    compiler = ["-DCMAKE_C_COMPILER=arm-none-eabi-gcc", "-DCMAKE_SYSTEM_NAME=Generic"]
    command = ["cmake", "-S", folder, "-B", folder / "built", *compiler]
    command += ["-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY"]
    command += ["-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", f"-DMICROPY_DIR={sharing.micropython()}"]
    command += [f"-DUSER_C_MODULES={sharing.REPO}/modules/ethosu/micropython.cmake"]
    command += [f"-D{option}" for option in options]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


def commands(folder: Path) -> dict[str, list[str]]:
    """Return the words of each source's command."""
    rows = json.loads((folder / "built/compile_commands.json").read_text())
    return {row["file"]: shlex.split(row["command"]) for row in rows if "/modules/" in row["file"]}


@pytest.mark.parametrize("options", [(), OPTIONS], ids=["all", "with options"])
def test_it_compiles_the_same_in_the_same_way_as_with_make(tmp_path, options):
    done = configure(tmp_path, *options)
    assert done.returncode == 0, done.stderr
    assert "Found User C Module(s): usermod_ethosu" in done.stdout + done.stderr
    lines = "all: ; @:\n$(info $(SRC_USERMOD_C))\n$(info $(ETHOSU_FAST_SRC))\n"
    lines += "$(info $(CFLAGS_USERMOD))\n$(info $(LDFLAGS_USERMOD))\n"
    asked = sharing.ask_module(lines, "ETHOSU_DEINIT=no", *options).splitlines()
    sources, fast, flags, link = (shlex.split(line) for line in asked)
    found = commands(tmp_path)
    assert sorted(found) == sorted(sources)
    quick = {source for source, words in found.items() if "-O2" in words}
    assert quick == {f"{sharing.REPO}/modules/ethosu/{name}" for name in fast}
    wanted = {flag for flag in flags if flag.startswith(("-D", "-f"))}
    for source, words in found.items():
        assert wanted <= set(words) and ("-Os" in words) != ("-O2" in words), source
        assert "ethosu_deinit.h" in words[words.index("-include") + 1]
    linking = (tmp_path / "built/CMakeFiles/port.dir/link.txt").read_text().split()
    assert set(link) <= set(linking)


def test_folders_of_headers_are_no_options(repo, tmp_path):
    """MicroPython's pass that collects names has only the folders, and includes each header."""
    done = configure(tmp_path)
    (folders,) = re.findall(r"^folders: (.*)$", done.stderr, re.MULTILINE)
    found = [Path(folder) for folder in folders.split(";")]
    ours = re.compile(r'^#include "((?!py/|extmod/|shared/|lib/)[\w/]+\.h)"', re.MULTILINE)
    sources = [Path(source) for source in commands(tmp_path)]
    headers = {(path, name) for path in sources for name in ours.findall(path.read_text())}
    assert len(headers) > 100
    missing = {
        str(name)
        for path, name in headers
        if not any((folder / name).is_file() for folder in (path.parent, *found))
    }
    assert missing == set()
    assert not any(f"-I{repo}/modules" in word for word in done.stdout.split())


def test_a_wrong_option_is_named(tmp_path):
    done = configure(tmp_path, "ETHOSU_NPUS=u99")
    assert done.returncode != 0 and "unknown family u99" in done.stderr


@pytest.mark.slow
def test_all_objects_are_built(repo, tmp_path):
    """All objects compile with the firmware's configuration, whose list of names they need."""
    sharing.make("firmware")
    built = repo / "build/firmware/MPS3_AN547"
    firmware = (repo / "firmware", repo / "firmware/include", repo / "firmware/port")
    paths = [built / "common", built / "board", *firmware, repo, sharing.micropython()]
    flags = ["-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard", "-Wall", "-Werror", "-std=gnu11"]
    flags += [*(f"-I{path}" for path in paths), "-isystem", sharing.micropython("--cmsis")]
    done = configure(tmp_path, f"CMAKE_C_FLAGS={' '.join(map(str, flags))}")
    assert done.returncode == 0, done.stderr
    sharing.run(["cmake", "--build", tmp_path / "built", "--target", "objects", "-j2"])
    objects = list((tmp_path / "built").rglob("*.c.obj"))
    assert len(objects) >= len(commands(tmp_path)) > 100
    names = sharing.run(["arm-none-eabi-nm", "--defined-only", *objects])
    assert " T ethosu_deinit_all" in names and " R ethosu_module" in names
