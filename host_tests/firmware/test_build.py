# SPDX-License-Identifier: MIT
"""The firmware build: different MicroPython versions and boards, without repeated work."""

import re
import subprocess

import pytest

from host_tests.kit import sharing

from .conftest import build, make, start

NEWEST = "1.26.1"


@pytest.mark.slow
def test_newest_micropython_builds_and_works():
    image = build(f"MPS3_AN547-{NEWEST}", f"MICROPYTHON_VERSION={NEWEST}")
    with start(image) as uart, uart.board() as board:
        board.exec("import asyncio, ethosu, gc, os, time, vfs")
        assert board.eval("os.uname().release") == NEWEST
        board.write_file("file", b"content")
        board.soft_reset()
        assert board.eval("open('file').read()") == "content"


def test_nothing_is_built_twice():
    sharing.make("firmware")
    again = make()
    assert again.returncode == 0
    assert not re.search(r"^(CC|LINK) ", again.stdout, re.M), again.stdout


def test_two_builds_make_mpy_cross_once(repo, tmp_path):
    """Boards with different objects are built at the same time, and share the compiler."""
    target = tmp_path / "built/mpy-cross"
    (tmp_path / "mpy-cross").mkdir()
    (tmp_path / "mpy-cross/Makefile").write_text(
        "$(BUILD)/$(PROG):\n\tmkdir $(BUILD)/busy && sleep 0.5 && touch $@ && rmdir $(BUILD)/busy\n"
    )
    command = ["make", "-f", repo / "firmware/mpy_cross.mk", target]
    command += [f"MPY_CROSS={target}", f"MICROPYTHON={tmp_path}"]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    errors = [each.communicate()[1] for each in both]
    assert [each.returncode for each in both] == [0, 0], errors


def test_a_type_too_small_for_the_interrupts_does_not_compile(repo, tmp_path):
    """Arm's ABI gives an enum the smallest type for its values: 8 bits if none exceeds 127."""
    sources = {name: (repo / "firmware" / name).read_text() for name in ("irq.c", "cpu.h")}
    line = re.search(r"^.*DeviceLast_IRQn.*\n", sources["cpu.h"], re.MULTILINE)[0]
    sources["mpconfigboard.h"] = (repo / "firmware/common/mpconfigboard.h").read_text()
    cmsis = next((repo / "build/micropython").glob("1.*")) / "lib/cmsis/inc"
    command = ["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-mfloat-abi=hard", "-mthumb"]
    command += ["-fsyntax-only", f"-I{repo / 'firmware'}", "-isystem", cmsis, "irq.c"]
    for cpu, words in ((sources["cpu.h"], ""), (sources["cpu.h"].replace(line, ""), "fewer bits")):
        for name, text in (sources | {"cpu.h": cpu}).items():
            (tmp_path / name).write_text(text)
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode != 0) is bool(words) and words in done.stderr, done.stderr


def test_size_is_reported(build_dir):
    folder = build_dir / "firmware/MPS3_AN547"
    assert (folder / "firmware.size").read_text().startswith("   text")
    assert "_gc_heap_start" in (folder / "firmware.map").read_text()


def test_unknown_board_names_the_known():
    done = make("BOARD=NOPE")
    assert done.returncode != 0
    assert "Unknown board NOPE; expected one of: MPS3_AN547 " in done.stderr
    assert " OPENMV_AE3-M55_HP " in done.stderr and ":" not in done.stderr.partition("of: ")[2]


def test_a_board_with_variants_names_them():
    done = make("BOARD=OPENMV_AE3")
    assert done.returncode != 0
    assert "OPENMV_AE3 has variants: choose OPENMV_AE3-M55_HP or OPENMV_AE3-M55_HE" in done.stderr


def test_unknown_version_stops_the_build():
    done = make("MICROPYTHON_VERSION=1.9.9")
    assert done.returncode != 0 and "1.9.9 is not pinned" in done.stderr


def test_missing_compiler_names_the_package():
    done = make("CROSS_COMPILE=no-such-")
    assert done.returncode != 0 and "gcc-arm-none-eabi" in done.stderr


def test_a_folder_without_ulab_is_refused(tmp_path):
    done = make(f"ULAB_DIR={tmp_path}")
    assert done.returncode != 0 and f"{tmp_path} has no code/micropython.mk" in done.stderr
