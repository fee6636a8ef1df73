# SPDX-License-Identifier: MIT
"""The firmware builds with different MicroPython versions and boards, without repeated work."""

import os
import re
import subprocess
import time

import pytest

from host_tests.kit import releases, sharing

from .conftest import make, start


@pytest.mark.slow
@pytest.mark.parametrize("release", releases.OTHERS)
def test_each_other_release_builds_and_works(release):
    with start(releases.image(release, "MPS3_AN547")) as uart, uart.board() as board:
        board.exec("import asyncio, ethosu, gc, os, time, vfs")
        assert board.eval("os.uname().release").partition("-preview")[0] == release
        assert board.eval("time.localtime() == time.localtime(time.time())")
        board.write_file("file", b"content")
        board.soft_reset()
        assert board.eval("open('file').read()") == "content"


def test_nothing_is_built_twice():
    sharing.make("firmware")
    again = make()
    assert again.returncode == 0
    assert not re.search(r"^(CC|LINK) ", again.stdout, re.M), again.stdout


def test_two_builds_make_mpy_cross_once(repo, tmp_path):
    """Two boards built at the same time share mpy-cross, which is built once."""
    target = tmp_path / "built/mpy-cross"
    (tmp_path / "mpy-cross").mkdir()
    (tmp_path / "mpy-cross/Makefile").write_text(
        "$(BUILD)/$(PROG):\n\tmkdir $(BUILD)/busy && sleep 0.5 && touch $@ && rmdir $(BUILD)/busy\n"
    )
    command = ["make", "-f", repo / "firmware/make/mpy_cross.mk", target]
    command += [f"MPY_CROSS={target}", f"MICROPYTHON_TREE={tmp_path}"]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    errors = [each.communicate()[1] for each in both]
    assert [each.returncode for each in both] == [0, 0], errors


# make prints the commands that it runs, so nothing if all is up to date.
_MADE_WITH_THE_COMPILER = """\
ROOT := {root}
include {repo}/firmware/make/releases.mk
$(notdir $(MICROPYTHON_TREE)).made: $(MPY_CROSS)
\tcp $< $@
include {repo}/firmware/make/mpy_cross.mk
"""


def test_only_a_pinned_source_keeps_its_compiler(repo, tmp_path):
    """An unpinned source may change, so its mpy-cross must be built again."""
    root = tmp_path / "root"
    pinned = root / "build/micropython/1.28.0"
    changing = [root / "build/upstream/main", tmp_path / "mine"]
    (tmp_path / "Makefile").write_text(_MADE_WITH_THE_COMPILER.format(root=root, repo=repo))

    def compiler_of(tree):
        """Return what the compiler made, and make's output."""
        command = ["make", "-C", tmp_path, f"FIRMWARE_LOCKED={tree}", f"{tree.name}.made"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return (tmp_path / f"{tree.name}.made").read_text(), done.stdout

    for tree in (pinned, *changing):
        for folder in ("py", "lib/cmsis/inc", "mpy-cross"):
            (tree / folder).mkdir(parents=True)
        numbers = zip(("MAJOR", "MINOR", "MICRO"), (1, 28, 0), strict=True)
        lines = [f"#define MICROPY_VERSION_{name} {number}\n" for name, number in numbers]
        (tree / "py/mpconfig.h").write_text("".join(lines))
        (tree / "mpy-cross/Makefile").write_text("$(BUILD)/$(PROG): source\n\tcp -p source $@\n")
        (tree / "mpy-cross/source").write_text(f"old {tree.name}")
        assert compiler_of(tree)[0] == f"old {tree.name}"
        assert "cp " not in compiler_of(tree)[1]
    for tree in (pinned, *changing):
        (tree / "mpy-cross/source").write_text(f"new {tree.name}")
        after = time.time() + 10  # newer, however coarse the clock of the disk is
        os.utime(tree / "mpy-cross/source", (after, after))
        assert compiler_of(tree)[0] == f"{'old' if tree == pinned else 'new'} {tree.name}"


def asked(*options):
    """Return make's rules for the firmware; with -n and -q, nothing is built."""
    command = ["make", "-npq", "-C", sharing.REPO / "firmware", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def test_a_new_compiler_compiles_the_frozen_code_again():
    """A new mpy-cross compiles frozen code again; MicroPython's script would not notice."""
    tree = sharing.micropython()
    rules = asked(f"FIRMWARE_LOCKED={tree}")
    stamp = re.search(r"^\S*/frozen\.stamp: (.*)\n(?:#.*\n)*((?:\t.*\n)+)", rules, re.MULTILINE)
    assert f"/mpy-cross/{tree.name}/mpy-cross " in stamp[1]
    assert "/frozen_mpy" in stamp[2].replace("$(BUILD)", "")


def test_a_question_to_make_changes_nothing(build_dir):
    """Tests ask it beside others that compile; once, the shared folder was another for a while."""
    folder = build_dir / "firmware/MPS3_AN547"

    def lists():
        shared = (folder / "common").readlink()
        return shared, {path: path.read_text() for path in folder.glob("*.list")}

    before = lists()
    assert "/common/" in asked(f"FIRMWARE_LOCKED={sharing.micropython()}", "COPT=-O3")
    assert lists() == before


def test_a_type_too_small_for_the_interrupts_does_not_compile(repo, tmp_path):
    """Arm's ABI stores an enum of small values in 8 bits; that is too small, and an error."""
    paths = (repo / "firmware" / name for name in ("time/irq.c", "include/cpu.h"))
    sources = {path.name: path.read_text() for path in paths}
    line = re.search(r"^.*DeviceLast_IRQn.*\n", sources["cpu.h"], re.MULTILINE)[0]
    sources["mpconfigboard.h"] = (repo / "firmware/common/mpconfigboard.h").read_text()
    cmsis = sharing.micropython("--cmsis")
    command = ["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-mfloat-abi=hard", "-mthumb"]
    command += ["-fsyntax-only", f"-I{repo / 'firmware/include'}", "-isystem", cmsis, "irq.c"]
    for cpu, words in ((sources["cpu.h"], ""), (sources["cpu.h"].replace(line, ""), "fewer bits")):
        for name, text in (sources | {"cpu.h": cpu}).items():
            (tmp_path / name).write_text(text)
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode != 0) is bool(words) and words in done.stderr, done.stderr


def test_size_is_reported(build_dir):
    folder = build_dir / "firmware/MPS3_AN547"
    assert (folder / "firmware.size").read_text().startswith("   text")
    assert "_gc_heap_start" in (folder / "firmware.map").read_text()


def _names(kind: str, *files: object) -> set[str]:
    command = ["arm-none-eabi-nm", "--format=just-symbols", kind, *files]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    return {line for line in done.stdout.splitlines() if line.startswith("__")}


def test_no_private_name_of_the_c_library_is_used(build_dir):
    """Private names of the C library change between releases, so the image must not use them."""
    folder = build_dir / "firmware/MPS3_AN547"
    objects = [*folder.rglob("*.o"), *(folder / "common").resolve().rglob("*.o")]
    compiler = ["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-mfloat-abi=hard"]
    libgcc = sharing.run([*compiler, "-print-libgcc-file-name"]).strip()
    known = _names("--defined-only", *objects, libgcc)
    used = _names("--undefined-only", *objects)
    assert "__aeabi_uldivmod" in used  # documented in libgcc
    wrapped = {name for name in used if name.startswith(("__real_", "__wrap_"))}
    assert used - known - wrapped == set()


@pytest.mark.parametrize(
    ("word", "said"),
    [
        # Only names are found, no other text.
        (
            "BOARD=NOPE",
            r"Unknown board NOPE; expected one of: MPS3_AN547 [^:]* OPENMV_AE3-M55_HP [^:]*\Z",
        ),
        (
            "BOARD=OPENMV_AE3",
            "OPENMV_AE3 has variants: choose OPENMV_AE3-M55_HP or OPENMV_AE3-M55_HE",
        ),
        ("MICROPYTHON=1.9.9", r"1\.9\.9 is not pinned"),
        ("CROSS_COMPILE=no-such-", "gcc-arm-none-eabi"),
        ("ULAB_DIR=/usr", "/usr has no code/micropython.mk"),
    ],
)
def test_what_cannot_be_built_is_refused_with_what_to_do(word, said):
    done = make(word)
    assert done.returncode != 0 and re.search(said, done.stderr), done.stderr
