# SPDX-License-Identifier: MIT
"""Removing a file rebuilds everything that is made from a list with it.

The builds run in a copy of the tree, with a compiler that writes its command line to its output.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from host_tests.kit import found

_COMPILER = r"""#!/bin/sh
case " $* " in
*" - "*) grep '^"Q('; echo "QCFG(BYTES_IN_LEN, 1)"; echo "QCFG(BYTES_IN_HASH, 1)"; exit 0 ;;
*" -E "*) for word; do
    case $word in *.c) echo "# 1 \"$word\""; grep -hE 'MP_(QSTR|REGISTER)_' "$word" ;; esac
done; exit 0 ;;
esac
case $0 in
*ar) output=$2 ;;
*objcopy) for word; do output=$word; done ;;
*) output=; for word; do [ "$last" != -o ] || output=$word; last=$word; done ;;
esac
[ -z "$output" ] || echo "$*" >"$output"
"""
_PROGRAMS = ("ar", "cc", "clang", "gcc", "em++")
_CROSS = tuple(f"arm-none-eabi-{name}" for name in ("ar", "gcc", "objcopy", "size"))
_COPIED = ("boards", "firmware", "modules", "tools")
# The copy links the parts of the build that MicroPython's makefiles need.
_BUILT = ("micropython", "mpy-cross")


@pytest.fixture(scope="module")
def copy(repo, tmp_path_factory) -> Path:
    """Copy the tree's sources, and link what the firmware is built with."""
    tree = tmp_path_factory.mktemp("gone") / "tree"
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in _COPIED:
        shutil.copytree(repo / name, tree / name, ignore=ignored)
    (tree / "firmware/make/segments.py").write_text("")  # these images have no segments
    (tree / "build").mkdir()
    for name in _BUILT:
        if (repo / "build" / name).exists():
            (tree / "build" / name).symlink_to(repo / "build" / name)
    return tree


@pytest.fixture(scope="module")
def make(copy):
    """Run make in a folder of the copy: `make("tools/npu_sim", "all")`."""
    programs = copy.parent / "bin"
    programs.mkdir()
    for name in _PROGRAMS + _CROSS:
        (programs / name).write_text(_COMPILER)
        (programs / name).chmod(0o755)
    (programs / "python3").symlink_to(sys.executable)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    environment = kept | {"PATH": f"{programs}:{os.environ['PATH']}"}

    def run(folder: str, *arguments: str) -> None:
        command = ["make", "-s", "-j2", "-C", copy / folder, *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    return run


# Folder, arguments of make, a file in a list, and all files that are made from the list.
_LISTS = {
    "simulator": (
        *("tools/npu_sim", "all shared", "tools/npu_sim/core/mutable.c"),
        ("npu_sim/libnpu_sim.a", "npu_sim/libnpu_sim.so"),
    ),
    "fuzzers": (
        *("tools/npu_sim/fuzz", "", "tools/npu_sim/core/mutable.c"),
        ("npu_sim/fuzz/fuzz_stream", "npu_sim/fuzz/fuzz_weights"),
    ),
    "plugin": (
        *("tools/qemu_plugin", "", "tools/qemu_plugin/npu/mutable.c"),
        ("qemu_plugin/libethosu_qemu.so",),
    ),
    "host library": (
        *("tools/sim_host", "all", "modules/ethosu/runtime/run/mutable.c"),
        ("sim_host/libethosu_sim.so",),
    ),
    "driver": (
        *("tools/sim_host", "archives driver", "modules/ethosu/driver/job/mutable.c"),
        ("sim_host/libethosu_driver.a", "sim_host/libethosu_driver.so"),
    ),
    "host board": (
        *("tools/sim_host", "archives", "tools/sim_host/mutable.c"),
        ("sim_host/libsim_host.a",),
    ),
    **{name: row for each in found.modules("gone_rows") for name, row in each.LISTS.items()},
}


@pytest.mark.parametrize("name", _LISTS)
def test_objects(copy, make, name):
    folder, words, gone, made = _LISTS[name]
    (copy / gone).touch()
    make(folder, *words.split())
    for each in made:
        assert "/mutable.o" in (copy / "build" / each).read_text(), each
    (copy / gone).unlink()
    make(folder, *words.split())
    for each in made:
        text = (copy / "build" / each).read_text()
        assert "/mutable.o" not in text and ".list" not in text, each


def test_nothing_is_made_twice(copy, make):
    """The list, whose rule always runs, is written only if it differs, or all is remade."""
    make("tools/npu_sim")
    before = {path: path.stat().st_mtime_ns for path in (copy / "build/npu_sim").iterdir()}
    make("tools/npu_sim")
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_the_words_of_a_list_are_compared_as_they_are(tmp_path, repo):
    """Order counts, and characters that are patterns or separators in make are literal."""
    (tmp_path / "Makefile").write_text(
        f"include {repo}/modules/ethosu/listed.mk\nall: $(call listed,list,$(WORDS),stale)\n"
    )
    stale = tmp_path / "stale"
    for words in ("", "a b", "b a", "a b a b", "", "%", "-Da=1,2 '-Db(c)'", "a%", "a"):
        for removed in (True, False):
            stale.touch()
            command = ["make", "-s", "-C", tmp_path, f"WORDS={words}"]
            subprocess.run(command, check=True, capture_output=True)
            assert (tmp_path / "list").read_text().strip() == words
            assert stale.exists() != removed, words


def test_a_board_of_the_emulator(copy, make):
    """A removed board disappears from the emulator's table, or it would not compile."""
    boards = copy / "tools/qemu_plugin/boards"
    table = copy / "build/qemu_plugin/board/board_table.c"
    text = (boards / "numaker_m55m1.toml").read_text().replace("NUMAKER_M55M1", "ACME_Q7")
    (boards / "acme.toml").write_text(text)
    make("tools/qemu_plugin", str(table))
    assert "ACME_Q7" in table.read_text()
    (boards / "acme.toml").unlink()
    make("tools/qemu_plugin", str(table))
    assert "ACME_Q7" not in table.read_text()


@pytest.mark.slow
def test_a_module_of_the_firmware(copy, make):
    """A removed module's names, table row, root pointer and object disappear."""
    module = copy / "modules/ethosu/binding/mutable.c"
    module.write_text(
        "MP_REGISTER_MODULE(MP_QSTR_mutable, mutable_module);\n"
        "MP_REGISTER_ROOT_POINTER(void *mutable_root);\n"
    )
    frozen = copy / "firmware/modules/mutable.py"
    frozen.write_text("")
    build = copy / "build/firmware/MPS3_AN547"
    made = {
        "firmware.elf": "/mutable.o",
        "common/genhdr/moduledefs.h": "mutable_module",
        "common/genhdr/root_pointers.h": "mutable_root",
        "common/genhdr/qstrdefs.generated.h": "MP_QSTR_mutable,",
        "common/frozen_content.c": "mutable.py",
    }
    for there in (True, False):
        if not there:
            module.unlink()
            frozen.unlink()
        make("firmware", "BOARD=MPS3_AN547")
        for name, word in made.items():
            assert (word in (build / name).read_text()) == there, name
