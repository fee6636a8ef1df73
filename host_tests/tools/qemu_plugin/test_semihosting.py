# SPDX-License-Identifier: MIT
"""newlib's semihosting start-up works, with every release of QEMU; and memories of other sizes.

QEMU's own answer to SYS_HEAPINFO leaves newlib without a heap: malloc() and fopen() return NULL.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from ethosu_tools import deadline

from host_tests.kit import newlib_program
from host_tests.kit.matrix import newer_is_slow
from host_tests.tools.qemu_plugin.guest import TIMEOUT_S

DTCM, DTCM_END = 0x30000000, 0x30080000


@pytest.fixture(scope="module")
def run(qemu: Path, plugin: Path):
    """Run the program: (arguments of the plugin, words) to the completed process."""

    def run(arguments: str, *words: str, image: Path | None = None):
        text = " ".join(("program", *words)).replace(",", ",,")
        line = f"enable=on,target=native,arg={text}"
        command = [qemu, "-machine", "mps3-an547", "-display", "none", "-serial", "none"]
        command += ["-plugin", f"{plugin}{arguments}", "-semihosting-config", line]
        command += ["-device", f"loader,file={image or newlib_program.build()}"]
        return deadline.run([str(word) for word in command], TIMEOUT_S)

    return run


def test_malloc_files_words_and_exit_code(run, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("Semihosting\n" * 500)
    done = run("", "copy:in.txt,out.txt", "malloc:300000", "malloc:600000", "exit:7")
    head, *rest = done.stdout.splitlines()
    assert head == "program: [copy:in.txt,out.txt] [malloc:300000] [malloc:600000] [exit:7]"
    total = sum(i & 255 for i in range(300_000))
    assert rest == ["copy: ok", f"malloc: ok, sum {total}", "malloc: NULL, sum 0"]
    assert Path("out.txt").read_text() == "SEMIHOSTING\n" * 500 + "6000"
    assert done.returncode == 7


def test_by_default_the_image_decides(run) -> None:
    done = run("", "place", "heapinfo")
    stack, heap = _places(done)
    assert DTCM < heap < stack <= DTCM_END and DTCM_END - stack < 0x200
    assert done.stdout.endswith("heapinfo 0 0 0 0\n")


def test_the_answer_is_as_given(run) -> None:
    """The stack is in the internal SRAM; the heap, which newlib has after the data, is limited."""
    mallocs = ["malloc:65536"] * 4
    done = run(",heapinfo=1234:30040000:31100000:310c0000", "place", "heapinfo", *mallocs)
    stack, heap = _places(done)
    assert DTCM < heap < DTCM + 0x2000 and 0x310FFE00 < stack <= 0x31100000
    _, _, answer, *results = done.stdout.splitlines()
    assert answer == "heapinfo 1234 30040000 31100000 310c0000"
    assert [line.split()[1] for line in results] == ["ok,"] * 3 + ["NULL,"]


def test_stderr_is_on_stdout_if_asked(run, tmp_path: Path, monkeypatch) -> None:
    """Only the console's: a file that is opened to append is appended to."""
    monkeypatch.chdir(tmp_path)
    Path("log.txt").write_text("a")
    words = "error:first", "append:log.txt,b", "write:second", "error:third"
    for arguments, stdout, stderr in (
        ("", "append: ok\nsecond\n", "first\nthird\n"),
        (",stderr=own", "append: ok\nsecond\n", "first\nthird\n"),
        (",stderr=stdout", "first\nappend: ok\nsecond\nthird\n", ""),
    ):
        done = run(arguments, *words)
        own = [line for line in done.stderr.splitlines(True) if line in ("first\n", "third\n")]
        assert (done.returncode, "".join(own)) == (0, stderr)
        assert done.stdout.partition("\n")[2] == stdout
    assert Path("log.txt").read_text() == "abbb"


def _places(done: subprocess.CompletedProcess[str]) -> list[int]:
    assert done.returncode == 0, done.stderr
    match = re.search(r"stack (\w+) heap (\w+)", done.stdout)
    assert match, done.stdout
    return [int(word, 16) for word in match.groups()]


@newer_is_slow
@pytest.mark.parametrize(
    ("sizes", "inside", "outside"),
    [
        ("", "213ffffc", "21400000"),
        (",size=ISRAM:2048", "211ffffc", "21200000"),
        (",size=ISRAM:2048", "311ffffc", "31200000"),
        (",size=ISRAM:2048", "311ffffc", "213ffffc"),
        (",size=ISRAM:8192", "317ffffc", "21800000"),
        ("", "1007fffc", "00080000"),
        (",size=ITCM:16384", "10fffffc", "12000000"),
        (",size=SSRAM:8192", "017ffffc", "01800000"),
        (",size=DTCM:8192", "207ffffc", "30800000"),
    ],
)
def test_sizes_of_memories(run, sizes, inside, outside) -> None:
    done = run(sizes, f"touch:{inside}", f"touch:{outside}")
    assert done.stdout.endswith(f"touch {inside}: ok\n")
    assert done.returncode == newlib_program.FAULT, done.stdout


def test_start_in_another_memory(run) -> None:
    image = newlib_program.build(code_start=0x11000000)
    assert run(",vectors=0x11000000", "exit:3", image=image).returncode == 3
