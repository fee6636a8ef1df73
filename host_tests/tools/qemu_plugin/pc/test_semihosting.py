# SPDX-License-Identifier: MIT
"""newlib's semihosting start-up works with every QEMU, also with memories of other sizes.

QEMU's own answer to SYS_HEAPINFO leaves newlib without a heap: malloc() and fopen() return NULL.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from ethosu_tools.base import deadline

from host_tests.kit.matrix import others_are_slow
from host_tests.kit.newlib import newlib_program
from host_tests.tools.qemu_plugin.guest import TIMEOUT_S

DTCM, DTCM_END = 0x30000000, 0x30080000


@pytest.fixture(scope="module")
def run(qemu: Path, plugin: Path):
    """Return a function that runs the program with arguments of the plugin, and words."""

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
    """SYS_HEAPINFO has the given answer: stack in the SRAM, and a limit of newlib's heap."""
    mallocs = ["malloc:65536"] * 4
    done = run(",heapinfo=1234:30040000:31100000:310c0000", "place", "heapinfo", *mallocs)
    stack, heap = _places(done)
    assert DTCM < heap < DTCM + 0x2000 and 0x310FFE00 < stack <= 0x31100000
    _, _, answer, *results = done.stdout.splitlines()
    assert answer == "heapinfo 1234 30040000 31100000 310c0000"
    assert [line.split()[1] for line in results] == ["ok,"] * 3 + ["NULL,"]


def test_stderr_is_on_stdout_if_asked(run, tmp_path: Path, monkeypatch) -> None:
    """The console's stderr is on stdout if asked; files opened to append are unaffected."""
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


NOT_FOUND, BAD_ADDRESS, DENIED, INVALID, TOO_MANY, NO_SPACE, TOO_LONG = 2, 14, 13, 22, 24, 28, 36
OPEN, WRITE, TMPNAM, REMOVE, RENAME, SYSTEM = 1, 5, 0xD, 0xE, 0xF, 0x12


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    """Make the working folder, with files, pipes and links; `secret` is beside it."""
    folder = tmp_path / "inside"
    (folder / "sub").mkdir(parents=True)
    monkeypatch.chdir(folder)
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "alias").symlink_to("inside")
    (folder / "in.txt").write_text("inside")
    (folder / "link").symlink_to("../secret")
    (folder / "up").symlink_to("..")
    (folder / "sub/in").symlink_to("../in.txt")
    os.mkfifo(folder / "pipe")
    return folder


@pytest.fixture
def attempts(run, folder: Path):
    """Have the program make calls (name: operation and words); returns results and errno."""

    def attempts(calls: dict[str, tuple[object, ...]], arguments: str = ""):
        lines = [f"call:{','.join(map(str, (name, *words)))}\n" for name, words in calls.items()]
        (folder / "script").write_text("".join(lines))
        done = run(arguments, "script:script")
        assert done.returncode == 0, done
        rows = re.findall(r"^([^:\n]+): (-?\d+) (-?\d+)(?: (.*))?$", done.stdout, re.MULTILINE)
        results = {name: (int(value), int(error), text) for name, value, error, text in rows}
        assert results.keys() == calls.keys()
        return results, done.stderr

    return attempts


def name_and_length(name: str) -> tuple[str, int]:
    return f"@{name}", len(name)


def opening(name: str, mode: int) -> tuple[object, ...]:
    return OPEN, f"@{name}", mode, len(name)


OF_THIS_MACHINE = "/etc/hostname", "/proc/self/environ", "/dev/zero", "/"
OUTSIDE = (
    *OF_THIS_MACHINE, "../secret", "sub/../../secret", "sub/..",
    "{folder}/../secret", "{folder}x/secret", "link", "up/secret", "sub/in", "pipe", "sub",
    "../inside/in.txt", "in.txt/../../secret",
)  # fmt: skip


def test_nothing_outside_the_folder_is_opened_removed_or_renamed(attempts, folder) -> None:
    """Nothing outside is accessed; even links inside, which may be swapped, are not followed."""
    calls: dict[str, tuple[object, ...]] = {}
    for number, template in enumerate(OUTSIDE):
        name = template.format(folder=folder)
        for mode in (0,) if name in OF_THIS_MACHINE else (0, 2, 4, 6, 8, 10):
            calls[f"open {number} {mode}"] = opening(name, mode)
        if name in OF_THIS_MACHINE:
            continue  # a faulty plugin would remove this
        calls[f"remove {number}"] = REMOVE, *name_and_length(name)
        calls[f"from {number}"] = RENAME, *name_and_length(name), *name_and_length("got")
        calls[f"to {number}"] = RENAME, *name_and_length("in.txt"), *name_and_length(name)
    before = {path: path.lstat().st_ino for path in folder.parent.rglob("*")}
    results, stderr = attempts(calls)
    wrong = {name for name, (value, error, _) in results.items() if (value, error) != (-1, DENIED)}
    assert not wrong
    after = {path: path.lstat().st_ino for path in folder.parent.rglob("*")}
    assert set(after) - set(before) == {folder / "script"} and before.items() <= after.items()
    assert (folder.parent / "secret").read_text() == "secret"
    assert "ethosu: semihosting: the file link is refused: it leads through a symbolic" in stderr


def test_no_command_runs(attempts, folder) -> None:
    command = "touch ran"
    results, stderr = attempts({"system": (SYSTEM, *name_and_length(command))})
    assert results["system"][:2] == (-1, 1) and not (folder / "ran").exists()
    assert "semihosting: SYS_SYSTEM is refused" in stderr


def test_files_in_the_folder(attempts, folder) -> None:
    """Files in the folder open by relative and absolute names, in each mode."""
    calls: dict[str, tuple[object, ...]] = {
        "absolute": opening(f"{folder}/in.txt", 0),
        "other name of the folder": opening(f"{folder.parent}/alias/in.txt", 1),
        "dots": opening("./sub//./new", 4),
        "absent": opening("absent", 0),
        "in no folder": opening("absent/file", 4),
        "rename": (RENAME, *name_and_length("sub/new"), *name_and_length(f"{folder}/moved")),
        "rename absent": (RENAME, *name_and_length("absent"), *name_and_length("b")),
        "name": (TMPNAM, "&", 7, 60),
        "same name": (TMPNAM, "&", 7, 60),
        "other": (TMPNAM, "&", 8, 60),
        "no room": (TMPNAM, "&", 8, 10),
        "features": opening(":semihosting-features", 0),
        "features w": opening(":semihosting-features", 4),
    }
    results, _ = attempts(calls)
    opened = "absolute", "other name of the folder", "dots", "features"
    assert all(results.pop(name)[0] > 0 for name in opened)
    name, same, other = (results.pop(name) for name in ("name", "same name", "other"))
    assert name[0] == 0 and name == same != other and "/" not in name[2]
    assert results.pop("rename")[0] == 0 and (folder / "moved").exists()
    errors = {name: error for name, (value, error, _) in results.items() if value == -1}
    assert errors == {
        "absent": NOT_FOUND, "in no folder": NOT_FOUND, "rename absent": NOT_FOUND,
        "no room": BAD_ADDRESS, "features w": DENIED,
    }  # fmt: skip
    assert attempts({"remove": (REMOVE, *name_and_length("moved"))})[0]["remove"][0] == 0
    assert not (folder / "moved").exists()


def test_bad_calls_change_nothing(attempts, folder) -> None:
    """Bad calls change nothing: names without an end, unmapped names and blocks."""
    long = "x/" * 2500
    calls: dict[str, tuple[object, ...]] = {
        "mode": opening("in.txt", 12),
        "long": (OPEN, f"@{long}", 0, len(long)),
        "longer": (OPEN, "@in.txt", 0, 0x7FFFFFFF),
        "longest": (OPEN, "@in.txt", 0, 0xFFFFFFFF),
        "long part": opening("y" * 300, 4),
        "short length": (OPEN, "@in.txt", 0, 3),
        "long length": (OPEN, "@in.txt", 0, 9),
        "empty": (OPEN, "@", 0, 0),
        "name nowhere": (OPEN, 0xF0000000, 0, 5),
        "name at the end": (OPEN, 0xFFFFFFFE, 0, 5),
        "block nowhere": (OPEN, "at0xF0000000"),
        "block at the end": (RENAME, "at0xFFFFFFFE"),
        "remove nowhere": (REMOVE, 0xF0000000, 5),
        "buffer nowhere": (TMPNAM, 0xF0000000, 1, 60),
        "heap nowhere": (0x16, 0xF0000000),
    }
    results, _ = attempts(calls)
    assert {name for name, (value, *_) in results.items() if value != -1} == set()
    errors = {name: error for name, (_, error, _) in results.items()}
    assert errors.pop("empty") == DENIED
    assert all(errors.pop(name) == INVALID for name in ("mode", "short length", "long length"))
    assert all(errors.pop(name) == TOO_LONG for name in ("long", "longer", "longest", "long part"))
    assert set(errors.values()) == {BAD_ADDRESS}
    assert (folder / "in.txt").read_text() == "inside"


def test_handles_and_written_bytes_have_limits(attempts, folder) -> None:
    """Handles are limited to 256, the C library's included, and written bytes to 1 GiB."""
    calls: dict[str, tuple[object, ...]] = {"file": opening("out", 4)}
    calls |= {"all": (WRITE, "$", 0x60000000, 1 << 31)}
    results, stderr = attempts(calls)
    assert results["all"][:2] == (-(1 << 31), NO_SPACE)
    assert "SYS_WRITE of 2147483648 bytes is refused" in stderr
    calls = {f"open {n}": opening(":tt", 4) for n in range(300)}
    results, _ = attempts(calls)
    errors = [error for value, error, _ in results.values() if value == -1]
    assert 40 < len(errors) < 60 and set(errors) == {TOO_MANY}


@pytest.mark.parametrize(
    ("name", "replacement", "flag"),
    [("swapped", "link", "r"), ("swapped", "link", "w"), ("swapped/secret", "up", "r"),
     ("swapped/secret", "up", "w"), ("swapped", "pipe", "r"), ("swapped", "pipe", "w")],
)  # fmt: skip
def test_what_is_swapped_in_is_not_opened(
    run, folder, tmp_path, monkeypatch, name, replacement, flag
) -> None:
    """A link that another program swaps in between check and use is not opened."""
    (folder / replacement).rename("replacement")
    (folder / "swapped").mkdir() if "/" in name else (folder / "swapped").write_text("a")
    library = tmp_path / "swap.so"
    source = Path(__file__).with_name("swap.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    files = (name, "out.txt") if flag == "r" else ("in.txt", name)
    done = run("", f"copy:{','.join(files)}")
    assert (folder / "original").exists(), "it was swapped"
    assert done.stdout.splitlines()[1:] == [f"copy: cannot open {name}"], done
    assert (tmp_path / "secret").read_text() == "secret"


def test_another_folder(run, folder, monkeypatch) -> None:
    monkeypatch.chdir(folder.parent)
    done = run(f",files={folder}", "copy:in.txt,out.txt", "copy:inside/in.txt,x", "copy:secret,y")
    assert done.stdout.splitlines()[1:] == [
        "copy: ok", "copy: cannot open inside/in.txt", "copy: cannot open secret"
    ]  # fmt: skip
    assert (folder / "out.txt").read_text() == "INSIDE6"
    secret = run(",files=/", f"copy:{folder.parent}/secret,{folder}/all", "copy:link,x")
    assert "copy: ok\ncopy: cannot open link\n" in secret.stdout
    assert "files=nowhere: No such file" in run(",files=nowhere", "exit:1").stderr


def _places(done: subprocess.CompletedProcess[str]) -> list[int]:
    assert done.returncode == 0, done.stderr
    match = re.search(r"stack (\w+) heap (\w+)", done.stdout)
    assert match, done.stdout
    return [int(word, 16) for word in match.groups()]


@others_are_slow
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
